"""Arithmetic, comparison, bitwise and logical operators over tensors and Python numbers.

Each function has numpy's meaning where ONNX can give it without changing the element type; where
numpy would change the type, ONNX's operator is used in every mode and a located warning says so.
"""

from __future__ import annotations

import math
import operator as python_operator
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.operators import facts
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import (
    array_of,
    as_value,
    cast,
    dtype_of,
    emit1,
    int_constant,
    is_number_like,
    kind_of,
    own_array,
    plain_kind,
    rank_of,
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

_KINDS = ("bool", "int", "float")
_WEAK_DTYPE = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.DOUBLE}


def binary(b: Backend[Any], name: str, x: object, y: object) -> Any:
    """The Python operator `name` (as in the module `operator`) on two operands.

    At least one operand is a value of the backend.  A weak result comes from weak operands only.
    """
    kinds = _weak_kinds(b, x, y)
    if kinds is not None:
        return _weak_binary(b, name, x, y, *kinds)
    if name in _COMPARISONS:
        return _compare(b, name, x, y)
    left, right = _pair(b, name, x, y)
    return _BINARY[name](b, left, right)


def unary(b: Backend[Any], name: str, x: Any) -> Any:
    """The Python operator `neg`, `pos`, `invert`, `abs` or `not_` on a value."""
    kind = b.weak_kind(x)
    if name == "not_":
        return b.as_weak(emit1(b, "Not", (truth(b, x),)), "bool" if kind else None)
    if kind is not None:
        value = b.as_weak(x, None)
        if kind == "bool":
            value, kind = cast(b, value, DType.INT64), "int"
        return b.as_weak(_UNARY[name](b, value), kind)
    return _UNARY[name](b, x)


def truth(b: Backend[Any], x: Any) -> Any:
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


def _weak_kinds(b: Backend[Any], x: object, y: object) -> tuple[str, str] | None:
    """The Python kinds of both operands if neither is a tensor of its own type."""
    found = []
    for side in (x, y):
        kind = b.weak_kind(side) if is_value(side) else kind_of(side)
        if kind is None and hasattr(type(side), "__ow_weak_kind__"):
            kind = side.__ow_weak_kind__  # type: ignore[attr-defined]
        if kind not in _KINDS:
            return None
        found.append(kind)
    return found[0], found[1]


def _weak_binary(b: Backend[V], name: str, x: object, y: object, kx: str, ky: str) -> V:
    """Python's own arithmetic, on numbers that are known only when the model runs."""
    kind = max(kx, ky, key=_KINDS.index)
    if name in ("and_", "or_", "xor") and kind == "bool":
        pass
    elif kind == "bool" and name not in _COMPARISONS:
        kind = "int"
    if name == "truediv":
        kind = "float"
    if name == "pow" and kind == "int" and isinstance(y, int) and y < 0:
        kind = "float"
    target = _WEAK_DTYPE[kind]
    if name in _COMPARISONS and kind == "bool" and name not in ("eq", "ne"):
        target = DType.INT64
    left, right = (_weak_operand(b, side, target) for side in (x, y))
    if name in _COMPARISONS:
        return b.as_weak(_COMPARISONS[name](b, left, right), "bool")
    return b.as_weak(_BINARY[name](b, left, right), kind)


def _weak_operand(b: Backend[Any], x: object, target: DType) -> Any:
    if is_value(x):
        return cast(b, b.as_weak(x, None), target)
    if kind_of(x) is not None:
        return b.constant(array_of(b, x, target))
    return cast(b, b.as_weak(as_value(b, x, dtype=target), None), target)


# -- operands ------------------------------------------------------------------------------------


def _pair(b: Backend[V], name: str, x: object, y: object) -> tuple[V, V]:
    """Both operands as values of one element type: a number takes the type of the tensor."""
    strong_x, strong_y = _is_strong(b, x), _is_strong(b, y)
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
                    operation=SYMBOLS[name], left=_show(sx), right=_show(sy), span=b.here()
                )
            )
    return left, right


