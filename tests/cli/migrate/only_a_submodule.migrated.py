import onnxscript.optimizer
import onnxwright

onnxscript.optimizer.optimize(model)
f = onnxwright.script()(f)
# 1: `onnxscript.optimizer` is not in onnxwright: `onnxwright.optimize(model)` returns the optimized model
# 3: `onnxscript.optimizer.optimize` is not in onnxwright: `onnxwright.optimize(model)` returns the optimized model
