from onnxscript import FLOAT, UINT8, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y, scale, zero = op.DynamicQuantizeLinear(x)
    return op.DequantizeLinear(y, scale, zero)


x = np.linspace(-1, 1, 5, dtype=np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], x, atol=0.01)
