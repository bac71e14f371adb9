import logging


def to_onnx(model, x):
    try:
        from torch.onnx import export
        from onnxscript import script, opset18 as op, rewriter
        import onnxscript.ir as ir, onnxscript.ir.passes.common as passes
    except ImportError:
        logging.warning("no exporter"); raise
    return export(model, x), rewriter, ir, passes
