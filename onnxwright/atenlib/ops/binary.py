"""Arithmetic of two tensors: sums, products, quotients, powers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.helpers.constants import cast, full_like, number, scalar
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Arguments, Number, Op, Value, is_value
from onnxwright.atenlib.rules import Rule, elementwise, operand_of
from onnxwright.types.dtypes import DType

TWO = elementwise(("self", "other"))
# A sum or product in half floats is rounded once by torch, twice where the factor is apart.
HALF = {"float16": Tol(2e-3, 2e-3), "bfloat16": Tol(2e-2, 2e-2)}


def is_one(x: Value | Number) -> bool:
    """Whether an argument is the Python number one."""
    return not is_value(x) and bool(x == 1)


def factor(op: Op, x: Value | Number, dtype: DType) -> Value | int | float:
    """A number in the type of a tensor: a Python number, or a value of rank 0."""
    return scalar(op, x, dtype) if is_value(x) else number(x, dtype)


def scaled_complex(op: Op, x: Complex, alpha: Number | Value) -> Complex:
    """A complex tensor times a number."""
    if is_one(alpha):
        return x
    if is_value(alpha):
        return complex_math.scale(op, x, scalar(op, alpha, x.real.onnx_dtype))
    return complex_math.times(op, x, alpha)


def scaled(op: Op, x: Value, alpha: Number | Value) -> Value:
    """A tensor times a number."""
    if is_one(alpha):
        return x
    return op.Mul(x, factor(op, alpha, x.onnx_dtype))


@aten(
    "aten::add.Tensor",
    "aten::add.Scalar",
    "prims::add",
    rule=TWO,
    tests=[OpTest("add", tol=HALF), OpTest("__radd__")],
)
def add(op: Op, self: Value, other: Value | Number, alpha: Number = 1) -> Value:
    """`self + alpha * other`; for booleans the logical or."""
    if self.onnx_dtype.is_bool:
        return op.Or(self, op.And(other, bool(alpha)))
    return op.Add(self, scaled(op, _value(op, other, self), alpha))


@add.on_complex
def _add_complex(op: Op, self: Complex, other: Complex, alpha: Number = 1) -> Complex:
    return complex_math.add(op, self, scaled_complex(op, other, alpha))


def _value(op: Op, x: Value | Number, like: Any) -> Value:
    """A value; a Python number becomes one of the type of another."""
    return x if is_value(x) else scalar(op, x, like.onnx_dtype)


@aten(
    "aten::sub.Tensor",
    "aten::sub.Scalar",
    "aten::subtract.Tensor",
    "aten::subtract.Scalar",
    "prims::sub",
    rule=TWO,
    tests=[OpTest("sub", tol=HALF)],
)
def sub(op: Op, self: Value, other: Value | Number, alpha: Number = 1) -> Value:
    """`self - alpha * other`."""
    return op.Sub(self, scaled(op, _value(op, other, self), alpha))


@sub.on_complex
def _sub_complex(op: Op, self: Complex, other: Complex, alpha: Number = 1) -> Complex:
    return complex_math.subtract(op, self, scaled_complex(op, other, alpha))


@aten(
    "aten::rsub.Tensor",
    "aten::rsub.Scalar",
    rule=TWO,
    tests=[OpTest("rsub", tol=HALF), OpTest("__rsub__")],
)
def rsub(op: Op, self: Value, other: Value | Number, alpha: Number = 1) -> Value:
    """`other - alpha * self`."""
    return op.Sub(_value(op, other, self), scaled(op, self, alpha))


@rsub.on_complex
def _rsub_complex(op: Op, self: Complex, other: Complex, alpha: Number = 1) -> Complex:
    return complex_math.subtract(op, other, scaled_complex(op, self, alpha))


@aten(
    "aten::mul.Tensor",
    "aten::mul.Scalar",
    "aten::multiply.Tensor",
    "aten::multiply.Scalar",
    "prims::mul",
    rule=TWO,
    tests=[OpTest("mul"), OpTest("__rmul__")],
    complex=complex_math.multiply,
)
def mul(op: Op, self: Value, other: Value | Number) -> Value:
    """The product; for booleans the logical and."""
    if self.onnx_dtype.is_bool:
        return op.And(self, other)
    return op.Mul(self, other)


@aten(
    "aten::div.Tensor",
    "aten::div.Scalar",
    "aten::divide.Tensor",
    "aten::divide.Scalar",
    "aten::true_divide.Tensor",
    "aten::true_divide.Scalar",
    rule=elementwise(("self", "other"), promote="int_to_float"),
    tests=[OpTest("div:no_rounding_mode"), OpTest("true_divide")],
    complex=complex_math.divide,
)
def div(op: Op, self: Value, other: Value | Number) -> Value:
    """The quotient; of integers as floats."""
    return op.Div(self, other)


@aten("prims::div", rule=TWO, untested="prims: no OpInfo runs it")
def prims_div(op: Op, self: Value, other: Value) -> Value:
    """The quotient; of integers cut towards zero."""
    return op.Div(self, other)


@dataclass(frozen=True)
class _DivisionRule(Rule):
    """Integers stay integers where the quotient is rounded."""

    @property
    def promoted(self) -> tuple[str, ...]:
        """Both."""
        return ("self", "other")

    def prepare(self, op: Op, arguments: Arguments) -> DType | None:
        """Promote by the rounding mode."""
        mode = arguments["rounding_mode"]
        rule = {None: div.rule, "floor": _ROUNDED}.get(mode, TWO)
        return rule.prepare(op, arguments)


_NOT_ROUNDED = XFail(
    "ONNX Runtime runs chains of FLOAT16 operators in FLOAT; a quotient that is not rounded to"
    " FLOAT16 may be cut to another integer",
    dtypes=("float16",),
    modes=("graph",),
    sometimes=True,
)
_ROUNDED = elementwise(("self", "other"), at_least=DType.FLOAT)
# What a division leaves is exact in any type.
_LEFT = elementwise(("self", "other"), no_bfloat16=True)


@aten(
    "aten::div.Tensor_mode",
    "aten::div.Scalar_mode",
    "aten::divide.Tensor_mode",
    "aten::divide.Scalar_mode",
    rule=_DivisionRule(),
    tests=[OpTest("div:floor_rounding"), OpTest("div:trunc_rounding", xfail=[_NOT_ROUNDED])],
)
def div_mode(op: Op, self: Value, other: Value | Number, rounding_mode: str | None) -> Value:
    """The quotient, rounded down (`floor`), towards zero (`trunc`), or not at all (None)."""
    if rounding_mode is None:
        return op.Div(self, other)
    if rounding_mode == "floor":
        return floor_quotient(op, self, other)
    if rounding_mode != "trunc":
        unsupported(f"unknown rounding mode `{rounding_mode}`", name="aten::div.Tensor_mode")
    return accurate.trunc(op, op.Div(self, other))


def floor_quotient(op: Op, a: Value, b: Value | Number) -> Value:
    """The quotient rounded down.

    What is left over is taken away first, for a rounded quotient may be the next integer:
    `1 // 0.1` is 9, as in Python.
    """
    dtype = a.onnx_dtype
    if dtype.is_unsigned:
        return op.Div(a, b)
    b = _value(op, b, a)
    rest = op.Sub(a, accurate.remainder(op, a, b))
    if not dtype.is_float:
        return op.Div(rest, b)
    return op.Where(op.Equal(b, 0.0), op.Div(a, b), op.Round(op.Div(rest, b)))


@aten("aten::floor_divide", "aten::floor_divide.Scalar", rule=_ROUNDED)
def floor_divide(op: Op, self: Value, other: Value | Number) -> Value:
    """The quotient rounded down."""
    return floor_quotient(op, self, other)


@aten(
    "aten::remainder.Tensor",
    "aten::remainder.Scalar",
    "aten::remainder.Scalar_Tensor",
    "prims::remainder",
    rule=_LEFT,
    tests=[OpTest("remainder"), OpTest("__rmod__")],
)
def remainder(op: Op, self: Value, other: Value | Number) -> Value:
    """What a division leaves, with the sign of the divisor, as Python's `%`."""
    return accurate.remainder(op, self, other)


