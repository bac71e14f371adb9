"""Functions that make and take apart complex tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.helpers import complex_math
from onnxwright.atenlib.helpers.constants import full_like
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import Rule, custom
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of

SAME = Rule()


@aten("aten::view_as_real", "aten::view_as_real_copy", rule=SAME, complex="same")
def view_as_real(op: Op, self: Complex) -> Any:
    """Real and imaginary parts along a new last axis."""
    return pack(op, self)


@aten("aten::view_as_complex", "aten::view_as_complex_copy", rule=SAME)
def view_as_complex(op: Op, self: Value) -> Complex:
    """The complex tensor whose parts lie along the last axis."""
    return unpack(op, self)


@aten("aten::real", "prims::real", rule=SAME)
def real(op: Op, self: Value) -> Value:
    """The real part; a real tensor itself."""
    return self


@real.on_complex
def _real_complex(op: Op, self: Complex) -> Value:
    return self.real


@aten("aten::imag", "prims::imag", rule=SAME)
def imag(op: Op, self: Value) -> Value:
    """The imaginary part; torch has none of a real tensor, zero is right."""
    return full_like(op, self, 0)


@imag.on_complex
def _imag_complex(op: Op, self: Complex) -> Value:
    return self.imag


@aten(
    "aten::_conj",
    "aten::_conj_copy",
    "aten::conj",
    "aten::conj_physical",
    "prims::conj_physical",
    rule=SAME,
    tests=[OpTest("conj"), OpTest("conj_physical")],
    complex=complex_math.conjugate,
)
def conj(op: Op, self: Value) -> Value:
    """The complex conjugate; a real tensor itself."""
    return self


@aten(
    "aten::resolve_conj",
    "aten::resolve_neg",
    rule=SAME,
    tests=[OpTest("resolve_conj"), OpTest("resolve_neg")],
    complex="parts",
)
def resolve_conj(op: Op, self: Value) -> Value:
    """The tensor itself: conjugates and negatives are computed where they are asked for."""
    return self


def _angle_type(arguments: Arguments) -> DType:
    dtype = real_of(arguments["self"].onnx_dtype)
    return dtype if dtype.is_float else DType.FLOAT


@aten("aten::angle", rule=custom(_angle_type), complex=complex_math.angle)
def angle(op: Op, self: Value) -> Value:
    """The argument of a complex number; of a real one 0 or pi, NaN of NaN."""
    dtype = _angle_type({"self": self})
    below = (
        op.Less(self, 0) if self.onnx_dtype.is_signed else full_like(op, self, False, DType.BOOL)
    )
    turned = op.Mul(op.Cast(below, to=dtype), math.pi)
    if not self.onnx_dtype.is_float:
        return turned
    # NaN is the only number that differs from itself.
    return op.Where(op.Equal(self, self), turned, self)


@aten("aten::polar", rule=SAME)
def polar(op: Op, abs: Value, angle: Value) -> Complex:
    """The complex number of a modulus and an argument."""
    return Complex(op.Mul(abs, op.Cos(angle)), op.Mul(abs, op.Sin(angle)))


@aten("aten::complex", rule=SAME)
def complex_(op: Op, real: Value, imag: Value) -> Complex:
    """The complex tensor of a real and an imaginary part."""
    if real.shape == imag.shape and all(d is not None for d in real.shape):
        return Complex(real, imag)
    nothing = op.constant(np.array(0, real.onnx_dtype.numpy))
    return Complex(op.Add(real, op.Mul(imag, nothing)), op.Add(imag, op.Mul(real, nothing)))
