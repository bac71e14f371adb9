"""A model made smaller, with a rule of one's own beside those of the library."""

import numpy as np
import onnx

import onnxwright as ow

model = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 20]>
    block (float[batch, 8] x) => (float[batch, 8] y)
    <float half = {0.5}, float one = {1.0}, float root = {1.41421356}> {
        same = Identity(x)
        a = Div(same, root)
        b = Erf(a)
        c = Add(one, b)
        d = Mul(same, c)
        gelu = Mul(d, half)
        minus = Neg(gelu)
        y = Abs(minus)
    }"""
)


@ow.rule
def abs_of_neg(op, x):
    """The sign does not matter to Abs."""
    return op.Abs(op.Neg(x))


@abs_of_neg.to
def _(op, x):
    return op.Abs(x)


print("the rule matched", ow.testing.prove(abs_of_neg).fired, "times in its proof")
small, report = ow.optimize(model, rules=[abs_of_neg], report=True)
print(report)

# Only some rules, by name or as objects; `ow.library_rules()` has the library's.
some = ow.optimize(model, only=["gelu_erf"])
assert [node.op_type for node in some.graph.node] == ["Gelu", "Neg", "Abs"]

x = np.linspace(-3, 3, 16, dtype=np.float32).reshape(2, 8)
before, after = ow.run_model(model, [x]), ow.run_model(small, [x])
assert np.allclose(before, after, atol=1e-6)
assert [node.op_type for node in small.graph.node] == ["Gelu", "Abs"]
