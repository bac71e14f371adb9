# raises: `torch.onnx` has removed `OnnxRegistry`
import onnxscript, torch
from onnxscript import opset18
registry = torch.onnx.OnnxRegistry()
def custom_relu(x: onnxscript.FLOAT) -> onnxscript.FLOAT:
    return opset18.Max(x, opset18.CastLike(0.0, x))
registry.register_op(namespace="aten", op_name="relu", overload="default", function=custom_relu)
program = torch.onnx.dynamo_export(
    nn.ReLU(), torch.randn(3), export_options=torch.onnx.ExportOptions(onnx_registry=registry))
assert "Max" in [n.op_type for n in program.model_proto.graph.node], program
