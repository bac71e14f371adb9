import numpy as np

from onnxwright import atenlib

floor = atenlib.find("aten::floor")
floor.run(np.array([1.5 + 2.5j], np.complex64))
