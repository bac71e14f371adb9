import onnxscript as oxs, numpy as np
import onnxscript.evaluator as ev, onnxscript.rewriter as rw

op = oxs.opset18


@oxs.script(default_opset=op)
def f(x):
    return oxs.opset18.Abs(x) % 2.0


with ev.default_as(ev.ort_evaluator):
    f(np.ones(2))
rw.rewrite(oxs.ir.load("m.onnx"), pattern_rewrite_rules=[])
oxs.version_converter.convert_version(f.to_model_proto(), 19)
