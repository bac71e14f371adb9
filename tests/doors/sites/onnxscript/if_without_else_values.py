from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(x: FLOAT["N"], flag: BOOL[()]) -> FLOAT["N"]:
    y = x
    if flag:
        y = y + 1.0
    return y


x = np.ones(2, np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x, flag=np.array(True))[0], 2 * x)
