from onnxwright import Tensor

x = Tensor(object())
