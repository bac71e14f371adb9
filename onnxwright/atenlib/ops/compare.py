"""Comparisons of tensors and numbers, exact and with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import complex_math
from onnxwright.atenlib.op import AtenFunction, aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import Rule, elementwise
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import compatible

BOTH = elementwise(("self", "other"), promote="always_bool")
CLOSE = elementwise(("self", "other"), promote="always_bool", no_bfloat16=True)


@aten("aten::eq.Tensor", "aten::eq.Scalar", "prims::eq", rule=BOTH)
def eq(op: Op, self: Value, other: Value | Number) -> Value:
    """Whether two numbers are equal."""
    return op.Equal(self, other)


@eq.on_complex
def _eq_complex(op: Op, self: Complex, other: Complex) -> Value:
    return op.And(op.Equal(self.real, other.real), op.Equal(self.imag, other.imag))


@aten(
    "aten::ne.Tensor",
    "aten::ne.Scalar",
    "aten::not_equal.Tensor",
    "aten::not_equal.Scalar",
    "prims::ne",
    rule=BOTH,
)
def ne(op: Op, self: Value, other: Value | Number) -> Value:
    """Whether two numbers differ."""
    return op.Not(op.Equal(self, other))


@ne.on_complex
def _ne_complex(op: Op, self: Complex, other: Complex) -> Value:
    return op.Not(_eq_complex(op, self, other))


def _order(
    name: str, word: str, operator: str, of_booleans: Callable[[Op, Any, Any], Value], doc: str
) -> AtenFunction:
    """Register a comparison by size, which ONNX has for numbers only.

    Args:
        name: what ATen calls it in short.
        word: what ATen calls it in full.
        of_booleans: the same of two BOOL values.
    """

    def body(op: Op, self: Value, other: Value | Number) -> Any:
        if self.onnx_dtype.is_bool:
            flag = other if is_value(other) else op.constant(np.array(bool(other)))
            return of_booleans(op, self, flag)
        return getattr(op, operator)(self, other)

    names = [f"aten::{n}.{kind}" for n in (name, word) for kind in ("Tensor", "Scalar")]
    return aten(*names, f"prims::{name}", rule=BOTH, tests=[OpTest(name)], doc=doc)(body)


lt = _order(
    "lt", "less", "Less", lambda op, a, b: op.And(op.Not(a), b),
    "Whether a number is less than another.",
)  # fmt: skip
le = _order(
    "le", "less_equal", "LessOrEqual", lambda op, a, b: op.Or(op.Not(a), b),
    "Whether a number is less than another or equal.",
)  # fmt: skip
gt = _order(
    "gt", "greater", "Greater", lambda op, a, b: op.And(a, op.Not(b)),
    "Whether a number is greater than another.",
)  # fmt: skip
ge = _order(
    "ge", "greater_equal", "GreaterOrEqual", lambda op, a, b: op.Or(a, op.Not(b)),
    "Whether a number is greater than another or equal.",
)  # fmt: skip


@aten("aten::isclose", rule=CLOSE)
def isclose(
    op: Op,
    self: Value,
    other: Value,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Value:
    """Whether two numbers are equal, or `|a - b| <= atol + rtol |b|` and that is finite."""
    same = op.Equal(self, other)
    if equal_nan and self.onnx_dtype.is_float:
        same = op.Or(same, op.And(op.IsNaN(self), op.IsNaN(other)))
    if rtol == 0 and atol == 0:
        return same
    if not self.onnx_dtype.is_float:
        self, other = op.Cast(self, to=DType.FLOAT), op.Cast(other, to=DType.FLOAT)
    allowed = op.Add(op.Abs(op.Mul(other, rtol)), atol)
    return op.Or(same, _within(op, op.Abs(op.Sub(self, other)), allowed))


def _within(op: Op, distance: Any, allowed: Any) -> Value:
    return op.And(op.Less(distance, math.inf), op.LessOrEqual(distance, allowed))


@isclose.on_complex
def _isclose_complex(
    op: Op,
    self: Complex,
    other: Complex,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Any:
    same = _eq_complex(op, self, other)
    if equal_nan:
        mine, theirs = (op.Or(op.IsNaN(z.real), op.IsNaN(z.imag)) for z in (self, other))
        same = op.Or(same, op.And(mine, theirs))
    if rtol == 0 and atol == 0:
        return same
    allowed = op.Add(op.Mul(complex_math.absolute(op, other), rtol), atol)
    distance = complex_math.absolute(op, complex_math.subtract(op, self, other))
    return op.Or(same, _within(op, distance, allowed))


def all_true(op: Op, x: Value) -> Value:
    """Whether all elements of a BOOL value hold, as a BOOL value of rank 0; of none: yes."""
    wrong = op.ReduceSum(op.Cast(op.Not(x), to=DType.INT64), keepdims=0)
    return op.Equal(wrong, 0)


@aten("aten::allclose", rule=CLOSE)
def allclose(
    op: Op,
    self: Value,
    other: Value,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Any:
    """Whether all elements are close, as a BOOL value of rank 0."""
    return all_true(op, isclose.body(op, self, other, rtol, atol, equal_nan))


@allclose.on_complex
def _allclose_complex(
    op: Op,
    self: Complex,
    other: Complex,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Value:
    return all_true(op, _isclose_complex(op, self, other, rtol, atol, equal_nan))


@aten("aten::equal", rule=Rule())
def equal(op: Op, self: Value, other: Value) -> Any:
    """Whether two tensors have one shape and the same elements, as a BOOL value of rank 0."""
    return _equal(op, self, other, eq.body)


@equal.on_complex
def _equal_complex(op: Op, self: Value, other: Value) -> Any:
    return _equal(op, self, other, _eq_complex)


def _equal(op: Op, a: Value, b: Value, compare: Any) -> Any:
    if a.rank != b.rank or not compatible(a.shape, b.shape):
        return op.constant(np.array(False))
    if all(isinstance(d, int) for d in (*a.shape, *b.shape)) or a.shape == b.shape:
        return all_true(op, compare(op, a, b))
    # Shapes known only at run time: elements are compared where the shapes are one.
    shapes = [op.Shape(x.real if isinstance(x, Complex) else x) for x in (a, b)]
    return op.If(
        all_true(op, op.Equal(*shapes)),
        then_branch=lambda: all_true(op, compare(op, a, b)),
        else_branch=lambda: op.constant(np.array(False)),
    )
