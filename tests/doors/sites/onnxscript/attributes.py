from typing import Sequence, Tuple
import onnxscript
from onnxscript import FLOAT, script
from onnxscript import opset18 as op


@script()
def scaled_mean(x, axes: Sequence[int], scale: float = 2.0, keepdims: int = 1):
    axes_value = op.Constant(value_ints=axes)
    m = op.ReduceMean(x, axes_value, keepdims=keepdims)
    s = op.Constant(value_float=scale)
    return m * op.CastLike(s, x)


@script()
def net(x: FLOAT["N", 3]) -> FLOAT["N", 1]:
    return scaled_mean(x, axes=[1], scale=3.0)


x = np.arange(6, dtype=np.float32).reshape(2, 3)
np.testing.assert_allclose(run(net.to_model_proto(), x=x)[0], 3 * x.mean(1, keepdims=True))
np.testing.assert_allclose(scaled_mean(x, axes=[0], keepdims=0), 2 * x.mean(0))
proto = scaled_mean.to_function_proto()
assert list(proto.attribute) == ["axes"]
assert sorted(a.name for a in proto.attribute_proto) == ["keepdims", "scale"]
