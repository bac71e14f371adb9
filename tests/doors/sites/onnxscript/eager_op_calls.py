import numpy as np
import onnx
import onnxruntime as ort

import onnxscript
from onnxscript import opset18 as op
from onnxscript.tensor import Tensor

x = np.array([[-1, 2], [3, -4]], np.float32)
np.testing.assert_array_equal(op.Relu(x), np.maximum(x, 0))
y = op.Add(Tensor(x), Tensor(x))
assert isinstance(y, Tensor)
np.testing.assert_array_equal(y.value, x + x)
z = Tensor(x)[0] * 2.0 - Tensor(x)[1]
np.testing.assert_array_equal(z.value, x[0] * 2 - x[1])
assert y.shape == (2, 2) and y.rank == 2 and y.dtype == np.float32
a, b = op.Split(x, np.array([1, 1]), axis=0)
np.testing.assert_array_equal(np.array(a), x[:1])
v, i = op.TopK(x, np.array([1]))
assert np.array(i).dtype == np.int64
assert op.Cast(x, to=onnx.TensorProto.INT64).dtype == np.int64
s = op.SequenceConstruct(x, x)
assert len(s) == 2
