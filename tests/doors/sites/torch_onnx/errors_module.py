import torch
from torch.onnx.errors import UnsupportedOperatorError, SymbolicValueError
try:
    torch.onnx.export(model.eval(), image, "e.onnx")
except (UnsupportedOperatorError, SymbolicValueError):
    raise
