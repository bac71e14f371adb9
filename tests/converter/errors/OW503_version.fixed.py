from onnxwright import Opset

current = Opset("", 18)
