"""numpy's functions of each element, in the element types that numpy computes them in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.semantics import arithmetic
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import as_value, cast, dtype_of, emit1
from onnxwright.semantics.numpy_functions.arguments import number, operand, operands, static
from onnxwright.semantics.operands import SYMBOLS, truth
from onnxwright.types.dtypes import DType

# Operators that leave integers as they are.
_KEEP_INTEGERS = ("Floor", "Ceil", "Round")


def _in_dtype_of(b: Backend[V], ufunc: np.ufunc, x: V) -> V:
    """`x` in the type that numpy computes a function of one argument in: floats for integers."""
    dtype = dtype_of(b, x)
    if dtype is None or dtype.is_float or dtype.is_complex:
        return x
    return cast(b, x, DType.from_numpy(ufunc.resolve_dtypes((dtype.numpy, None))[0]))


def _by_operator(ufunc: np.ufunc, op: str) -> Callable[..., V]:
    """A function that is one operator of ONNX."""

    def apply(b: Backend[V], x: object) -> V:
        value = _in_dtype_of(b, ufunc, operand(b, x))
        dtype = dtype_of(b, value)
        if dtype is not None and not dtype.is_float and op in _KEEP_INTEGERS:
            return value
        return emit1(b, op, (value,), f"`np.{ufunc.__name__}`")

    apply.__doc__ = f"ONNX {op}, of integers as floats where numpy computes floats."
    return apply


def _by_formula(ufunc: np.ufunc, formula: Callable[[Backend[Any], Any], Any]) -> Callable[..., V]:
    """A function that is composed of several operators."""

    def apply(b: Backend[V], x: object) -> V:
        value = _in_dtype_of(b, ufunc, operand(b, x))
        value_of_formula: V = formula(b, value)
        return value_of_formula

    apply.__doc__ = "A formula of a few operators, in the types numpy computes in."
    return apply


def _op(b: Backend[V], name: str, x: V, y: object) -> V:
    other: V = y if is_value(y) else as_value(b, y, like=x)
    return emit1(b, name, (x, other))


def _log1p(b: Backend[V], x: V) -> V:
    """log(1 + x), exact to the last digits near zero: the rounding of 1 + x is divided out."""
    u = _op(b, "Add", x, 1.0)
    exact = _op(b, "Div", _op(b, "Mul", emit1(b, "Log", (u,)), x), _op(b, "Sub", u, 1.0))
    near = _op(b, "Less", emit1(b, "Abs", (x,)), 1.0)
    same = _op(b, "Equal", u, 1.0)
    return emit1(b, "Where", (same, x, emit1(b, "Where", (near, exact, emit1(b, "Log", (u,))))))


def _expm1(b: Backend[V], x: V) -> V:
    """exp(x) - 1, exact to the last digits near zero, by the same means."""
    u = emit1(b, "Exp", (x,))
    less = _op(b, "Sub", u, 1.0)
    exact = _op(b, "Div", _op(b, "Mul", less, x), emit1(b, "Log", (u,)))
    near = _op(b, "Less", emit1(b, "Abs", (x,)), 1.0)
    same = _op(b, "Equal", u, 1.0)
    return emit1(b, "Where", (same, x, emit1(b, "Where", (near, exact, less))))


def _trunc(b: Backend[V], x: V) -> V:
    dtype = dtype_of(b, x)
    if dtype is not None and not dtype.is_float:
        return x
    negative = _op(b, "Less", x, 0.0)
    return emit1(b, "Where", (negative, emit1(b, "Ceil", (x,)), emit1(b, "Floor", (x,))))


def _cbrt(b: Backend[V], x: V) -> V:
    root = _op(b, "Pow", emit1(b, "Abs", (x,)), 1.0 / 3.0)
    return emit1(b, "Mul", (emit1(b, "Sign", (x,)), root))


def _scaled(factor: float) -> Callable[[Backend[Any], Any], Any]:
    return lambda b, x: _op(b, "Mul", x, factor)


def _log_of(base: float) -> Callable[[Backend[Any], Any], Any]:
    return lambda b, x: _op(b, "Div", emit1(b, "Log", (x,)), math.log(base))


def _square(b: Backend[V], x: V) -> V:
    return emit1(b, "Mul", (x, x))


def _reciprocal(b: Backend[V], x: V) -> V:
    if (dtype := dtype_of(b, x)) is not None and dtype.is_integer:
        return emit1(b, "Div", (number(b, x, 1), x))
    return emit1(b, "Reciprocal", (x,))


def isnan(b: Backend[V], x: object) -> V:
    """Where elements are NaN; integers never are."""
    value = operand(b, x)
    dtype = dtype_of(b, value)
    if dtype is None or dtype.is_float:
        return emit1(b, "IsNaN", (value,))
    return emit1(b, "Not", (emit1(b, "Equal", (value, value)),))


def _magnitude(b: Backend[V], x: object) -> V:
    value = operand(b, x)
    dtype = dtype_of(b, value)
    if dtype is not None and not dtype.is_float:
        value = cast(b, value, DType.FLOAT)
    return emit1(b, "Abs", (value,))


def isinf(b: Backend[V], x: object) -> V:
    """Where elements are infinite."""
    return _op(b, "Equal", _magnitude(b, x), math.inf)


def isfinite(b: Backend[V], x: object) -> V:
    """Where elements are neither infinite nor NaN."""
    return _op(b, "Less", _magnitude(b, x), math.inf)


def sign(b: Backend[V], x: object) -> V:
    """-1, 0 or 1; NaN stays."""
    return emit1(b, "Sign", (operand(b, x),))


# -- two operands ----------------------------------------------------------------------------------


def _python(name: str) -> Callable[..., V]:
    """What an operator of Python means."""

    def apply(b: Backend[V], x: object, y: object) -> V:
        if not (is_value(x) or is_value(y)):
            x = operand(b, x)
        return arithmetic.binary(b, name, x, y)

    apply.__doc__ = f"The operator `{SYMBOLS[name]}`."
    return apply


def _python_unary(name: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object) -> V:
        return arithmetic.unary(b, name, operand(b, x))

    apply.__doc__ = f"The operator `{SYMBOLS[name]}`."
    return apply


def _greater_or_less(function: str, op: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, y: object) -> V:
        left, right = operands(b, f"np.{function}", (x, y))
        if dtype_of(b, left) is DType.BOOL:
            return emit1(b, "Or" if op == "Max" else "And", (left, right))
        if dtype_of(b, left) in (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16):
            dtype = dtype_of(b, left) or DType.INT32
            wide = [cast(b, v, DType.INT32) for v in (left, right)]
            return cast(b, emit1(b, op, wide), dtype)
        return emit1(b, op, (left, right))

    apply.__doc__ = f"ONNX {op}; NaN where one is NaN."
    return apply


maximum = _greater_or_less("maximum", "Max")
minimum = _greater_or_less("minimum", "Min")


def _skipping_nan(both: Callable[..., V]) -> Callable[..., V]:
    """`fmax` and `fmin`: a number before NaN."""

    def apply(b: Backend[V], x: object, y: object) -> V:
        left, right = operands(b, "np.fmax", (x, y))
        both_sides = both(b, left, right)
        if (dtype := dtype_of(b, left)) is not None and not dtype.is_float:
            return both_sides
        rest = emit1(b, "Where", (emit1(b, "IsNaN", (right,)), left, both_sides))
        return emit1(b, "Where", (emit1(b, "IsNaN", (left,)), right, rest))

    apply.__doc__ = "As `maximum` and `minimum`, a number before NaN."
    return apply


def _logical(op: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, y: object) -> V:
        sides = [truth(b, operand(b, side)) for side in (x, y)]
        return emit1(b, op, sides)

    apply.__doc__ = f"ONNX {op} of what is not zero."
    return apply


def logical_not(b: Backend[V], x: object) -> V:
    """Whether each element is zero."""
    return emit1(b, "Not", (truth(b, operand(b, x)),))


def fmod(b: Backend[V], x: object, y: object) -> V:
    """The remainder with the sign of the dividend, as in C."""
    values = operands(b, "np.fmod", (x, y))
    return emit1(b, "Mod", values, "`np.fmod`", fmod=1)


def divmod_(b: Backend[V], x: object, y: object) -> tuple[V, V]:
    """The quotient, rounded down, and the remainder."""
    return BINARY[np.floor_divide](b, x, y), BINARY[np.remainder](b, x, y)


def clip(
    b: Backend[V], x: object, a_min: object = None, a_max: object = None, *,
    min: object = None, max: object = None,  # noqa: A002 - numpy's names
) -> V:  # fmt: skip
    """Within bounds; where they cross, the upper one."""
    value = operand(b, x)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        value = maximum(b, value, low)
    return value if high is None else minimum(b, value, high)


def round_(b: Backend[V], x: object, decimals: object = 0) -> V:
    """Rounded to the nearest number with this many decimals, ties to even."""
    value = operand(b, x)
    digits = static(b, "`decimals` of `round`", decimals)
    dtype = dtype_of(b, value)
    if dtype is not None and dtype.is_integer and digits < 0:
        wide = cast(b, value, DType.DOUBLE)
        return cast(b, _rounded(b, wide, digits), dtype)
    if dtype is DType.BOOL:
        return cast(b, value, DType.FLOAT16)
    if dtype is not None and not dtype.is_float:
        return value
    return _rounded(b, value, digits)


def _rounded(b: Backend[V], x: V, digits: int) -> V:
    if not digits:
        return emit1(b, "Round", (x,), "`round`")
    there, back = ("Mul", "Div") if digits > 0 else ("Div", "Mul")
    scale = 10.0 ** abs(digits)
    return _op(b, back, emit1(b, "Round", (_op(b, there, x, scale),), "`round`"), scale)


_OPERATORS = {
    np.sqrt: "Sqrt", np.exp: "Exp", np.log: "Log", np.sin: "Sin", np.cos: "Cos", np.tan: "Tan",
    np.arcsin: "Asin", np.arccos: "Acos", np.arctan: "Atan", np.sinh: "Sinh", np.cosh: "Cosh",
    np.tanh: "Tanh", np.arcsinh: "Asinh", np.arccosh: "Acosh", np.arctanh: "Atanh",
    np.floor: "Floor", np.ceil: "Ceil", np.rint: "Round",
}  # fmt: skip
_FORMULAS: dict[np.ufunc, Callable[[Backend[Any], Any], Any]] = {
    np.log1p: _log1p, np.expm1: _expm1, np.trunc: _trunc, np.cbrt: _cbrt, np.square: _square,
    np.log2: _log_of(2), np.log10: _log_of(10), np.reciprocal: _reciprocal,
    np.exp2: lambda b, x: emit1(b, "Pow", (number(b, x, 2.0), x)),
    np.deg2rad: _scaled(math.pi / 180), np.radians: _scaled(math.pi / 180),
    np.rad2deg: _scaled(180 / math.pi), np.degrees: _scaled(180 / math.pi),
}  # fmt: skip
UNARY: dict[np.ufunc, Callable[..., Any]] = {
    **{ufunc: _by_operator(ufunc, op) for ufunc, op in _OPERATORS.items()},
    **{ufunc: _by_formula(ufunc, formula) for ufunc, formula in _FORMULAS.items()},
    np.isnan: isnan, np.isinf: isinf, np.isfinite: isfinite, np.sign: sign,
    np.logical_not: logical_not, np.absolute: _python_unary("abs"),
    np.fabs: _by_formula(np.fabs, lambda b, x: emit1(b, "Abs", (x,))),
    np.negative: _python_unary("neg"), np.positive: _python_unary("pos"),
    np.invert: _python_unary("invert"),
}  # fmt: skip
BINARY: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _python("add"), np.subtract: _python("sub"), np.multiply: _python("mul"),
    np.divide: _python("truediv"), np.floor_divide: _python("floordiv"),
    np.remainder: _python("mod"), np.power: _python("pow"), np.matmul: _python("matmul"),
    np.bitwise_and: _python("and_"), np.bitwise_or: _python("or_"), np.bitwise_xor: _python("xor"),
    np.left_shift: _python("lshift"), np.right_shift: _python("rshift"),
    np.less: _python("lt"), np.less_equal: _python("le"), np.greater: _python("gt"),
    np.greater_equal: _python("ge"), np.equal: _python("eq"), np.not_equal: _python("ne"),
    np.logical_and: _logical("And"), np.logical_or: _logical("Or"),
    np.logical_xor: _logical("Xor"), np.maximum: maximum, np.minimum: minimum,
    np.fmax: _skipping_nan(maximum), np.fmin: _skipping_nan(minimum), np.fmod: fmod,
    np.divmod: divmod_,
}  # fmt: skip
