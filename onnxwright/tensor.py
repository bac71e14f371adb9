"""onnxscript's module `tensor`: the class of values in eager mode."""

from __future__ import annotations

from onnxwright.eager.tensor import Tensor

__all__ = ["Tensor"]
