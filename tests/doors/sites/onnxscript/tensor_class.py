from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


from onnxscript.tensor import Tensor
x = Tensor(np.array([[1, 2], [3, 4]], np.float32))
assert x.onnx_dtype == 1
np.testing.assert_allclose((x @ x).value, x.value @ x.value)
np.testing.assert_allclose((x ** 2).value, x.value ** 2)
np.testing.assert_allclose((-x).value, -x.value)
assert (x > x).value.dtype == bool
assert (x == x).value.all()
assert bool(Tensor(np.array(True)))
assert int(Tensor(np.array(3))) == 3 and float(Tensor(np.array(1.5))) == 1.5
np.testing.assert_allclose(x[:, 1].value, [2, 4])
np.testing.assert_allclose(x[0:1].value, [[1, 2]])
assert x.shape == (2, 2)
