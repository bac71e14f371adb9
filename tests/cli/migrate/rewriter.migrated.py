import onnx_ir as ir
from onnxwright import script
from onnxscript.rewriter import pattern
from onnxscript.rewriter.ort_fusions import optimize_for_ort
from onnxscript.rewriter.pattern import RewriteRule


def before(op, x):
    return op.Identity(x)


def after(op, x):
    return x


rule = pattern.RewriteRule(before, after)
other = RewriteRule(before, after)
optimize_for_ort(ir.load("m.onnx"))
# 2: `onnxscript.rewriter.pattern` is not in onnxwright: a rule is a function with `@onnxwright.rule`; see `onnxwright.rewrite`
# 3: `onnxscript.rewriter.ort_fusions.optimize_for_ort` is not in onnxwright: `onnxwright.optimize(model, target="onnxruntime")`
# 4: `onnxscript.rewriter.pattern.RewriteRule` is not in onnxwright: a rule is a function with `@onnxwright.rule`; see `onnxwright.rewrite`
# 15: `onnxscript.rewriter.pattern.RewriteRule` is not in onnxwright: a rule is a function with `@onnxwright.rule`; see `onnxwright.rewrite`
# 16: `onnxscript.rewriter.pattern.RewriteRule` is not in onnxwright: a rule is a function with `@onnxwright.rule`; see `onnxwright.rewrite`
# 17: `onnxscript.rewriter.ort_fusions.optimize_for_ort` is not in onnxwright: `onnxwright.optimize(model, target="onnxruntime")`
