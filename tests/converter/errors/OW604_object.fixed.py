from onnxwright import Tensor

x = Tensor([1.0, 2.0])
