from onnxscript import FLOAT, script
from onnxscript import opset17 as op


@script()
def layer_norm(x: FLOAT["N", 4], w: FLOAT[4], b: FLOAT[4]) -> FLOAT["N", 4]:
    eps = op.Constant(value_float=1e-5)
    axes = [-1]
    mean = op.ReduceMean(x, axes=[-1])
    d = op.Sub(x, mean)
    var = op.ReduceMean(op.Mul(d, d), axes=[-1])
    y = d / op.Sqrt(var + eps)
    return y * w + b


x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
one, zero = np.ones(4, np.float32), np.zeros(4, np.float32)
want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
np.testing.assert_allclose(run(layer_norm.to_model_proto(), x=x, w=one, b=zero)[0], want, rtol=1e-4, atol=1e-5)
