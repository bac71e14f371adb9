"""Functions of numbers known only at run time: Python's of `math`, torch's `sym_*`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.sym_arithmetic import SAME, SYMBOLIC, binary, kind_of, weak
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.semantics import arithmetic


def _rounded(op: Op, name: str, a: Value | Number) -> Any:
    """A whole number next to a number, by a function of `math` or an operator of that name."""
    if not is_value(a):
        return getattr(math, name)(a)
    x: Value = op.backend.as_weak(a, None)
    if x.onnx_dtype.is_float and name != "trunc":  # a cast to an integer cuts by itself
        x = getattr(op, name.title())(x)
    return arithmetic.to_python_number(op.backend, "int", x)


@aten("math::ceil", rule=SAME, untested=SYMBOLIC)
def ceil(op: Op, a: Value | Number) -> Any:
    """The least integer that is not below."""
    return _rounded(op, "ceil", a)


@aten("math::floor", rule=SAME, untested=SYMBOLIC)
def floor(op: Op, a: Value | Number) -> Any:
    """The greatest integer that is not above."""
    return _rounded(op, "floor", a)


@aten("math::trunc", "torch::sym_int", "builtins::int", rule=SAME, untested=SYMBOLIC)
def trunc(op: Op, a: Value | Number) -> Any:
    """The next integer towards zero."""
    return _rounded(op, "trunc", a)


@aten("builtins::round", rule=SAME, untested=SYMBOLIC)
def round_(op: Op, number: Value | Number, ndigits: int | None = None) -> Any:
    """The nearest integer, or number with so many digits; of two the even one."""
    if not is_value(number):
        return round(number, ndigits)
    return arithmetic.round_half_even(op.backend, weak(op, number), ndigits)


def _float(op: Op, a: Value | Number) -> Any:
    return arithmetic.to_python_number(op.backend, "float", a)


@aten("torch::sym_float", "builtins::float", rule=SAME, untested=SYMBOLIC)
def sym_float(op: Op, a: Value | Number) -> Any:
    """The number as a float."""
    return _float(op, a) if is_value(a) else float(a)


@aten("math::sqrt", "torch::_sym_sqrt", rule=SAME, untested=SYMBOLIC)
def sqrt(op: Op, a: Value | Number) -> Any:
    """The square root."""
    if not is_value(a):
        return math.sqrt(a)
    return weak(op, op.Sqrt(op.backend.as_weak(_float(op, a), None)))


@aten("builtins::bool", rule=SAME, untested=SYMBOLIC)
def bool_(op: Op, a: Value | Number) -> Any:
    """Whether the number is not zero."""
    return arithmetic.to_python_number(op.backend, "bool", a) if is_value(a) else bool(a)


@aten("math::exp", rule=SAME, untested=SYMBOLIC)
def exp(op: Op, a: Value | Number) -> Any:
    """The exponential."""
    if not is_value(a):
        return math.exp(a)
    return weak(op, op.Exp(op.backend.as_weak(_float(op, a), None)))


@aten("math::log", rule=SAME, untested=SYMBOLIC)
def log(op: Op, a: Value | Number) -> Any:
    """The natural logarithm."""
    if not is_value(a):
        return math.log(a)
    return weak(op, op.Log(op.backend.as_weak(_float(op, a), None)))


@aten("math::log2", "torch::_sym_log2", rule=SAME, untested=SYMBOLIC)
def log2(op: Op, a: Value | Number) -> Any:
    """The logarithm to base 2."""
    if not is_value(a):
        return math.log2(a)
    logarithm = op.Log(op.backend.as_weak(_float(op, a), None))
    return weak(op, op.Div(logarithm, math.log(2.0)))


def _together(op: Op, numbers: list[Any]) -> tuple[list[Any], str]:
    """Numbers as values of one type, and the kind of number that is."""
    kinds = [kind_of(x.onnx_dtype) if is_value(x) else type(x).__name__ for x in numbers]
    kind = "float" if "float" in kinds else "int" if "int" in kinds else "bool"
    dtype = {"float": np.float64, "int": np.int64, "bool": np.bool_}[kind]
    values = [
        op.backend.as_weak(arithmetic.to_python_number(op.backend, kind, x), None)
        if is_value(x)
        else op.constant(np.array(x, dtype))
        for x in numbers
    ]
    return values, kind


@aten("torch::sym_max", "builtins::max", rule=SAME, untested=SYMBOLIC)
def sym_max(op: Op, a: Value | Number, b: Value | Number) -> Any:
    """The greater of two numbers."""
    if not is_value(a) and not is_value(b):
        return max(a, b)
    values, kind = _together(op, [a, b])
    return op.backend.as_weak(op.Max(*values), kind)


@aten("torch::sym_min", "builtins::min", rule=SAME, untested=SYMBOLIC)
def sym_min(op: Op, a: Value | Number, b: Value | Number) -> Any:
    """The smaller of two numbers."""
    if not is_value(a) and not is_value(b):
        return min(a, b)
    values, kind = _together(op, [a, b])
    return op.backend.as_weak(op.Min(*values), kind)


@aten("torch::sym_sum", rule=SAME, untested=SYMBOLIC)
def sym_sum(op: Op, args: Any) -> Any:
    """The sum of numbers."""
    total: Any = 0
    for x in args:
        total = x if not is_value(total) and total == 0 else binary(op, "add", total, x)
    return total


@aten("torch::sym_ite", rule=SAME, untested=SYMBOLIC)
def sym_ite(op: Op, b: Value | Number, t: Any, f: Any) -> Any:
    """`t` where the condition holds, else `f`."""
    if not is_value(b):
        return t if b else f
    values, kind = _together(op, [t, f])
    return op.backend.as_weak(op.Where(op.backend.as_weak(b, None), *values), kind)
