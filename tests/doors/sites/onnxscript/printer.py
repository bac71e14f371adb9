from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = op.Relu(x)
    return op.Neg(y)


text = onnx.printer.to_text(f.to_model_proto())
assert "Relu" in text
print(onnx.printer.to_text(f.to_function_proto()))
