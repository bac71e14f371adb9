from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = op.Identity(x)
    cond = op.ReduceSum(y) < 100.0
    while cond:
        y = y + x
        cond = op.ReduceSum(y) < 10.0
    return y


x = np.array([1, 2], np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], 4 * x)
np.testing.assert_allclose(f(x), 4 * x)