def _show(shape: tuple[int | str | None, ...]) -> str:
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def _is_strong(b: Backend[Any], x: object) -> bool:
    if is_value(x):
        return b.weak_kind(x) is None
    if own_array(x) is not None:
        return True
    if isinstance(x, (list, tuple)) and not is_number_like(x):
        return any(_is_strong(b, item) for item in x)
    return False


# -- comparison ----------------------------------------------------------------------------------


def _compare(b: Backend[Any], name: str, x: object, y: object) -> Any:
    """Compare; an integer tensor beside a Python fraction is compared as DOUBLE, as numpy does."""
    for tensor, other in ((x, y), (y, x)):
        if is_value(tensor) and _is_fraction(b, other):
            dtype = dtype_of(b, tensor)
            if dtype is not None and dtype.is_integer:
                wide = cast(b, b.as_weak(tensor, None), DType.DOUBLE)
                x, y = (wide if s is tensor else s for s in (x, y))
                break
    left, right = _pair(b, name, x, y)
    return _COMPARISONS[name](b, left, right)


def _is_fraction(b: Backend[Any], x: object) -> bool:
    if is_value(x):
        return b.weak_kind(x) == "float"
    if type(x) is float:
        return not x.is_integer()
    if is_number_like(x) and plain_kind(x) == "float":
        numbers = np.asarray(x, dtype=np.float64)
        return not bool(np.all(np.isfinite(numbers) & (numbers == np.trunc(numbers))))
    return False


def _eq(b: Backend[Any], x: Any, y: Any) -> Any:
    if dtype_of(b, x) is DType.STRING and b.opset.version < 19:
        return _equal_text(b, x, y)
    return emit1(b, "Equal", (x, y))


def _ne(b: Backend[Any], x: Any, y: Any) -> Any:
    return emit1(b, "Not", (_eq(b, x, y),))


def _equal_text(b: Backend[Any], x: Any, y: Any) -> Any:
    """Equality with one known text before Equal took strings (version 19): a LabelEncoder."""
    for tensor, other in ((x, y), (y, x)):
        known = b.constant_value(other)
        if known is not None and known.size == 1:
            text = str(known.reshape(()).item())
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


def _ordered(
    name: str, swapped_negation: str | None = None
) -> Callable[[Backend[Any], Any, Any], Any]:
    def compare(b: Backend[Any], x: Any, y: Any) -> Any:
        dtype = dtype_of(b, x)
        if dtype is DType.BOOL:
            x, y = cast(b, x, DType.INT32), cast(b, y, DType.INT32)
        if swapped_negation is not None and b.opset.version < 12:
            less_or_equal = emit1(b, swapped_negation, (x, y))
            return emit1(b, "Or", (less_or_equal, emit1(b, "Equal", (x, y))))
        return emit1(b, name, (x, y))

    return compare


_COMPARISONS: dict[str, Callable[[Backend[Any], Any, Any], Any]] = {
    "eq": _eq,
    "ne": _ne,
    "lt": _ordered("Less"),
    "le": _ordered("LessOrEqual", "Less"),
    "gt": _ordered("Greater"),
    "ge": _ordered("GreaterOrEqual", "Greater"),
}


# -- arithmetic on two values of one type ----------------------------------------------------------


def _simple(name: str) -> Callable[[Backend[Any], Any, Any], Any]:
    def apply(b: Backend[Any], x: Any, y: Any) -> Any:
        if dtype_of(b, x) is DType.BOOL:
            _refuse(b, facts(name).symbol, x)
        return emit1(b, name, (x, y))

    return apply


def _refuse(b: Backend[Any], symbol: str, x: Any) -> None:
    dtype = dtype_of(b, x)
    fail(
        messages.OperatorNotDefined(
            operation=symbol,
            types=f"{dtype.name if dtype else 'unknown'} tensors",
            reason="ONNX has no such operation on this type",
            advice="use `&`, `|`, `^`, `~` on BOOL tensors, or cast to a number type first"
            if dtype is DType.BOOL
            else "cast to another type first",
            span=b.here(),
        )
    )


