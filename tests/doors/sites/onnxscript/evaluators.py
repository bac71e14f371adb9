import onnxscript
from onnxscript import evaluator, script, FLOAT
from onnxscript import opset18 as op
from onnxscript.evaluator import ORTEvaluator, OnnxReferenceRuntimeEvaluator, default, default_as, set_default


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x) + 1.0


x = np.array([-1, 1], np.float32)
with default_as(OnnxReferenceRuntimeEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
with onnxscript.evaluator.default_as(ORTEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
before = default()
set_default(ORTEvaluator())
assert default() is not before
set_default(before)
with evaluator.default_as(evaluator.ORTMixedEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
