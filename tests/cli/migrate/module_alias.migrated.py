import onnxwright as oxs, numpy as np
import onnxwright.evaluator as ev, onnxscript.rewriter as rw
import onnx_ir
import onnxscript

op = oxs.opset18


@oxs.script(default_opset=op)
def f(x):
    return oxs.opset18.Abs(x) % 2.0


with ev.default_as(ev.ort_evaluator):
    f(np.ones(2))
rw.rewrite(onnx_ir.load("m.onnx"), pattern_rewrite_rules=[])
onnxscript.version_converter.convert_version(f.to_model_proto(), 19)
# 2: `onnxscript.rewriter` is not in onnxwright: rules have another form: see `onnxwright.rule` and `onnxwright.rewrite`
# 9: `%` of floating-point tensors has the sign of the divisor here: see `op.Mod(fmod=1)`
# 14: `onnxscript.rewriter.rewrite` is not in onnxwright: use `onnxwright.rewrite(model, rules)`; a rule has `@onnxwright.rule`
# 15: `onnxscript.version_converter.convert_version` is not in onnxwright: `onnxwright.convert_version(model, version)` returns the converted model
