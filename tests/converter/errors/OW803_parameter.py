import numpy as np

from onnxwright import atenlib

clamp = atenlib.find("aten::clamp")
clamp.run(np.array([-1.0, 2.0]), minimum=0)