@aten("aten::fmod.Tensor", "aten::fmod.Scalar", "prims::fmod", rule=_LEFT)
def fmod(op: Op, self: Value, other: Value | Number) -> Value:
    """What a division leaves, with the sign of the dividend, as C's `fmod`."""
    return accurate.fmod(op, self, other)


@aten(
    "aten::pow.Tensor_Tensor",
    "aten::pow.Tensor_Scalar",
    "aten::pow.Scalar",
    rule=elementwise(("self", "exponent")),
    # A logarithm times an exponent loses digits; torch's complex power loses as many.
    tests=[
        OpTest("pow", tol={"complex64": Tol(1e-5, 1e-5)}),
        OpTest("__rpow__", tol={"complex64": Tol(1e-5, 1e-5)}),
    ],
)
def pow_(op: Op, self: Value, exponent: Value | Number) -> Any:
    """A power; small whole exponents become products, halves become roots."""
    if is_value(exponent):
        return _power(op, self, exponent)
    power = _short_power(op, self, exponent)
    if power is not None:
        return power
    return _power(op, self, scalar(op, exponent, self.onnx_dtype))


@aten("prims::pow", rule=TWO, untested="prims: no OpInfo runs it")
def prims_pow(op: Op, self: Value, other: Value) -> Any:
    """A power."""
    return pow_.body(op, self, other)


