"""Elementwise functions of one tensor."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.rules import elementwise


@aten("aten::abs", rule=elementwise(promote="complex_to_float"), tests=[OpTest("abs")])
def abs_(op: Any, self: Any) -> Any:
    """The absolute value, the modulus of a complex number."""
    if self.onnx_dtype.is_bool:
        return self
    return op.Abs(self)


@abs_.on_complex
def _abs_complex(op: Any, self: Complex) -> Any:
    return op.Sqrt(op.Add(op.Mul(self.real, self.real), op.Mul(self.imag, self.imag)))