def _truediv(b: Backend[Any], x: Any, y: Any) -> Any:
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        _refuse(b, "/", x)
    if dtype is not None and dtype.is_integer:
        warn(messages.IntegerDivision(dtype=dtype.name, span=b.here()), stacklevel=4)
    return emit1(b, "Div", (x, y))


def _floordiv(b: Backend[Any], x: Any, y: Any) -> Any:
    """Floor division as numpy does it: exact for integers, by way of the remainder for floats."""
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        _refuse(b, "//", x)
    if dtype is None:
        return emit1(b, "Div", (emit1(b, "Sub", (x, _mod(b, x, y))), y))
    if dtype.is_unsigned:
        return emit1(b, "Div", (x, y))
    zero = b.constant(np.zeros((), dtype.numpy))
    if dtype.is_integer:
        # ONNX's Div truncates: one less where there is a remainder and the signs differ.
        quotient, rest = emit1(b, "Div", (x, y)), emit1(b, "Mod", (x, y), "`//`")
        less = _signs_differ(b, x, y, rest, zero)
        return emit1(b, "Sub", (quotient, cast(b, less, dtype)))
    # numpy computes (x - fmod(x, y)) / y, rounded: the plain quotient may round up to an integer.
    rest = emit1(b, "Mod", (x, y), "`//`", fmod=1)
    whole = emit1(b, "Div", (emit1(b, "Sub", (x, rest)), y))
    less = _signs_differ(b, rest, y, rest, zero)
    if b.opset.version < 11:
        return emit1(b, "Floor", (emit1(b, "Sub", (whole, cast(b, less, dtype))),))
    exact = emit1(b, "Round", (emit1(b, "Sub", (whole, cast(b, less, dtype))),))
    known = b.constant_value(y)
    if known is not None and np.all(known != 0):
        return exact
    by_zero = emit1(b, "Equal", (y, zero))
    return emit1(b, "Where", (by_zero, emit1(b, "Floor", (emit1(b, "Div", (x, y)),)), exact))


def _signs_differ(b: Backend[Any], x: Any, y: Any, rest: Any, zero: Any) -> Any:
    """Where x and y have different signs and the remainder is not zero."""
    inexact = emit1(b, "Not", (emit1(b, "Equal", (rest, zero)),))
    known = b.constant_value(y)
    negative = emit1(b, "Less", (x, zero))
    if known is None or np.any(known < 0):
        negative = emit1(b, "Xor", (negative, emit1(b, "Less", (y, zero))))
    return emit1(b, "And", (inexact, negative))


def _mod(b: Backend[Any], x: Any, y: Any) -> Any:
    """The remainder with the sign of the divisor, as in Python and numpy."""
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        _refuse(b, "%", x)
    if dtype is not None and dtype.is_integer:
        return emit1(b, "Mod", (x, y), "`%`")
    # C's fmod has the sign of the dividend; add the divisor where the signs differ.
    rest = emit1(b, "Mod", (x, y), "`%`", fmod=1)
    if dtype is None:
        zero = emit1(b, "CastLike", (b.constant(np.zeros((), np.float32)), x))
    else:
        zero = b.constant(np.zeros((), dtype.numpy))
    other = _signs_differ(b, rest, y, rest, zero)
    return emit1(b, "Where", (other, emit1(b, "Add", (rest, y)), rest))


