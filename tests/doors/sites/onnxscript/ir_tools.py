import numpy as np
import onnx
import onnxruntime as ort

from onnxscript import FLOAT, ir, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    return op.Relu(x) * 2.0


model = ir.from_proto(f.to_model_proto())
assert isinstance(model, ir.Model)
assert [n.op_type for n in model.graph if n.op_type != "Constant"] == ["Relu", "Mul"]
assert isinstance(f.function_ir, ir.Function)
assert model.graph.inputs[0].dtype == ir.DataType.FLOAT
