"""The command that rewrites files written for onnxscript or torch.onnx."""