def _pow(b: Backend[Any], x: Any, y: Any) -> Any:
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        _refuse(b, "**", x)
    known = b.constant_value(y)
    if dtype is not None and dtype.is_integer:
        if known is not None and np.any(known < 0):
            warn(
                messages.NegativePower(dtype=dtype.name, exponent=str(known), span=b.here()),
                stacklevel=4,
            )
        if known is not None and known.size == 1 and int(known.reshape(())) in (1, 2, 3, 4):
            # Products are exact and wrap around as numpy's; runtimes take Pow by way of doubles.
            product = x
            for _ in range(int(known.reshape(())) - 1):
                product = emit1(b, "Mul", (product, x))
            return product if known.ndim == 0 else emit1(b, "Pow", (x, y))
        if dtype not in (DType.INT32, DType.INT64):
            wide = DType.INT64
            power = emit1(b, "Pow", (cast(b, x, wide), cast(b, y, wide)))
            return cast(b, power, dtype)
    return emit1(b, "Pow", (x, y))


def _bitwise(bool_name: str, int_name: str, symbol: str) -> Callable[[Backend[Any], Any, Any], Any]:
    def apply(b: Backend[Any], x: Any, y: Any) -> Any:
        dtype = dtype_of(b, x) or dtype_of(b, y)
        if dtype is DType.BOOL or dtype is None:
            return emit1(b, bool_name, (x, y))
        if not dtype.is_integer:
            fail(
                messages.OperatorNotDefined(
                    operation=symbol,
                    types=f"{dtype.name} tensors",
                    reason="bitwise operators work on BOOL and integer tensors",
                    advice="compare first (`x > 0`), or cast to an integer type",
                    span=b.here(),
                )
            )
        return emit1(b, int_name, (x, y), f"`{symbol}` on integers")

    return apply


def _shift(direction: str) -> Callable[[Backend[Any], Any, Any], Any]:
    def apply(b: Backend[Any], x: Any, y: Any) -> Any:
        dtype = dtype_of(b, x)
        symbol = "<<" if direction == "LEFT" else ">>"
        if dtype is None:
            fail(messages.UnknownElementType(operation=symbol, span=b.here()))
        if not dtype.is_integer:
            _refuse(b, symbol, x)
        if dtype is DType.UINT16:  # ONNX Runtime has no kernel for it
            wide = emit1(
                b, "BitShift", tuple(cast(b, v, DType.UINT32) for v in (x, y)), symbol,
                direction=direction,
            )  # fmt: skip
            return cast(b, wide, dtype)
        if dtype.is_unsigned:
            return emit1(b, "BitShift", (x, y), symbol, direction=direction)
        # BitShift takes unsigned types only: shift as a product or a floor division.
        known = b.constant_value(y)
        if known is not None and np.all((known >= 0) & (known < dtype.bits - 1)):
            factor = b.constant((np.ones_like(known) << known).astype(dtype.numpy))
        else:
            factor = _pow(b, b.constant(np.array(2, dtype.numpy)), y)
        return emit1(b, "Mul", (x, factor)) if direction == "LEFT" else _floordiv(b, x, factor)

    return apply


_BINARY: dict[str, Callable[[Backend[Any], Any, Any], Any]] = {
    "add": _simple("Add"),
    "sub": _simple("Sub"),
    "mul": _simple("Mul"),
    "truediv": _truediv,
    "floordiv": _floordiv,
    "mod": _mod,
    "pow": _pow,
    "matmul": _simple("MatMul"),
    "and_": _bitwise("And", "BitwiseAnd", "&"),
    "or_": _bitwise("Or", "BitwiseOr", "|"),
    "xor": _bitwise("Xor", "BitwiseXor", "^"),
    "lshift": _shift("LEFT"),
    "rshift": _shift("RIGHT"),
}
BINARY = tuple(_BINARY)


# -- one operand -----------------------------------------------------------------------------------


def _neg(b: Backend[Any], x: Any) -> Any:
    dtype = dtype_of(b, x)
    if dtype is not None and (dtype is DType.BOOL or dtype.is_unsigned):
        if dtype is DType.BOOL:
            _refuse(b, "-", x)
        # numpy wraps around: -x == 0 - x
        return emit1(b, "Sub", (b.constant(np.zeros((), dtype.numpy)), x))
    return emit1(b, "Neg", (x,))


