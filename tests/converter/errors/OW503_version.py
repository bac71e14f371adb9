from onnxwright import Opset

future = Opset("", 999)
