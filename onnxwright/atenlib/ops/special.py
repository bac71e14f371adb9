"""Special functions around the normal distribution: error functions, their inverses, entropies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math, quadrature
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

# Computed in DOUBLE and rounded once.
EXACT = elementwise(promote="int_to_float", at_least=DType.DOUBLE)
STEPS = elementwise(promote="int_to_float", at_least=DType.FLOAT)
ONE = elementwise(promote="int_to_float", no_bfloat16=True)


@aten("aten::erf", "aten::special_erf", "prims::erf", rule=ONE)
def erf(op: Op, self: Value) -> Value:
    """The error function."""
    return accurate.erf(op, self)


@aten("aten::erfc", "aten::special_erfc", "prims::erfc", rule=EXACT)
def erfc(op: Op, self: Value) -> Value:
    """`1 - erf(x)`, with all its digits for large x."""
    return accurate.erfc(op, self)


@aten("aten::special_erfcx", "prims::erfcx", rule=EXACT, tests=[OpTest("special.erfcx")])
def erfcx(op: Op, self: Value) -> Value:
    """`exp(x^2) erfc(x)`."""
    return accurate.erfcx(op, self)


@aten("aten::erfinv", "aten::special_erfinv", "prims::erf_inv", rule=EXACT)
def erfinv(op: Op, self: Value) -> Value:
    """The number whose error function it is; NaN outside of [-1, 1]."""
    tail = op.Mul(op.Sub(1.0, op.Abs(self)), 0.5)
    return op.Mul(_quantile(op, op.Mul(self, 0.5), tail), math.sqrt(0.5))


# torch rounds every step to the half type, and the tails to zero.
_NDTR = {"float16": Tol(2e-3, 1e-3), "bfloat16": Tol(2e-2, 1e-2)}


@aten("aten::special_ndtr", rule=EXACT, tests=[OpTest("special.ndtr", tol=_NDTR)])
def ndtr(op: Op, self: Value) -> Value:
    """The normal distribution's `P(X <= x)`."""
    return op.Mul(accurate.erfc(op, op.Mul(self, -math.sqrt(0.5))), 0.5)


@aten("aten::special_log_ndtr", rule=EXACT, tests=[OpTest("special.log_ndtr")])
def log_ndtr(op: Op, self: Value) -> Value:
    """The logarithm of `P(X <= x)`, with all its digits on both sides."""
    t = op.Mul(self, math.sqrt(0.5))
    scaled = op.Log(op.Mul(accurate.erfcx(op, op.Neg(op.Min(t, 1.0))), 0.5))
    left = op.Sub(scaled, op.Mul(t, t))
    right = accurate.log1p(op, op.Mul(accurate.erfc(op, t), -0.5))
    return op.Where(op.Less(self, -1.0), left, right)


@aten("aten::special_ndtri", "prims::ndtri", rule=EXACT, tests=[OpTest("special.ndtri")])
def ndtri(op: Op, self: Value) -> Value:
    """The normal distribution's quantile of a probability."""
    return _quantile(op, op.Sub(self, 0.5), op.Min(self, op.Sub(1.0, self)))


# The quantile in the middle by q^2, in the tails by sqrt(-log(tail)): numerators, denominators.
# Source: M. J. Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
_MIDDLE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_NEAR = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
     0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _quantile(op: Op, q: Value, tail: Any) -> Value:
    """The normal quantile from `q = p - 1/2` and `tail = min(p, 1 - p)`."""
    central = op.Sub(0.180625, op.Mul(q, q))
    middle = op.Mul(q, quadrature.quotient(op, central, *_MIDDLE))
    r = op.Sqrt(op.Neg(op.Log(tail)))
    near = quadrature.quotient(op, op.Sub(r, 1.6), *_NEAR)
    far = quadrature.quotient(op, op.Sub(op.Min(r, 40.0), 5.0), *_FAR)
    outer = op.Where(op.LessOrEqual(r, 5.0), near, far)
    outer = op.Where(op.Equal(tail, 0.0), quadrature.points(op, math.inf), outer)
    outer = op.Mul(op.Sign(q), outer)
    return op.Where(op.LessOrEqual(op.Abs(q), 0.425), middle, outer)


@aten("aten::special_entr", rule=STEPS, tests=[OpTest("special.entr")])
def entr(op: Op, self: Value) -> Value:
    """`-x log(x)`, zero at zero, minus infinity below."""
    dtype = self.onnx_dtype.numpy
    zero, least = (op.constant(np.array(v, dtype)) for v in (0.0, -math.inf))
    inner = op.Neg(op.Mul(self, op.Log(self)))
    inner = op.Where(op.Equal(self, 0.0), zero, inner)
    return op.Where(op.Less(self, 0.0), least, inner)


@aten("aten::sinc", "aten::special_sinc", rule=STEPS)
def sinc(op: Op, self: Value) -> Value:
    """`sin(pi x) / (pi x)`, one at zero."""
    x = op.Mul(self, math.pi)
    return _sine_over(op, x)


def _sine_over(op: Op, x: Value) -> Value:
    one = op.constant(np.array(1.0, x.onnx_dtype.numpy))
    return op.Where(op.Equal(x, 0.0), one, op.Div(op.Sin(x), x))


@sinc.on_complex
def _sinc_complex(op: Op, self: Complex) -> Complex:
    z = complex_math.scale(op, self, math.pi)
    zero = op.And(op.Equal(z.real, 0.0), op.Equal(z.imag, 0.0))
    quotient = complex_math.divide(op, complex_math.sin(op, z), z)
    one, none = (op.constant(np.array(v, z.real.onnx_dtype.numpy)) for v in (1.0, 0.0))
    return Complex(op.Where(zero, one, quotient.real), op.Where(zero, none, quotient.imag))


@aten(
    "aten::special_spherical_bessel_j0",
    rule=elementwise(("x",), promote="int_to_float", at_least=DType.DOUBLE),
    tests=[OpTest("special.spherical_bessel_j0")],
)
def spherical_bessel_j0(op: Op, x: Value) -> Value:
    """`sin(x) / x`, one at zero, zero at infinity."""
    infinite = op.IsInf(x)
    return op.Where(infinite, quadrature.points(op, 0.0), _sine_over(op, x))
