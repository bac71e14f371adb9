from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram
    from onnxscript.onnx_types import TensorType
    from onnxscript.values import OnnxFunction


def f(p: ONNXProgram, g: OnnxFunction) -> TensorType: ...
