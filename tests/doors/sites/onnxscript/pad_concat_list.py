from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["A", "B"]:
    n = op.Shape(x)[0]
    top = op.Expand(0.5, [1, 3])
    y = op.Concat(top, x, axis=0)
    y = op.Pad(y, [0, 1, 0, 1], 9.0)
    shape = op.Concat(op.Reshape(n + 1, [1]), [5], axis=0)
    return op.Reshape(y, shape)


x = np.ones((2, 3), np.float32)
(y,) = run(f.to_model_proto(), x=x)
assert y.shape == (3, 5) and y[0, 0] == 9 and y[0, 1] == 0.5
