# warns: OW417
from onnxscript import BOOL, FLOAT, script
from onnxscript import opset17 as op


@script(default_opset=op)
def f(a: FLOAT["N"], b: FLOAT["N"]) -> (BOOL["N"], FLOAT["N"], BOOL["N"]):
    both = (a > b) & (b >= 0.0)
    either = op.Or(a == b, a != b)
    c = -a * 2 + b / 4 - (a ** 2)
    d = not (a < b)
    return both | d, c, either


a = np.array([1, -2, 3], np.float32)
b = np.array([0, 1, 3], np.float32)
x, y, z = run(f.to_model_proto(), a=a, b=b)
np.testing.assert_array_equal(x, ((a > b) & (b >= 0)) | ~(a < b))
np.testing.assert_allclose(y, -a * 2 + b / 4 - a ** 2)
assert z.all()
