import onnxscript
from onnxscript import opset17 as op


@onnxscript.script()
def f(x: onnxscript.FLOAT["N"]):
    return op.Relu(x)


model = onnxscript.ir.from_proto(f.to_model_proto())
onnxscript.optimizer.optimize(model)
onnxscript.optimizer.fold_constants(model)
custom = onnxscript.values.Opset("my", 1)
print(onnxscript.__version__, onnxscript)
