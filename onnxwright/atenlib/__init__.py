"""ATen operators written once as ONNX, run eagerly or built into graphs."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.load import find, functions
from onnxwright.atenlib.op import TABLE, AtenFunction, aten, unsupported
from onnxwright.atenlib.optest import OpTest, Skip, Tol, XFail
from onnxwright.atenlib.rules import creation, custom, elementwise, like, reduction

__all__ = [
    "TABLE",
    "AtenFunction",
    "Complex",
    "OpTest",
    "Skip",
    "Tol",
    "XFail",
    "aten",
    "creation",
    "custom",
    "elementwise",
    "find",
    "functions",
    "like",
    "reduction",
    "unsupported",
]
