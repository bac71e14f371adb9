from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x, axes: Sequence[int] = (0,)):
    return op.Unsqueeze(x, op.Constant(value_ints=axes))


@script()
def g(x: FLOAT["N"]) -> FLOAT[1, "N"]:
    return f(x)


assert run(g.to_model_proto(), x=np.ones(2, np.float32))[0].shape == (1, 2)
assert np.array(f(np.ones(2, np.float32), axes=[1])).shape == (2, 1)
