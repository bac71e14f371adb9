from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    mask = x > 0
    count = op.ReduceSum(op.Cast(mask, to=1))
    nonzero = op.NonZero(x)
    picked = op.GatherND(x, op.Transpose(nonzero))
    return picked / count


(y,) = run(f.to_model_proto(), x=np.array([1, 0, 3], np.float32))
np.testing.assert_allclose(y, [0.5, 1.5])
