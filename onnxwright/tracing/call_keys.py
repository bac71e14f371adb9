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
    attributes: Mapping[str, object],
    outputs: int,
) -> tuple[object, ...] | None:
    """What makes two calls the same.

    Returns:
        A key; None where an attribute is of a kind that is not compared.

    Example:
        >>> from onnxwright.opset import opset23 as op
        >>> zero, minus = (call_key(op.Elu, [], {"alpha": x}, 1) for x in (0.0, -0.0))
        >>> zero == minus
        False
    """
    if not attributes:
        return (op.name, op.domain, op.version, outputs, *read)
    written = []
    for name, value in attributes.items():
        exact = _exact(value)
        if exact is None:
            return None
        written.append((name, exact))
    return (op.name, op.domain, op.version, outputs, *read, *written)


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
