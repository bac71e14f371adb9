from onnx import helper
from onnxscript import script
from onnxscript import opset18 as op
from onnxscript.values import Opset


@script(Opset("lib", 1), default_opset=op)
def Selu2(X, alpha: float = 1.67, gamma: float = 1.05):
    """Selu, as a function."""
    alphaX = op.CastLike(alpha, X)
    gammaX = op.CastLike(gamma, X)
    neg = gammaX * (alphaX * op.Exp(X) - alphaX)
    pos = gammaX * X
    zero = op.CastLike(0, X)
    return op.Where(X <= zero, neg, pos)


fp = Selu2.to_function_proto()
assert (fp.domain, fp.name, list(fp.input)) == ("lib", "Selu2", ["X"])
assert {a.name: round(a.f, 2) for a in fp.attribute_proto} == {"alpha": 1.67, "gamma": 1.05}
x = helper.make_tensor_value_info("x", 1, [3])
y = helper.make_tensor_value_info("y", 1, [3])
node = helper.make_node("Selu2", ["x"], ["y"], domain="lib", alpha=1.0)
model = helper.make_model(
    helper.make_graph([node], "g", [x], [y]), functions=[fp], ir_version=9,
    opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("lib", 1)],
)
v = np.array([-1, 0, 2], np.float32)
(out,) = run(model, x=v)
np.testing.assert_allclose(out, np.where(v <= 0, 1.05 * (np.exp(v) - 1), 1.05 * v), rtol=1e-5)
assert Selu2.name == "Selu2"
assert Selu2.opset.domain == "lib"
assert "Selu" in Selu2.source
