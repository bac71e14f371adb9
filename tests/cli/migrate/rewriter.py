from onnxscript import ir, script
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
