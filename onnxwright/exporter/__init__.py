"""PyTorch programs to ONNX: `torch.export` programs translated through the ATen library."""

from __future__ import annotations

from onnxwright.exporter.api import export
from onnxwright.exporter.bisect import export_bisect
from onnxwright.exporter.observing import observe
from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.exporter.torch_compile import torch_backend
from onnxwright.exporter.torch_errors import extend

extend()

__all__ = ["ONNXProgram", "export", "export_bisect", "observe", "torch_backend"]
