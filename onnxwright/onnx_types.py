"""onnxscript's module `onnx_types`: the names that annotations are written with."""

from __future__ import annotations

from onnxwright.types import *  # noqa: F403
from onnxwright.types import Tensor
from onnxwright.types import __all__ as _names

# What every tensor type is a subclass of.
TensorType = ONNXType = Tensor

__all__ = [*_names, "ONNXType", "TensorType"]  # noqa: PLE0604 - all are strings
