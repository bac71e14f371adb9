from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 4], w: FLOAT[4, 6]) -> (FLOAT["N", 3], INT64["N", 2]):
    y = x @ w
    left, right = op.Split(y, axis=1, num_outputs=2)
    values, indices = op.TopK(left * right, op.Constant(value_ints=[2]))
    return left, indices


rng = np.random.default_rng(0)
x = rng.standard_normal((5, 4)).astype(np.float32)
w = rng.standard_normal((4, 6)).astype(np.float32)
left, indices = run(f.to_model_proto(), x=x, w=w)
np.testing.assert_allclose(left, (x @ w)[:, :3], rtol=1e-4, atol=1e-5)
assert indices.shape == (5, 2)
l, i = f(x, w)
np.testing.assert_array_equal(np.array(i), indices)
