import onnxscript
from onnxscript import FLOAT, script
from onnxscript import opset18 as op


ms = onnxscript.values.Opset("com.microsoft", 1)
mine = onnxscript.values.Opset("my.domain", 2)


@script(mine)
def Twice(x):
    return op.Add(x, x)


@script(default_opset=op)
def f(x: FLOAT["N", 4], scale: FLOAT[4]) -> FLOAT["N", 4]:
    y = ms.FastGelu(x)
    return Twice(y) * scale


x = np.ones((2, 4), np.float32)
model = f.to_model_proto()
assert {o.domain for o in model.opset_import} >= {"com.microsoft", "my.domain", ""}
assert [fn.name for fn in model.functions] == ["Twice"]
(y,) = run(model, x=x, scale=np.ones(4, np.float32))
np.testing.assert_allclose(y, 2 * 0.841192 * x, rtol=1e-3)
np.testing.assert_allclose(f(x, np.ones(4, np.float32)), y, rtol=1e-5)
assert mine.domain == "my.domain" and mine.version == 2
