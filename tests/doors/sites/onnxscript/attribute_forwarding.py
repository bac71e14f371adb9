from onnxscript import FLOAT, script
from onnxscript import opset18 as op


@script()
def inner(x, alpha: float = 0.1):
    return op.LeakyRelu(x, alpha=alpha)


@script()
def outer(x, slope: float, axis: int = -1):
    y = inner(x, alpha=slope)
    return op.Softmax(y, axis=axis)


@script()
def net(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    return outer(x, slope=0.3, axis=1)


x = np.array([[-1, 0, 2]], np.float32)
model = net.to_model_proto()
assert sorted(f.name for f in model.functions) == ["inner", "outer"]
e = np.exp(np.where(x < 0, 0.3 * x, x))
np.testing.assert_allclose(run(model, x=x)[0], e / e.sum(), rtol=1e-5)
np.testing.assert_allclose(net(x), e / e.sum(), rtol=1e-5)