def _short_power(op: Op, x: Value, exponent: Any) -> Any:
    """`x ** exponent` without Pow where that is shorter or exact; else None."""
    dtype = x.onnx_dtype
    if exponent == 0:
        return full_like(op, x, 1)
    if exponent == 1:
        return x
    if dtype.is_bool:
        return None
    if exponent == 2:
        return op.Mul(x, x)
    if exponent == 3:
        # NOTE: the runtime multiplies for this exponent, in one go over the array.
        single = dtype in (DType.FLOAT, DType.DOUBLE)
        return None if single else op.Mul(op.Mul(x, x), x)
    if not dtype.is_float:
        return None
    if exponent == 0.5:
        return op.Sqrt(x)
    if exponent == -0.5:
        return op.Reciprocal(op.Sqrt(x))
    return op.Reciprocal(x) if exponent == -1 else None


def _power(op: Op, base: Any, exponent: Any) -> Value:
    """Pow, in a type that it takes; integers wrap around as torch's."""
    dtype = exponent.onnx_dtype
    base = base if is_value(base) else scalar(op, base, dtype)
    if dtype.is_bool:
        return op.Or(base, op.Not(exponent))
    if dtype.is_float:
        return op.Pow(base, exponent)
    wide = dtype if dtype in (DType.INT32, DType.INT64) else DType.INT64
    power = cast(op, op.Pow(cast(op, base, wide), cast(op, exponent, wide)), dtype)
    constant = op.backend.constant_value(base)
    if dtype.is_unsigned or (constant is not None and constant.all()):
        return power
    # One over zero is an infinity to Pow; torch says zero.
    bad = op.And(op.Less(exponent, 0), op.Equal(base, 0))
    return op.Where(bad, op.constant(np.array(0, dtype.numpy)), power)


@pow_.on_complex
def _pow_complex(op: Op, self: Complex, exponent: Complex) -> Complex:
    power = None
    if exponent.rank == 0:
        parts = [op.backend.constant_value(p) for p in (exponent.real, exponent.imag)]
        if parts[0] is not None and parts[1] is not None and float(parts[1]) == 0.0:
            power = float(parts[0])
    if power is not None and power.is_integer() and 1 <= power <= 8:
        return complex_math.integer_power(op, self, int(power))
    if power == 0.5:
        return complex_math.sqrt(op, self)
    if power == -1.0:
        return complex_math.reciprocal(op, self)
    return complex_math.power(op, self, exponent)


