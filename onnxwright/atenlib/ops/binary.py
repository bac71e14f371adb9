"""Elementwise functions of two tensors."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.rules import elementwise
from onnxwright.atenlib.support import number


@aten(
    "aten::add.Tensor",
    "aten::add.Scalar",
    rule=elementwise(("self", "other")),
    tests=[OpTest("add")],
)
def add(op: Any, self: Any, other: Any, alpha: Any = 1) -> Any:
    """`self + alpha * other`; for booleans the logical or."""
    if self.onnx_dtype.is_bool:
        return op.Or(self, op.And(other, bool(alpha)))
    if alpha != 1:
        other = op.Mul(other, number(alpha, self.onnx_dtype))
    return op.Add(self, other)


@add.on_complex
def _add_complex(op: Any, self: Complex, other: Complex, alpha: Any = 1) -> Complex:
    if alpha != 1:
        factor = complex(alpha)
        other = multiply_by_number(op, other, factor)
    return Complex(op.Add(self.real, other.real), op.Add(self.imag, other.imag))


def multiply_by_number(op: Any, x: Complex, factor: complex) -> Complex:
    """A complex tensor times a Python number."""
    real, imag = factor.real, factor.imag
    if imag == 0:
        return Complex(op.Mul(x.real, real), op.Mul(x.imag, real))
    return Complex(
        op.Sub(op.Mul(x.real, real), op.Mul(x.imag, imag)),
        op.Add(op.Mul(x.real, imag), op.Mul(x.imag, real)),
    )
