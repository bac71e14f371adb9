from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxwright.torch_onnx import ONNXProgram
    from onnxwright.onnx_types import TensorType
    from onnxwright.values import OnnxFunction


def f(p: ONNXProgram, g: OnnxFunction) -> TensorType: ...
