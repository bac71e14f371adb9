import logging


def to_onnx(model, x):
    try:
        from onnxwright.torch_onnx import export
        from onnxscript import rewriter
        from onnxwright import script, opset18 as op
        import onnx_ir as ir, onnx_ir.passes.common as passes
    except ImportError:
        logging.warning("no exporter"); raise
    return export(model, x), rewriter, ir, passes
# 7: `onnxscript.rewriter` is not in onnxwright: rules have another form: see `onnxwright.rule` and `onnxwright.rewrite`
