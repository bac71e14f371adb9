from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(x: FLOAT["N"], n: INT64[()], flag: BOOL[()]) -> FLOAT["N"]:
    y = op.Identity(x)
    if flag:
        for i in range(n):
            y = y * 2.0
            if op.ReduceMax(y) > 100.0:
                y = y - 100.0
            else:
                y = op.Identity(y)
    else:
        y = op.Neg(x)
    return y


x = np.array([1, 2], np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x, n=np.array(3), flag=np.array(True))[0], 8 * x)
np.testing.assert_allclose(f(x, np.array(3), np.array(True)), 8 * x)
