"""onnxscript's module `onnx_opset`: the opsets by name, as `onnxwright.opset` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxwright import opset as _opset

if TYPE_CHECKING:
    from onnxwright.opset import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [n for n in dir(_opset) if n.startswith("opset") and n[-1].isdigit()]
    return getattr(_opset, name)


def __dir__() -> list[str]:
    return dir(_opset)
