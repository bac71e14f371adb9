from onnx import TensorProto, helper

from onnxwright import convert_version

node = helper.make_node("Relu", ["x"], ["y"])
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
model = helper.make_model(helper.make_graph([node], "g", [x], [y]))
convert_version(model, 13)
