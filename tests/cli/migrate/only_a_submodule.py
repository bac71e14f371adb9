import onnxscript.optimizer

onnxscript.optimizer.optimize(model)
f = onnxscript.script()(f)
