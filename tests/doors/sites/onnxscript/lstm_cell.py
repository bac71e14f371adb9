from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


@script()
def cell(x, h, c, W, R, B):
    gates = op.MatMul(x, W) + op.MatMul(h, R) + B
    i, o, f, g = op.Split(gates, num_outputs=4, axis=-1)
    c_new = op.Sigmoid(f) * c + op.Sigmoid(i) * op.Tanh(g)
    h_new = op.Sigmoid(o) * op.Tanh(c_new)
    return h_new, c_new


@script()
def lstm(xs: FLOAT["T", "B", 3], h: FLOAT["B", 4], c: FLOAT["B", 4], W: FLOAT[3, 16], R: FLOAT[4, 16], B: FLOAT[16]) -> FLOAT["B", 4]:
    T = op.Squeeze(op.Shape(xs, start=0, end=1))
    for t in range(T):
        x = op.Gather(xs, t, axis=0)
        h, c = cell(x, h, c, W, R, B)
    return h


rng = np.random.default_rng(0)
v = lambda *s: rng.standard_normal(s).astype(np.float32)
feed = dict(xs=v(5, 2, 3), h=v(2, 4), c=v(2, 4), W=v(3, 16), R=v(4, 16), B=v(16))
(y,) = run(lstm.to_model_proto(), **feed)
np.testing.assert_allclose(lstm(**feed), y, rtol=1e-4, atol=1e-5)
