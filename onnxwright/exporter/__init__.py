"""PyTorch programs to ONNX: `torch.export` programs translated through the ATen library."""

from __future__ import annotations

try:
    import torch  # noqa: F401 - what is missing is said once, here
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "PyTorch is not installed; exports and what compares with it need it: "
        "pip install 'onnxwright[torch]', or `torch` as pytorch.org says for your machine",
        name="torch",
    ) from None

from onnxwright.exporter import torch_version  # noqa: F401 - first: it refuses old versions
from onnxwright.exporter.api import export
from onnxwright.exporter.bisect import export_bisect
from onnxwright.exporter.capture.control.replacement_table import export_replacement
from onnxwright.exporter.decoders import cache_of, export_decoder
from onnxwright.exporter.observing import observe
from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.exporter.torch_compile import torch_backend
from onnxwright.exporter.torch_errors import extend

extend()

__all__ = [
    "ONNXProgram",
    "cache_of",
    "export",
    "export_bisect",
    "export_decoder",
    "export_replacement",
    "observe",
    "torch_backend",
]
