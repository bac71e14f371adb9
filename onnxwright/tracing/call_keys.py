"""When two calls are the same call: the same operator, read values and attributes, to the bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.ir.adapters import is_tensor
from onnxwright.opset.op import Op

# Tensors in attributes of more bytes are not compared.
_MOST_BYTES = 64


def call_key(
    op: Op,
    read: Sequence[ir.Value | None],
    written: tuple[object, ...] | None,
    outputs: int,
) -> tuple[object, ...] | None:
    """What makes two calls the same.

    Args:
        written: their attributes, as `exact_attributes` gives them.

    Returns:
        A key; None where an attribute is of a kind that is not compared.
    """
    if written is None:
        return None
    return (op.name, op.domain, op.opset.version, outputs, *read, *written)


def exact_attributes(attributes: Mapping[str, object]) -> tuple[object, ...] | None:
    """Attributes such that equal means the same bits.

    Returns:
        A key; None where one is of a kind that is not compared.

    Example:
        >>> exact_attributes({"alpha": 0.0}) == exact_attributes({"alpha": -0.0})
        False
    """
    if not attributes:
        return ()
    written = []
    for name, value in attributes.items():
        exact = _exact(value)
        if exact is None:
            return None
        written.append((name, exact))
    return tuple(written)


def _exact(value: Any) -> object | None:
    """An attribute's value such that equal means the same bits; None for what is not compared."""
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, (list, tuple)):
        items = tuple(_exact(v) for v in value)
        return None if None in items else ("list", items)
    if is_tensor(value) and value.nbytes <= _MOST_BYTES:
        if value.dtype == ir.DataType.STRING:
            return None
        return ("tensor", value.dtype, tuple(value.shape), value.tobytes())
    return None
