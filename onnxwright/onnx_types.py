"""onnxscript's module `onnx_types`: the names that annotations are written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxwright import types as _types

if TYPE_CHECKING:
    from onnxwright.types import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_types.__all__, "ONNXType"]
    if name in ("TensorType", "ONNXType"):
        return _types.Tensor  # what every tensor type is a subclass of
    if name == "tensor_type_registry":
        return dict(_types.ANNOTATIONS)  # the class of each element type
    return getattr(_types, name)


def __dir__() -> list[str]:
    return sorted({*dir(_types), "ONNXType", "TensorType", "tensor_type_registry"})
