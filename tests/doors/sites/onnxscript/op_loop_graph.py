from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(x: FLOAT["N"], n: INT64[()]) -> (FLOAT["N"], FLOAT["T", "N"]):
    @graph()
    def body(i, cond, s):
        t = s + x
        go = op.Identity(cond)
        r = op.Identity(t)
        return go, t, r

    yes = op.Constant(value=onnx.helper.make_tensor("c", 9, [], [True]))
    last, rows = op.Loop(n, yes, x, body=body)
    return last, rows


x = np.ones(2, np.float32)
last, rows = run(f.to_model_proto(), x=x, n=np.array(3))
np.testing.assert_allclose(rows, [[2, 2], [3, 3], [4, 4]])
