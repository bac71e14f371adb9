"""Operands of an operator: Python numbers beside tensors, two values of one element type."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, Promotable, V, is_value
from onnxwright.semantics.literals import (
    array_of,
    as_value,
    cast,
    dtype_of,
    emit1,
    is_number_like,
    kind_of,
    own_array,
    shape_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import broadcast

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<",
    "rshift": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "neg": "-", "pos": "+", "invert": "~", "not_": "not", "abs": "abs",
}  # fmt: skip


class Binary(Protocol):
    """An operator on two values of one element type."""

    def __call__(self, b: Backend[V], x: V, y: V, /) -> V:
        """Emit it."""


class Unary(Protocol):
    """An operator on one value."""

    def __call__(self, b: Backend[V], x: V, /) -> V:
        """Emit it."""


# Kinds of Python numbers, from the narrowest to the widest.
KINDS = ("bool", "int", "float")
WEAK_DTYPE = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.DOUBLE}


def truth(b: Backend[V], x: V) -> V:
    """`x` as a BOOL tensor: itself, or whether it is not zero."""
    if not is_value(x):
        return b.constant(np.array(bool(x)))
    strong = b.as_weak(x, None)
    if dtype_of(b, strong) is DType.BOOL:
        return strong
    if dtype_of(b, strong) is DType.STRING:
        empty = b.constant(np.array("", dtype=object))
        return emit1(b, "Not", (emit1(b, "Equal", (strong, empty)),))
    return cast(b, strong, DType.BOOL)


# -- weak operands: Python numbers known at run time only -----------------------------------------


def weak_kinds(b: Backend[V], x: object, y: object) -> tuple[str, str] | None:
    """The Python kinds of both operands if neither is a tensor of its own type."""
    kinds = []
    for side in (x, y):
        kind = b.weak_kind(side) if is_value(side) else kind_of(side)
        if kind is None and isinstance(side, Promotable):
            kind = side.weak_kind
        if kind not in KINDS:
            return None
        kinds.append(kind)
    return kinds[0], kinds[1]


def weak_operand(b: Backend[V], x: object, target: DType) -> V:
    """A Python number, known now or at run time, as a tensor of the element type `target`."""
    if is_value(x):
        return cast(b, b.as_weak(x, None), target)
    if kind_of(x) is not None:
        return b.constant(array_of(b, x, target))
    return cast(b, b.as_weak(as_value(b, x, dtype=target), None), target)


# -- operands of one element type ------------------------------------------------------------------


def pair(b: Backend[V], name: str, x: object, y: object) -> tuple[V, V]:
    """Both operands as values of one element type: a number takes the type of the tensor."""
    strong_x, strong_y = is_strong(b, x), is_strong(b, y)
    if strong_x and not strong_y:
        left = as_value(b, x)
        right = as_value(b, y, like=left)
    elif strong_y and not strong_x:
        right = as_value(b, y)
        left = as_value(b, x, like=right)
    elif is_value(x) and not is_value(y):
        left = as_value(b, x)
        right = as_value(b, y, like=left)
    elif is_value(y) and not is_value(x):
        right = as_value(b, y)
        left = as_value(b, x, like=right)
    else:
        left, right = as_value(b, x), as_value(b, y)
    tx, ty = dtype_of(b, left), dtype_of(b, right)
    if tx is not None and ty is not None and tx is not ty:
        fail(
            messages.MixedTypes(operation=SYMBOLS[name], left=tx.name, right=ty.name, span=b.here())
        )
    if name != "matmul":
        sx, sy = shape_of(b, left), shape_of(b, right)
        if sx is not None and sy is not None and broadcast(sx, sy) is None:
            fail(
                messages.ShapesDoNotBroadcast(
                    operation=SYMBOLS[name],
                    left=shape_text(sx),
                    right=shape_text(sy),
                    span=b.here(),
                )
            )
    return left, right


def shape_text(shape: tuple[int | str | None, ...]) -> str:
    """A shape for a message: `[N, 3, ?]`."""
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def is_strong(b: Backend[V], x: object) -> bool:
    """Whether an operand has an element type of its own, as numbers have not."""
    if is_value(x):
        return b.weak_kind(x) is None
    if own_array(x) is not None:
        return True
    if isinstance(x, (list, tuple)) and not is_number_like(x):
        return any(is_strong(b, item) for item in x)
    return False


def is_bool(b: Backend[V], x: V) -> bool:
    """Whether a value is known to be a BOOL tensor."""
    return dtype_of(b, x) is DType.BOOL
