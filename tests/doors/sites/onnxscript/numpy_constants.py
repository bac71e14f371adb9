from onnx import numpy_helper
from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


WEIGHT = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), name="weight")
AXES = [0]
EPS = 1e-3


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["K"]:
    w = op.Constant(value=WEIGHT)
    y = op.MatMul(x, w) + EPS
    return op.ReduceSum(y, op.Constant(value_ints=AXES), keepdims=0)


x = np.ones((2, 3), np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], (x @ np.arange(6).reshape(3, 2) + 1e-3).sum(0), rtol=1e-5)
np.testing.assert_allclose(f(x), (x @ np.arange(6).reshape(3, 2) + 1e-3).sum(0), rtol=1e-5)
