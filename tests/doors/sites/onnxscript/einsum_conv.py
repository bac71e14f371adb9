from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["B", 3, 8, 8], w: FLOAT[4, 3, 3, 3], b: FLOAT[4]) -> FLOAT["B", 4]:
    y = op.Conv(x, w, b, pads=[1, 1, 1, 1], strides=(1, 1), kernel_shape=[3, 3])
    y = op.BatchNormalization(y, b, b, b, op.Abs(b) + 1.0)
    y = op.GlobalAveragePool(y)
    return op.Einsum(y, equation="bchw->bc")


rng = np.random.default_rng(0)
v = lambda *s: rng.standard_normal(s).astype(np.float32)
assert run(f.to_model_proto(), x=v(2, 3, 8, 8), w=v(4, 3, 3, 3), b=v(4))[0].shape == (2, 4)
