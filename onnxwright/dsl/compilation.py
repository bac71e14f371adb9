"""`new_context`: the state of one compilation, with what the compiler needs of higher layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.converter.lower.context import Context
from onnxwright.types.kinds import OnnxType


def new_context(**options: Any) -> Context:
    """A compilation.

    Args:
        options: the other fields of `Context`.
    """
    return Context(_convert_call, **options)


def _convert_call(
    name: str,
    inputs: Sequence[tuple[OnnxType | None, np.ndarray[Any, Any] | None] | None],
    attributes: Sequence[ir.Attr],
    outputs: int,
    source: int,
    target: int,
) -> ir.Graph | str:
    """One call in another opset version."""
    from onnxwright.versions.one_call import converted_call

    return converted_call(name, inputs, attributes, outputs, source, target)


__all__ = ["new_context"]
