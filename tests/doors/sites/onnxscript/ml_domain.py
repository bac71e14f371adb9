from onnxscript import FLOAT, INT64, STRING, script
from onnxscript.onnx_opset import opset_ai_onnx_ml3 as ml
from onnxscript.onnx_opset import opset15 as op


@script(default_opset=op)
def f(x: FLOAT["N", 2]) -> FLOAT["N", 1]:
    scaled = ml.Scaler(x, offset=[1.0, 2.0], scale=[2.0, 2.0])
    return ml.LinearRegressor(scaled, coefficients=[1.0, 1.0], intercepts=[0.5], targets=1)


x = np.array([[1, 2], [2, 3]], np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], [[0.5], [4.5]])
