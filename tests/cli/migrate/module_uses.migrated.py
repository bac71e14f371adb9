import onnxwright
from onnxwright import opset17 as op
import onnxscript
import onnx_ir


@onnxwright.script()
def f(x: onnxwright.FLOAT["N"]):
    return op.Relu(x)


model = onnx_ir.from_proto(f.to_model_proto())
onnxscript.optimizer.optimize(model)
onnxscript.optimizer.fold_constants(model)
custom = onnxwright.values.Opset("my", 1)
print(onnxwright.__version__, onnxwright)
# 11: `onnxscript.optimizer.optimize` is not in onnxwright: `onnxwright.optimize(model)` returns the optimized model
# 12: `onnxscript.optimizer.fold_constants` is not in onnxwright: `onnxwright.fold_constants(model)` returns the new model
