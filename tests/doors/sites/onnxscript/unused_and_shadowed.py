from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["K"]:
    values, _ = op.TopK(x, op.Constant(value_ints=[2]))
    x = values * 2.0
    x = op.Relu(x)
    input = x
    return input


(y,) = run(f.to_model_proto(), x=np.array([1, 3, 2], np.float32))
np.testing.assert_allclose(y, [6, 4])
