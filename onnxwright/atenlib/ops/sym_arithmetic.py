"""Arithmetic of sizes and other Python numbers known only at run time.

A number is a Python number, or a value of rank 0 that represents one (a *weak* value); what comes
out is of the same kind.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers.sizes import numel, product, size, sizes
from onnxwright.atenlib.op import AtenFunction, aten
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import Rule
from onnxwright.semantics import arithmetic
from onnxwright.types.dims import at_least
from onnxwright.types.dtypes import DType

SAME = Rule()
SYMBOLIC = "numbers of a program are not tensors, OpInfo has none"


def _on_numbers(name: str) -> tuple[str, ...]:
    """The overloads of an operator on Python numbers, without that on complex ones."""
    return (name, *(f"{name}.{kinds}" for kinds in ("int", "float", "int_float", "float_int")))


def weak(op: Op, x: Value | Number) -> Any:
    """A number; a value of rank 0 is marked as representing one."""
    if not is_value(x) or op.backend.weak_kind(x) is not None or x.rank != 0:
        return x
    return op.backend.as_weak(x, kind_of(x.onnx_dtype))


def kind_of(dtype: DType) -> str:
    """What kind of Python number an element type represents."""
    if dtype.is_bool:
        return "bool"
    return "float" if dtype.is_float else "int"


def binary(op: Op, name: str, a: Value | Number, b: Value | Number) -> Any:
    """A function of the module `operator` of two numbers."""
    if not is_value(a) and not is_value(b):
        return getattr(operator, name)(a, b)
    return arithmetic.binary(op.backend, name, weak(op, a), weak(op, b))


def _unary(op: Op, name: str, a: Value | Number) -> Any:
    if not is_value(a):
        return getattr(operator, name)(a)
    return arithmetic.unary(op.backend, name, weak(op, a))


# -- properties of tensors ------------------------------------------------------------------------


@aten("aten::sym_size.int", "aten::size.int", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_size_int(op: Op, self: Value, dim: int) -> Any:
    """The size of one dimension."""
    return weak(op, size(op, real_part(self), dim))


@aten("aten::sym_size", "aten::size", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_size(op: Op, self: Value) -> list[Any]:
    """The sizes of all dimensions."""
    return [weak(op, n) for n in sizes(op, real_part(self))]


@aten("aten::sym_numel", "aten::numel", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_numel(op: Op, self: Value) -> Any:
    """The number of elements."""
    return weak(op, numel(op, real_part(self)))


@aten("aten::sym_stride.int", "aten::stride.int", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_stride_int(op: Op, self: Value, dim: int) -> Any:
    """How far apart neighbours of a dimension are, in a tensor without gaps."""
    every = sizes(op, real_part(self))
    return weak(op, product(op, every[dim % len(every) + 1 :]))


@aten("aten::sym_stride", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_stride(op: Op, self: Value) -> list[Any]:
    """The strides of all dimensions, in a tensor without gaps."""
    every = sizes(op, real_part(self))
    return [weak(op, product(op, every[n + 1 :])) for n in range(len(every))]


@aten("aten::sym_storage_offset", rule=SAME, untested=SYMBOLIC, complex="same")
def sym_storage_offset(op: Op, self: Value) -> int:
    """Where a tensor starts in its memory: at 0, for tensors of a model share none."""
    return 0


@aten("aten::item", "aten::_local_scalar_dense", rule=SAME)
def item(op: Op, self: Value) -> Any:
    """The one element of a tensor, as a number."""
    return arithmetic.to_python_number(op.backend, kind_of(self.onnx_dtype), self)


@aten("prims::item", rule=SAME, untested="prims: no OpInfo runs it")
def prims_item(op: Op, a: Value) -> Any:
    """The one element of a tensor, as a number."""
    return item.body(op, a)


@item.on_complex
def _item_complex(op: Op, self: Complex) -> Complex:
    none = op.constant(np.zeros(0, np.int64))
    return Complex(op.Reshape(self.real, none), op.Reshape(self.imag, none))


@aten("aten::is_nonzero", rule=SAME, untested="a bool is not a tensor; tests/atenlib compares it")
def is_nonzero(op: Op, self: Value) -> Any:
    """Whether the one element of a tensor is not zero."""
    return arithmetic.to_python_number(op.backend, "bool", self)


# -- Python's operators --------------------------------------------------------------------------


def _operator(name: str, doc: str, *others: str) -> AtenFunction:
    """Register an operator of Python on two numbers: a function of the module `operator`."""

    def body(op: Op, a: Value | Number, b: Value | Number) -> Any:
        return binary(op, name, a, b)

    names = (f"_operator::{name}", *others)
    return aten(*names, rule=SAME, untested=SYMBOLIC, doc=doc)(body)


_operator("add", "The sum.", *_on_numbers("aten::add"))
_operator("sub", "The difference.", *_on_numbers("aten::sub"))
_operator("mul", "The product.", *_on_numbers("aten::mul"))
_operator("truediv", "The quotient as a float.")
_operator("mod", "What a division leaves, with the sign of the divisor.", "aten::remainder.int")
_operator("pow", "A power.")
_operator("lshift", "`a * 2 ** b`.", "_operator::__lshift__")
_operator("rshift", "`a // 2 ** b`.", "_operator::__rshift__")
_operator("and_", "Logical and of bools, bitwise and of integers.")
_operator("or_", "Logical or of bools, bitwise or of integers.")
_operator("xor", "Exclusive or, of bools or of bits.")
_operator("eq", "Whether two numbers are equal.", *_on_numbers("aten::eq"))
_operator("ne", "Whether two numbers differ.", *_on_numbers("aten::ne"))
_operator("lt", "Whether a number is less than another.", *_on_numbers("aten::lt"))
_operator("le", "Whether a number is at most another.", *_on_numbers("aten::le"))
_operator("gt", "Whether a number is greater than another.", *_on_numbers("aten::gt"))
_operator("ge", "Whether a number is at least another.", *_on_numbers("aten::ge"))


@aten("_operator::floordiv", "aten::floordiv.int", rule=SAME, untested=SYMBOLIC)
def floordiv(op: Op, a: Value | Number, b: Value | Number) -> Any:
    """The quotient rounded down; of sizes, which are not negative, plainly divided."""
    if is_value(a) and _is_size(a, 0) and _is_size(b, 1):
        return weak(op, op.Div(op.backend.as_weak(a, None), b))
    return binary(op, "floordiv", a, b)


def _is_size(x: Value | Number, low: int) -> bool:
    """Whether a number is known to be a whole number that is not below `low`."""
    dim = getattr(x, "dims", None) if is_value(x) else x
    if isinstance(dim, bool) or not isinstance(dim, (int, str)):
        return False
    return at_least(dim, low)


@aten("_operator::neg", "aten::neg.int", rule=SAME, untested=SYMBOLIC)
def neg(op: Op, a: int) -> Any:
    """The number with the other sign."""
    return _unary(op, "neg", a)


@aten("_operator::pos", rule=SAME, untested=SYMBOLIC)
def pos(op: Op, a: Value | Number) -> Any:
    """The number itself."""
    return a


@aten("_operator::abs", "builtins::abs", rule=SAME, untested=SYMBOLIC)
def abs_(op: Op, a: Value | Number) -> Any:
    """The absolute value."""
    return _unary(op, "abs", a)


@aten("_operator::not_", "torch::sym_not", rule=SAME, untested=SYMBOLIC)
def not_(op: Op, a: Value | Number) -> Any:
    """Whether a number is zero."""
    return _unary(op, "not_", a)


@aten("_operator::getitem", rule=SAME, untested=SYMBOLIC, complex="same")
def getitem(op: Op, a: Any, b: Any) -> Any:
    """One of several results, or what a subscript takes of a tensor."""
    return a[b]
