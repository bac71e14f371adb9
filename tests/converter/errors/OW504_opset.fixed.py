from onnxwright import Opset

mine = Opset("my.domain", 1)
