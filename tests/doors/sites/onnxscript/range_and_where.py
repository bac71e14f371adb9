from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(n: INT64[()]) -> INT64["N"]:
    r = op.Range(0, n, 1)
    return op.Where(op.Equal(op.Mod(r, 2), 0), r, -r)


(y,) = run(f.to_model_proto(), n=np.array(5))
assert list(y) == [0, -1, 2, -3, 4]
