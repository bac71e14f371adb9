# warns: OW710 OW710
from onnxscript import BOOL, FLOAT, script
from onnxscript import opset17 as op


@script(default_opset=op)
def f(x: FLOAT["N"], flag: BOOL) -> (FLOAT["N"], FLOAT["N"]):
    if flag:
        y = x + 1.0
        if op.ReduceSum(x) > 3.0:
            z = y * 2.0
        else:
            z = y
    elif op.ReduceMax(x) > 1.0:
        y = x - 1.0
        z = op.Abs(y)
    else:
        y = op.Identity(x)
        z = op.Neg(x)
    return y, z


x = np.array([1, 2.5], np.float32)
for flag in (True, False):
    y, z = run(f.to_model_proto(), x=x, flag=np.array(flag))
    np.testing.assert_allclose(y, x + 1 if flag else x - 1)
    np.testing.assert_allclose(z, 2 * (x + 1) if flag else np.abs(x - 1))
    e, g = f(x, np.array(flag))
    np.testing.assert_allclose(np.array(e), y)
