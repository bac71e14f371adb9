# warns: OW406
from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: DOUBLE["N"], i: INT64["N"]) -> (DOUBLE["N"], INT64["N"], INT64["N"]):
    y = x * 0.1 + 1
    j = op.Add(i, 2)
    k = i / 2
    return y, j, k


x = np.array([1.0, 2.0]); i = np.array([5, 8])
y, j, k = run(f.to_model_proto(), x=x, i=i)
assert y.dtype == np.float64
np.testing.assert_allclose(y, x * 0.1 + 1)
assert list(j) == [7, 10] and list(k) == [2, 4]
