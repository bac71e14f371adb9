from onnxwright import atenlib

clamp = atenlib.find("aten::clamp")
