"""What `==`, `<` and the other comparisons mean on two operands."""

from __future__ import annotations

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import (
    cast,
    dtype_of,
    emit1,
    is_number_like,
    plain_kind,
)
from onnxwright.semantics.operands import (
    Binary,
    pair,
)
from onnxwright.types.dtypes import DType


def compare(b: Backend[V], name: str, x: object, y: object) -> V:
    """Compare; where the tensor's type does not hold the number beside it, as numpy does.

    An integer tensor beside a Python fraction is compared as DOUBLE, a BOOL tensor beside a number
    other than 0 and 1 as INT64 or DOUBLE.
    """
    for tensor, other in ((x, y), (y, x)):
        if is_value(tensor) and b.weak_kind(tensor) is None:
            wide = _wider(b, dtype_of(b, tensor), other)
            if wide is not None:
                x, y = (cast(b, s, wide) if s is tensor else s for s in (x, y))
                break
    left, right = pair(b, name, x, y)
    return COMPARISONS[name](b, left, right)


def _wider(b: Backend[V], dtype: DType | None, number: object) -> DType | None:
    """The type that a tensor of `dtype` is compared with a Python number in, if not in its own."""
    if dtype is not DType.BOOL:
        fraction = dtype is not None and dtype.is_integer and _is_fraction(b, number)
        return DType.DOUBLE if fraction else None
    if is_value(number):
        kind = b.weak_kind(number)
    else:
        kind = plain_kind(number) if is_number_like(number) else None
        if kind in ("int", "float") and np.all(np.isin(np.asarray(number, object), (0, 1))):
            return None
    return {"int": DType.INT64, "float": DType.DOUBLE}.get(kind or "")


def _is_fraction(b: Backend[V], x: object) -> bool:
    if is_value(x):
        return b.weak_kind(x) == "float"
    if type(x) is float:
        return not x.is_integer()
    if is_number_like(x) and plain_kind(x) == "float":
        numbers = np.asarray(x, dtype=np.float64)
        return not bool(np.all(np.isfinite(numbers) & (numbers == np.trunc(numbers))))
    return False


def _eq(b: Backend[V], x: V, y: V) -> V:
    if dtype_of(b, x) is DType.STRING and b.opset.version < 19:
        return _equal_text(b, x, y)
    return emit1(b, "Equal", (x, y))


def _ne(b: Backend[V], x: V, y: V) -> V:
    return emit1(b, "Not", (_eq(b, x, y),))


def _equal_text(b: Backend[V], x: V, y: V) -> V:
    """Equality with one known text before Equal took strings (version 19): a LabelEncoder."""
    for tensor, other in ((x, y), (y, x)):
        text_array = b.constant_value(other)
        if text_array is not None and text_array.size == 1:
            text = str(text_array.reshape(()).item())
            encoder = Opset("ai.onnx.ml", 2).LabelEncoder
            table = {"keys_strings": [text], "values_int64s": [1], "default_int64": 0}
            return cast(b, b.emit(encoder, (tensor,), table, 1)[0], DType.BOOL)
    fail(
        messages.OpsetTooOld(
            what="comparing two STRING tensors",
            op="Equal",
            needed=19,
            version=b.opset.version,
            span=b.here(),
        )
    )


def _ordered(name: str, swapped_negation: str | None = None) -> Binary:
    def compare(b: Backend[V], x: V, y: V) -> V:
        dtype = dtype_of(b, x)
        if dtype is DType.BOOL:
            x, y = cast(b, x, DType.INT32), cast(b, y, DType.INT32)
        if swapped_negation is not None and b.opset.version < 12:
            less_or_equal = emit1(b, swapped_negation, (x, y))
            return emit1(b, "Or", (less_or_equal, emit1(b, "Equal", (x, y))))
        return emit1(b, name, (x, y))

    return compare


COMPARISONS: dict[str, Binary] = {
    "eq": _eq,
    "ne": _ne,
    "lt": _ordered("Less"),
    "le": _ordered("LessOrEqual", "Less"),
    "gt": _ordered("Greater"),
    "ge": _ordered("GreaterOrEqual", "Greater"),
}
