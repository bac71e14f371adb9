"""Calls by torch.onnx's own tools, which expect what a `torch.onnx.ONNXProgram` gives."""

from __future__ import annotations

import sys

_TOOLS = "torch.onnx."


def called_by_torch_onnx() -> bool:
    """Whether the method that asks is called by a function of torch.onnx.

    `torch.onnx.testing.assert_onnx_program` and `torch.onnx.verification.verify_onnx_program` pair
    the outputs of a program one by one: the rows of a single tensor would be taken for outputs.

    Source:
        torch.onnx.testing and torch.onnx.verification of PyTorch 2.13.
    """
    name = sys._getframe(2).f_globals.get("__name__") or ""
    return str(name).startswith(_TOOLS)
