"""ATen operators written once as ONNX, run eagerly or built into graphs."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.load import find, functions
from onnxwright.atenlib.op import TABLE, AtenFunction, aten, unsupported
from onnxwright.atenlib.optest import OpTest, Skip, Tol, XFail
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import creation, custom, elementwise, like, reduction

__all__ = [
    "TABLE",
    "AtenFunction",
    "Complex",
    "Number",
    "Op",
    "OpTest",
    "Size",
    "Skip",
    "Tol",
    "Value",
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
