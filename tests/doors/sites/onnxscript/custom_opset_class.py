from onnxscript import FLOAT, script
from onnxscript import opset17 as op
from onnxscript.values import Opset


contrib = Opset(domain="com.microsoft", version=1)


@script()
def f(x: FLOAT["N", 8], gamma: FLOAT[8], beta: FLOAT[8]) -> FLOAT["N", 8]:
    y = contrib.SkipLayerNormalization(x, x, gamma, beta, epsilon=1e-5)
    return op.Relu(y)


x = np.random.default_rng(0).standard_normal((1, 3, 8)).astype(np.float32)
assert [n.op_type for n in f.to_model_proto().graph.node] == ["SkipLayerNormalization", "Relu"]
