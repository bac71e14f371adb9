from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT[...], y: FLOAT[...]):
    return op.Add(x, y)


assert float(np.array(f(np.float32(1), np.float32(2)))) == 3
assert isinstance(f(np.ones(2, np.float32), np.ones(2, np.float32)), np.ndarray)
np.testing.assert_allclose(op.Add(np.ones(2, np.float32), 1.0), [2, 2])
np.testing.assert_allclose(op.Max(np.ones(2, np.float32), np.zeros(2, np.float32), np.full(2, 5, np.float32)), [5, 5])
