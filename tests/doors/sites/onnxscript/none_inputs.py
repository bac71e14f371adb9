from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT[1, 1, 2, 2], top: FLOAT[()]) -> FLOAT["A", "B", "C", "D"]:
    y = op.Resize(x, None, op.Constant(value_floats=[1.0, 1.0, 2.0, 2.0]), mode="nearest")
    return op.Clip(y, None, top)


x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
(y,) = run(f.to_model_proto(), x=x, top=np.array(2, np.float32))
assert y.shape == (1, 1, 4, 4) and y.max() == 2
np.testing.assert_allclose(f(x, np.array(2, np.float32)), y)