def _invert(b: Backend[Any], x: Any) -> Any:
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL or dtype is None:
        return emit1(b, "Not", (x,))
    if not dtype.is_integer:
        fail(
            messages.OperatorNotDefined(
                operation="~",
                types=f"{dtype.name} tensors",
                reason="`~` works on BOOL and integer tensors",
                advice="compare first (`x > 0`), or cast to an integer type",
                span=b.here(),
            )
        )
    return emit1(b, "BitwiseNot", (x,), "`~` on integers")


def _abs(b: Backend[Any], x: Any) -> Any:
    return x if dtype_of(b, x) is DType.BOOL else emit1(b, "Abs", (x,))


def _pos(_: Backend[Any], x: Any) -> Any:
    return x


_UNARY: dict[str, Callable[[Backend[Any], Any], Any]] = {
    "neg": _neg,
    "pos": _pos,
    "invert": _invert,
    "abs": _abs,
}


def static_operator(name: str) -> Callable[..., Any]:
    """Python's own operator, for operands that are both known now."""
    return getattr(python_operator, {"truediv": "truediv"}.get(name, name))  # type: ignore[no-any-return]


def logical(b: Backend[V], name: str, x: Any, y: Any) -> V:
    """`and` / `or` of two values without short circuit: And/Or on BOOL, else Python's choice."""
    weak = None
    kinds = _weak_kinds(b, x, y)
    if kinds is not None:
        weak = max(*kinds, key=_KINDS.index)
    elif is_value(x) and is_value(y) and _is_bool(b, x) and _is_bool(b, y):
        weak = None
    if kinds is not None:
        target = _WEAK_DTYPE[weak or "bool"]
        left, right = (_weak_operand(b, side, target) for side in (x, y))
    else:
        left, right = _pair(b, "eq", x, y)
    if _is_bool(b, left):
        return b.as_weak(emit1(b, "And" if name == "and" else "Or", (left, right)), weak)
    test = truth(b, left)
    chosen = (test, right, left) if name == "and" else (test, left, right)
    return b.as_weak(emit1(b, "Where", chosen), weak)


def _is_bool(b: Backend[Any], x: Any) -> bool:
    return dtype_of(b, x) is DType.BOOL


# -- Python's numeric built-ins --------------------------------------------------------------------


def minimum_maximum(b: Backend[Any], name: str, items: list[Any]) -> Any:
    """`min(...)` / `max(...)` of several operands, elementwise (ONNX Min and Max)."""
    total = items[0]
    for item in items[1:]:
        kinds = _weak_kinds(b, total, item)
        if kinds is not None:
            kind = max(*kinds, key=_KINDS.index)
            kind = "int" if kind == "bool" else kind
            left, right = (_weak_operand(b, s, _WEAK_DTYPE[kind]) for s in (total, item))
            total = b.as_weak(emit1(b, name, (left, right)), kind)
        else:
            left, right = _pair(b, "lt", total, item)
            total = emit1(b, name, (left, right))
    return total


def reduce_all(b: Backend[Any], name: str, x: Any) -> Any:
    """`sum(x)`, `min(x)`, `max(x)` over the first axis of a tensor, as Python iterates it."""
    strong = as_value(b, x)
    since = 13 if name == "ReduceSum" else 18
    if b.opset.version < since:
        return emit1(b, name, (strong,), axes=[0], keepdims=0)
    return emit1(b, name, (strong, int_constant(b, [0])), keepdims=0)


def to_python_number(b: Backend[V], kind: str, x: Any) -> V:
    """`int(x)`, `float(x)`, `bool(x)` of a tensor with one element: a number again (weak)."""
    value = b.as_weak(x, None)
    if kind == "bool":
        result = truth(b, value)
    else:
        result = cast(b, value, DType.INT64 if kind == "int" else DType.DOUBLE)
    if rank_of(b, result) != 0:
        result = emit1(b, "Reshape", (result, int_constant(b, [])))
    return b.as_weak(result, kind)


def round_half_even(b: Backend[Any], x: Any, digits: int | None = None) -> Any:
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