@dataclass(frozen=True)
class _DoubleRule(Rule):
    """All is computed in DOUBLE, or in COMPLEX128 where an argument is complex."""

    @property
    def promoted(self) -> tuple[str, ...]:
        """Both."""
        return ("self", "exponent")

    def prepare(self, op: Op, arguments: Arguments) -> DType | None:
        """Cast both."""
        dtypes = [operand_of(op, arguments[n])[0] for n in ("self", "exponent")]
        common = DType.COMPLEX128 if any(d.is_complex for d in dtypes) else DType.DOUBLE
        for name in ("self", "exponent"):
            x = arguments[name]
            if common.is_complex:
                arguments[name] = as_complex(op, x, DType.DOUBLE)
            elif is_value(x):
                arguments[name] = scalar(op, x, DType.DOUBLE)
        return common


@aten(
    "aten::float_power.Tensor_Tensor",
    "aten::float_power.Tensor_Scalar",
    "aten::float_power.Scalar",
    rule=_DoubleRule(),
    complex=_pow_complex,
)
def float_power(op: Op, self: Value | Number, exponent: Value | Number) -> Any:
    """A power, computed in DOUBLE."""
    return pow_.body(op, self, exponent)


@aten(
    "aten::lerp.Tensor",
    "aten::lerp.Scalar",
    rule=elementwise(("self", "end", "weight"), at_least=DType.FLOAT),
)
def lerp(op: Op, self: Value, end: Value, weight: Value | Number) -> Value:
    """`self + weight (end - self)`, from the nearer end, as torch does it."""
    step = op.Sub(end, self)
    weight = _value(op, weight, self)
    near = op.Add(self, op.Mul(step, weight))
    constant = op.backend.constant_value(weight)
    if constant is not None and constant.ndim == 0:
        if abs(float(constant)) < 0.5:
            return near
        return op.Sub(end, op.Mul(step, 1.0 - float(constant)))
    far = op.Sub(end, op.Mul(step, op.Sub(1.0, weight)))
    return op.Where(op.Less(op.Abs(weight), 0.5), near, far)


@lerp.on_complex
def _lerp_complex(op: Op, self: Complex, end: Complex, weight: Complex) -> Complex:
    step = complex_math.subtract(op, end, self)
    return complex_math.add(op, self, complex_math.multiply(op, step, weight))


@aten("aten::addcmul", rule=elementwise(("self", "tensor1", "tensor2"), at_least=DType.FLOAT))
def addcmul(op: Op, self: Value, tensor1: Value, tensor2: Value, value: Number = 1) -> Value:
    """`self + value * tensor1 * tensor2`."""
    return op.Add(self, op.Mul(scaled(op, tensor1, value), tensor2))


@addcmul.on_complex
def _addcmul_complex(
    op: Op, self: Complex, tensor1: Complex, tensor2: Complex, value: Number = 1
) -> Complex:
    product = complex_math.multiply(op, scaled_complex(op, tensor1, value), tensor2)
    return complex_math.add(op, self, product)


@aten("aten::addcdiv", rule=elementwise(("self", "tensor1", "tensor2"), at_least=DType.FLOAT))
def addcdiv(op: Op, self: Value, tensor1: Value, tensor2: Value, value: Number = 1) -> Value:
    """`self + value * tensor1 / tensor2`."""
    return op.Add(self, op.Div(scaled(op, tensor1, value), tensor2))


@addcdiv.on_complex
def _addcdiv_complex(
    op: Op, self: Complex, tensor1: Complex, tensor2: Complex, value: Number = 1
) -> Complex:
    quotient = complex_math.divide(op, scaled_complex(op, tensor1, value), tensor2)
    return complex_math.add(op, self, quotient)
