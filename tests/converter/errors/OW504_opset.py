from onnxwright import Opset

mine = Opset(1, "my.domain")
