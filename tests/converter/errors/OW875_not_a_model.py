from onnx import helper

from onnxwright import convert_version

node = helper.make_node("Relu", ["x"], ["y"])
convert_version(node, 13)
