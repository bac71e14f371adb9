"""Functions of angles and of hyperbolas with their inverses, of real and complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.op import AtenFunction, aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise

ONE = elementwise(promote="int_to_float", no_bfloat16=True)


def _function(
    name: str, doc: str, real: str | Callable[[Op, Value], Any], *others: str
) -> AtenFunction:
    """Register a function of one tensor that `complex_math` has under the same name.

    Args:
        name: what ATen and `prims` call it.
        real: the operator of ONNX, or a function that computes it for real numbers.
        others: further names in ATen.
    """

    def body(op: Op, self: Value) -> Any:
        return getattr(op, real)(self) if isinstance(real, str) else real(op, self)

    names = (f"aten::{name}", *(f"aten::{other}" for other in others), f"prims::{name}")
    same: Any = getattr(complex_math, name)
    return aten(*names, rule=ONE, tests=[OpTest(name)], complex=same, doc=doc)(body)


sin = _function("sin", "The sine.", "Sin")
cos = _function("cos", "The cosine.", "Cos")
tan = _function("tan", "The tangent.", accurate.tan)
asin = _function("asin", "The arc sine.", accurate.asin, "arcsin")
acos = _function("acos", "The arc cosine.", accurate.acos, "arccos")
atan = _function("atan", "The arc tangent.", accurate.atan, "arctan")
sinh = _function("sinh", "The hyperbolic sine.", accurate.sinh)
cosh = _function("cosh", "The hyperbolic cosine.", accurate.cosh)
tanh = _function("tanh", "The hyperbolic tangent.", "Tanh")
asinh = _function("asinh", "The inverse hyperbolic sine.", accurate.asinh, "arcsinh")
acosh = _function("acosh", "The inverse hyperbolic cosine.", accurate.acosh, "arccosh")
atanh = _function("atanh", "The inverse hyperbolic tangent.", accurate.atanh, "arctanh")
