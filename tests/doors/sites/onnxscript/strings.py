from onnxscript import BOOL, STRING, FLOAT, script
from onnxscript import opset20 as op


@script()
def f(s: STRING["N"]) -> STRING["N"]:
    return op.StringConcat(s, op.Constant(value_string="!"))


@script()
def pick(x: FLOAT["N"], mode: str = "up"):
    if mode == "up":
        y = op.Ceil(x)
    else:
        y = op.Floor(x)
    return y


(y,) = run(f.to_model_proto(), s=np.array(["a", "b"], object))
assert list(y) == ["a!", "b!"]
np.testing.assert_allclose(pick(np.array([0.5], np.float32)), [1])
