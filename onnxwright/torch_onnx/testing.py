"""`torch.onnx.testing`: its functions take the programs of this package as they are."""

from __future__ import annotations

from onnxwright.exporter.torch_names.export import of_torch

_tools = of_torch("testing")
assert_onnx_program = _tools.assert_onnx_program

__all__ = ["assert_onnx_program"]
