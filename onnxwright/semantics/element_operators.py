"""What `+`, `//`, `<<`, `~` and the others mean on values of one element type."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.operators import facts
from onnxwright.semantics.backend import Backend, V
from onnxwright.semantics.literals import (
    cast,
    dtype_of,
    emit1,
)
from onnxwright.semantics.operands import Binary, Unary
from onnxwright.types.dtypes import DType

# -- two operands ----------------------------------------------------------------------------------


def _simple(name: str) -> Binary:
    def apply(b: Backend[V], x: V, y: V) -> V:
        if dtype_of(b, x) is DType.BOOL:
            fail_undefined(b, facts(name).symbol, x)
        return emit1(b, name, (x, y))

    return apply


def fail_undefined(b: Backend[V], symbol: str, x: V) -> NoReturn:
    """Refuse an operator on the element type of a value.

    Raises:
        ScriptTypeError: always (OW409).
    """
    dtype = dtype_of(b, x)
    fail(
        messages.OperatorNotDefined(
            operation=symbol,
            types=f"{dtype.name if dtype else 'unknown'} tensors",
            reason="ONNX has no such operation on this type",
            advice="use `&`, `|`, `^`, `~` on BOOL tensors, or cast to a number type first"
            if dtype is DType.BOOL
            else "`op.StringConcat` joins texts (opset 20)"
            if dtype is DType.STRING and symbol == "+"
            else "cast to another type first",
            span=b.here(),
        )
    )


def _truediv(b: Backend[V], x: V, y: V) -> V:
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        fail_undefined(b, "/", x)
    if dtype is not None and dtype.is_integer:
        warn(messages.IntegerDivision(dtype=dtype.name, span=b.here()), stacklevel=4)
    return emit1(b, "Div", (x, y))


def _floordiv(b: Backend[V], x: V, y: V) -> V:
    """Floor division as numpy does it: exact for integers, by way of the remainder for floats."""
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        fail_undefined(b, "//", x)
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
    divisor = b.constant_value(y)
    if divisor is not None and np.all(divisor != 0):
        return exact
    by_zero = emit1(b, "Equal", (y, zero))
    return emit1(b, "Where", (by_zero, emit1(b, "Floor", (emit1(b, "Div", (x, y)),)), exact))


def _signs_differ(b: Backend[V], x: V, y: V, rest: V, zero: V) -> V:
    """Where x and y have different signs and the remainder is not zero."""
    inexact = emit1(b, "Not", (emit1(b, "Equal", (rest, zero)),))
    divisor = b.constant_value(y)
    negative = emit1(b, "Less", (x, zero))
    if divisor is None or np.any(divisor < 0):
        negative = emit1(b, "Xor", (negative, emit1(b, "Less", (y, zero))))
    return emit1(b, "And", (inexact, negative))


def _mod(b: Backend[V], x: V, y: V) -> V:
    """The remainder with the sign of the divisor, as in Python and numpy."""
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        fail_undefined(b, "%", x)
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


def _pow(b: Backend[V], x: V, y: V) -> V:
    dtype = dtype_of(b, x)
    if dtype is DType.BOOL:
        fail_undefined(b, "**", x)
    exponent = b.constant_value(y)
    if dtype is not None and dtype.is_integer:
        if exponent is not None and np.any(exponent < 0):
            warn(
                messages.NegativePower(dtype=dtype.name, exponent=str(exponent), span=b.here()),
                stacklevel=4,
            )
        if (
            exponent is not None
            and exponent.size == 1
            and int(exponent.reshape(())) in (1, 2, 3, 4)
        ):
            # Products are exact and wrap around as numpy's; runtimes take Pow by way of doubles.
            product = x
            for _ in range(int(exponent.reshape(())) - 1):
                product = emit1(b, "Mul", (product, x))
            return product if exponent.ndim == 0 else emit1(b, "Pow", (x, y))
        if dtype not in (DType.INT32, DType.INT64):
            wide = DType.INT64
            power = emit1(b, "Pow", (cast(b, x, wide), cast(b, y, wide)))
            return cast(b, power, dtype)
    return emit1(b, "Pow", (x, y))


def _bitwise(bool_name: str, int_name: str, symbol: str) -> Binary:
    def apply(b: Backend[V], x: V, y: V) -> V:
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


def _shift(direction: str) -> Binary:
    def apply(b: Backend[V], x: V, y: V) -> V:
        dtype = dtype_of(b, x)
        symbol = "<<" if direction == "LEFT" else ">>"
        if dtype is None:
            fail(messages.UnknownElementType(operation=symbol, span=b.here()))
        if not dtype.is_integer:
            fail_undefined(b, symbol, x)
        if dtype is DType.UINT16:  # ONNX Runtime has no kernel for it
            wide = emit1(
                b, "BitShift", tuple(cast(b, v, DType.UINT32) for v in (x, y)), symbol,
                direction=direction,
            )  # fmt: skip
            return cast(b, wide, dtype)
        if dtype.is_unsigned:
            return emit1(b, "BitShift", (x, y), symbol, direction=direction)
        # BitShift takes unsigned types only: shift as a product or a floor division.
        distance = b.constant_value(y)
        if distance is not None and np.all((distance >= 0) & (distance < dtype.bits - 1)):
            factor = b.constant((np.ones_like(distance) << distance).astype(dtype.numpy))
        else:
            factor = _pow(b, b.constant(np.array(2, dtype.numpy)), y)
        return emit1(b, "Mul", (x, factor)) if direction == "LEFT" else _floordiv(b, x, factor)

    return apply


BINARY: dict[str, Binary] = {
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


# -- one operand -----------------------------------------------------------------------------------


def _neg(b: Backend[V], x: V) -> V:
    dtype = dtype_of(b, x)
    if dtype is not None and (dtype is DType.BOOL or dtype.is_unsigned):
        if dtype is DType.BOOL:
            fail_undefined(b, "-", x)
        # numpy wraps around: -x == 0 - x
        return emit1(b, "Sub", (b.constant(np.zeros((), dtype.numpy)), x))
    return emit1(b, "Neg", (x,))


def _invert(b: Backend[V], x: V) -> V:
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


def _abs(b: Backend[V], x: V) -> V:
    return x if dtype_of(b, x) is DType.BOOL else emit1(b, "Abs", (x,))


def _pos(_: Backend[V], x: V) -> V:
    return x


UNARY: dict[str, Unary] = {
    "neg": _neg,
    "pos": _pos,
    "invert": _invert,
    "abs": _abs,
}
