"""Functions of numbers known only at run time: Python's of `math`, torch's `sym_*`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.sym_arithmetic import SAME, SYMBOLIC, binary, kind_of, weak
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.semantics import arithmetic


def _rounded(name: str, doc: str, *others: str) -> None:
    """Register a whole number next to a number: a function of `math`, an operator of that name."""

    def body(op: Op, a: Value | Number) -> Any:
        if not is_value(a):
            return getattr(math, name)(a)
        x: Value = op.backend.as_weak(a, None)
        if x.onnx_dtype.is_float and name != "trunc":  # a cast to an integer cuts by itself
            x = getattr(op, name.title())(x)
        return arithmetic.to_python_number(op.backend, "int", x)

    aten(f"math::{name}", *others, rule=SAME, untested=SYMBOLIC, doc=doc)(body)


_rounded("ceil", "The least integer that is not below.")
_rounded("floor", "The greatest integer that is not above.")
_rounded("trunc", "The next integer towards zero.", "torch::sym_int", "builtins::int")


def _of_float(name: str, doc: str, *others: str) -> None:
    """Register a function of `math` that is the ONNX operator of that name."""

    def body(op: Op, a: Value | Number) -> Any:
        if not is_value(a):
            return getattr(math, name)(a)
        return weak(op, getattr(op, name.title())(op.backend.as_weak(_float(op, a), None)))

    aten(f"math::{name}", *others, rule=SAME, untested=SYMBOLIC, doc=doc)(body)


_of_float("sqrt", "The square root.", "torch::_sym_sqrt")
_of_float("exp", "The exponential.")
_of_float("log", "The natural logarithm.")


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


@aten("builtins::bool", rule=SAME, untested=SYMBOLIC)
def bool_(op: Op, a: Value | Number) -> Any:
    """Whether the number is not zero."""
    return arithmetic.to_python_number(op.backend, "bool", a) if is_value(a) else bool(a)


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


def _extreme(name: str, of_numbers: Callable[..., Any], doc: str) -> None:
    """Register the greater or the smaller of two numbers."""

    def body(op: Op, a: Value | Number, b: Value | Number) -> Any:
        if not is_value(a) and not is_value(b):
            return of_numbers(a, b)
        values, kind = _together(op, [a, b])
        return op.backend.as_weak(getattr(op, name.title())(*values), kind)

    names = (f"torch::sym_{name}", f"builtins::{name}")
    aten(*names, rule=SAME, untested=SYMBOLIC, doc=doc)(body)


_extreme("max", max, "The greater of two numbers.")
_extreme("min", min, "The smaller of two numbers.")


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
