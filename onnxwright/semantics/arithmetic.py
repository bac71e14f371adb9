"""Arithmetic, comparison, bitwise and logical operators over tensors and Python numbers.

Each function has numpy's meaning where ONNX can give it without changing the element type; where
numpy would change the type, ONNX's operator is used in every mode and a located warning says so.
"""

from __future__ import annotations

import math
import operator as python_operator
from collections.abc import Callable, Sequence
from typing import Any

from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.comparison import COMPARISONS, compare
from onnxwright.semantics.element_operators import BINARY, UNARY, fail_undefined
from onnxwright.semantics.literals import (
    as_value,
    cast,
    dtype_of,
    emit1,
    int_constant,
    rank_of,
)
from onnxwright.semantics.operands import (
    KINDS,
    WEAK_DTYPE,
    is_bool,
    pair,
    truth,
    weak_kinds,
    weak_operand,
)
from onnxwright.types.dtypes import DType


def binary(b: Backend[V], name: str, x: object, y: object) -> V:
    """The Python operator `name` (as in the module `operator`) on two operands.

    At least one operand is a value of the backend.  A weak result comes from weak operands only.
    """
    kinds = weak_kinds(b, x, y)
    if kinds is not None:
        return _weak_binary(b, name, x, y, *kinds)
    if name in COMPARISONS:
        return compare(b, name, x, y)
    left, right = pair(b, name, x, y)
    if name in _OF_NUMBERS:
        for side in (left, right):
            if dtype_of(b, side) is DType.STRING:
                fail_undefined(b, _OF_NUMBERS[name], side)
    return BINARY[name](b, left, right)


_OF_NUMBERS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
               "pow": "**", "matmul": "@"}  # fmt: skip
"""Operators that text does not have in ONNX, with how they are written."""


def unary(b: Backend[V], name: str, x: V) -> V:
    """The Python operator `neg`, `pos`, `invert`, `abs` or `not_` on a value."""
    kind = b.weak_kind(x)
    if name == "not_":
        return b.as_weak(emit1(b, "Not", (truth(b, x),)), "bool" if kind else None)
    if kind is not None:
        value = b.as_weak(x, None)
        if kind == "bool":
            value, kind = cast(b, value, DType.INT64), "int"
        return b.as_weak(UNARY[name](b, value), kind)
    return UNARY[name](b, x)


def _weak_binary(b: Backend[V], name: str, x: object, y: object, kx: str, ky: str) -> V:
    """Python's own arithmetic, on numbers that are known only when the model runs."""
    kind = max(kx, ky, key=KINDS.index)
    if name in ("and_", "or_", "xor") and kind == "bool":
        pass
    elif kind == "bool" and name not in COMPARISONS:
        kind = "int"
    if name == "truediv":
        kind = "float"
    if name == "pow" and kind == "int" and isinstance(y, int) and y < 0:
        kind = "float"
    target = WEAK_DTYPE[kind]
    if name in COMPARISONS and kind == "bool" and name not in ("eq", "ne"):
        target = DType.INT64
    left, right = (weak_operand(b, side, target) for side in (x, y))
    if name in COMPARISONS:
        return b.as_weak(COMPARISONS[name](b, left, right), "bool")
    return b.as_weak(BINARY[name](b, left, right), kind)


def static_operator(name: str) -> Callable[..., Any]:
    """Python's own operator, for operands that are both known now."""
    return getattr(python_operator, {"truediv": "truediv"}.get(name, name))  # type: ignore[no-any-return]


def logical(b: Backend[V], name: str, x: V, y: V) -> V:
    """`and` / `or` of two values without short circuit: And/Or on BOOL, else Python's choice."""
    weak = None
    kinds = weak_kinds(b, x, y)
    if kinds is not None:
        weak = max(*kinds, key=KINDS.index)
    elif is_value(x) and is_value(y) and is_bool(b, x) and is_bool(b, y):
        weak = None
    if kinds is not None:
        target = WEAK_DTYPE[weak or "bool"]
        left, right = (weak_operand(b, side, target) for side in (x, y))
    else:
        left, right = pair(b, "eq", x, y)
    if is_bool(b, left):
        return b.as_weak(emit1(b, "And" if name == "and" else "Or", (left, right)), weak)
    test = truth(b, left)
    chosen = (test, right, left) if name == "and" else (test, left, right)
    return b.as_weak(emit1(b, "Where", chosen), weak)


# -- Python's numeric built-ins --------------------------------------------------------------------


def minimum_maximum(b: Backend[V], name: str, items: Sequence[V]) -> V:
    """`min(...)` / `max(...)` of several operands, elementwise (ONNX Min and Max)."""
    total = items[0]
    for item in items[1:]:
        kinds = weak_kinds(b, total, item)
        if kinds is not None:
            kind = max(*kinds, key=KINDS.index)
            kind = "int" if kind == "bool" else kind
            left, right = (weak_operand(b, s, WEAK_DTYPE[kind]) for s in (total, item))
            total = b.as_weak(emit1(b, name, (left, right)), kind)
        else:
            left, right = pair(b, "lt", total, item)
            total = emit1(b, name, (left, right))
    return total


def reduce_all(b: Backend[V], name: str, x: V) -> V:
    """`sum(x)`, `min(x)`, `max(x)` over the first axis of a tensor, as Python iterates it."""
    strong = as_value(b, x)
    since = 13 if name == "ReduceSum" else 18
    if b.opset.version < since:
        return emit1(b, name, (strong,), axes=[0], keepdims=0)
    return emit1(b, name, (strong, int_constant(b, [0])), keepdims=0)


def to_python_number(b: Backend[V], kind: str, x: V) -> V:
    """`int(x)`, `float(x)`, `bool(x)` of a tensor with one element: a number again (weak)."""
    value = b.as_weak(x, None)
    if kind == "bool":
        result = truth(b, value)
    else:
        result = cast(b, value, DType.INT64 if kind == "int" else DType.DOUBLE)
    if rank_of(b, result) != 0:
        result = emit1(b, "Reshape", (result, int_constant(b, [])))
    return b.as_weak(result, kind)


def round_half_even(b: Backend[V], x: V, digits: int | None = None) -> V:
    """`round(x)`: to the nearest, ties to even; an integer stays itself."""
    dtype = dtype_of(b, x)
    kind = b.weak_kind(x)
    value = b.as_weak(x, None)
    if dtype is not None and dtype.is_integer:
        return x
    if digits:
        scale = math.pow(10.0, digits)
        scaled = binary(b, "mul", value, scale)
        return b.as_weak(binary(b, "truediv", emit1(b, "Round", (scaled,)), scale), kind)
    rounded = emit1(b, "Round", (value,), "`round`")
    if kind == "float" and digits is None:
        return b.as_weak(cast(b, rounded, DType.INT64), "int")
    return b.as_weak(rounded, kind)
