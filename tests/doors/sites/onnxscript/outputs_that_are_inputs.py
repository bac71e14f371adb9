from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(x: FLOAT["N"]) -> (FLOAT["N"], FLOAT["N"]):
    y = x
    return y, x


x = np.ones(2, np.float32)
a, b = run(f.to_model_proto(), x=x)
np.testing.assert_allclose(a, b)
