"""ATen operators written once as ONNX, run eagerly or built into graphs."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import TABLE, AtenFunction, aten
from onnxwright.atenlib.optest import OpTest, Skip, Tol, XFail

__all__ = [
    "TABLE",
    "AtenFunction",
    "Complex",
    "OpTest",
    "Skip",
    "Tol",
    "XFail",
    "aten",
    "functions",
]
