from onnxscript import FLOAT, proto2python, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    return op.Softmax(op.Relu(x) + 1.0, axis=-1)


text = proto2python(f.to_model_proto())
assert "Softmax" in text and "@script" in text
