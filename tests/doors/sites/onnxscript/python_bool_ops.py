# warns: OW417 OW417 OW417
from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script(default_opset=op)
def f(a: BOOL["N"], b: BOOL["N"]) -> (BOOL["N"], BOOL["N"], BOOL["N"]):
    return a and b, a or b, not a


a = np.array([True, False]); b = np.array([True, True])
x, y, z = run(f.to_model_proto(), a=a, b=b)
assert list(x) == [True, False] and list(y) == [True, True] and list(z) == [False, True]
