from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"], y: FLOAT["N"], alpha: float = 1.0, mode: str = "a"):
    """Doc of f."""
    return op.Add(x, y)


assert isinstance(f, onnxscript.OnnxFunction)
assert f.name == "f" and f.__doc__ == "Doc of f."
assert [p.name for p in f.op_signature.params] == ["x", "y", "alpha", "mode"]
assert op.Relu.name == "Relu" and op.Relu.op_schema.name == "Relu"
assert op.version == 18 and op.domain == "" and "Relu" in op
assert op["Relu"].name == "Relu"
from onnxscript.onnx_opset import all_opsets
assert all_opsets[("", 18)] is op
assert f.function(np.ones(2, np.float32), np.ones(2, np.float32))[0] == 2
assert f.to_model_proto(input_types=[FLOAT[2], FLOAT[2]], output_types=[FLOAT[2]]).graph.name == "f"
