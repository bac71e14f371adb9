from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def norm(x, epsilon: float = 1e-5, axis: int = -1):
    m = op.ReduceMean(x, op.Constant(value_ints=[-1]), keepdims=1)
    return op.Sub(x, m) / op.Sqrt(epsilon + op.ReduceMean(op.Mul(x, x), op.Constant(value_ints=[-1])))


@script()
def block(x: FLOAT["N", 4], epsilon: float = 0.5) -> FLOAT["N", 4]:
    return op.Identity(norm(x, epsilon=epsilon))


x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
want = (x - x.mean(-1, keepdims=True)) / np.sqrt(0.5 + (x * x).mean(-1, keepdims=True))
np.testing.assert_allclose(block(x), want, rtol=1e-4)
np.testing.assert_allclose(block(x, epsilon=0.5), want, rtol=1e-4)
