"""PyTorch programs to ONNX: `torch.export` programs translated through the ATen library."""

from __future__ import annotations

from onnxwright.exporter.api import export
from onnxwright.exporter.program import ONNXProgram

__all__ = ["ONNXProgram", "export"]
