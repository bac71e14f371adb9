"""`torch.onnx.verification`: its functions take the programs of this package as they are."""

from __future__ import annotations

from onnxwright.exporter.torch_names.export import of_torch

_tools = of_torch("verification")
VerificationInfo = _tools.VerificationInfo
verify_onnx_program = _tools.verify_onnx_program

__all__ = ["VerificationInfo", "verify_onnx_program"]
