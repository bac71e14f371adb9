import numpy as np

import onnxwright.eager
from onnxwright import Opset

mine = Opset("my.domain", 1)
onnxwright.eager.implement("my.domain", "Pair", replace=True)(lambda x: x)
one, two = mine.Pair(np.ones(3, np.float32), _outputs=2)
