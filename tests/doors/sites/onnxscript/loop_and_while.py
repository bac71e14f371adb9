# warns: OW710 OW710
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import FLOAT, INT64


@script()
def sumprod(x: FLOAT["N"], N: INT64) -> (FLOAT["N"], FLOAT["N"]):
    sum = op.Identity(x)
    prod = op.Identity(x)
    for i in range(N):
        sum = sum + x
        prod = prod * x
    return sum, prod


@script()
def until(x: FLOAT["N"], N: INT64) -> FLOAT["N"]:
    total = op.Identity(x)
    cond = N > 0
    i = op.Constant(value_int=0)
    while cond:
        total = total * 2.0
        i = i + 1
        cond = i < N
    return total


x = np.array([1, 2], np.float32)
a, b = run(sumprod.to_model_proto(), x=x, N=np.array(3))
np.testing.assert_allclose(a, 4 * x)
np.testing.assert_allclose(b, x ** 4)
np.testing.assert_allclose(run(until.to_model_proto(), x=x, N=np.array(3))[0], 8 * x)
s, p = sumprod(x, np.array(3))
np.testing.assert_allclose(s, 4 * x)
