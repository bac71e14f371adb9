from onnxscript import FLOAT, INT64, script
from onnxscript.onnx_opset import opset15 as op


@script(default_opset=op)
def f(x: FLOAT["N"]) -> (FLOAT["N"], INT64):
    total = op.Identity(x)
    count = op.Constant(value_int=0)
    for i in range(10):
        total = total + x
        count = count + 1
        cond = op.ReduceSum(total) > 10.0
        if cond:
            break
    return total, count


x = np.array([1, 1], np.float32)
y, n = run(f.to_model_proto(), x=x)
np.testing.assert_allclose(y, 6 * x)
assert n == 5
