"""Arithmetic of sizes and other Python numbers known only at run time.

Such a number is a value without dimensions that stands for a Python number: INT64 for an int,
DOUBLE for a float, BOOL for a bool.  Where both operands are Python numbers, Python computes.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.rules import custom
from onnxwright.atenlib.support import cast, numel, scalar, size
from onnxwright.semantics.backend import is_value
from onnxwright.types import dims
from onnxwright.types.dtypes import DType

_RULE = custom()
_NO_SAMPLES = "numbers of graphs: OpInfo has tensors only; tests/atenlib/test_numbers.py"
_KINDS = {"int": DType.INT64, "float": DType.DOUBLE, "bool": DType.BOOL}


def _kind(op: Any, x: Any) -> str:
    """The Python kind of a number or of a value that stands for one."""
    if not is_value(x):
        return type(x).__name__
    dtype = x.onnx_dtype
    if dtype.is_bool:
        return "bool"
    return "float" if dtype.is_float else "int"


def _strong(op: Any, x: Any, kind: str) -> Any:
    """A number as a value of the type of a kind."""
    return scalar(op, x, _KINDS[kind])


def weak(op: Any, x: Any, kind: str) -> Any:
    """A value that stands for a Python number.

    Args:
        op: the operators.
        x: a value without dimensions.
        kind: `int`, `float` or `bool`.

    Returns:
        The value, of the type of that kind.
    """
    return op.backend.as_weak(cast(op, op.backend.as_weak(x, None), _KINDS[kind]), kind)


def _at_least_zero(x: Any) -> bool:
    if not is_value(x):
        return bool(x >= 0)
    known = getattr(x, "dims", None)
    return isinstance(known, (int, str)) and dims.at_least(known, 0)


def _binary(
    name: str,
    python: Callable[[Any, Any], Any],
    build: Callable[..., Any],
    gives: str | None = None,
) -> None:
    """Register the arithmetic of two numbers.

    Args:
        name: the full name of the operator.
        python: what computes it for Python numbers.
        build: what builds it for two values of one type.
        gives: the kind of the result, if it is not that of the operands.
    """

    def body(op: Any, a: Any, b: Any) -> Any:
        if not is_value(a) and not is_value(b):
            return python(a, b)
        kinds = {_kind(op, a), _kind(op, b)}
        kind = "float" if "float" in kinds or gives == "float" else "int"
        if kinds == {"bool"} and gives == "bool":
            kind = "bool"
        made = build(op, _strong(op, a, kind), _strong(op, b, kind))
        return weak(op, made, gives or kind)

    body.__name__ = name.split("::")[1]
    body.__doc__ = f"`{body.__name__}` of two numbers."
    aten(name, rule=_RULE, untested=_NO_SAMPLES)(body)


def _floordiv(op: Any, a: Any, b: Any) -> Any:
    """The quotient, rounded down; sizes are not negative, and need no correction."""
    if a.onnx_dtype.is_float:
        return op.Floor(op.Div(a, b))
    quotient = op.Div(a, b)
    if _at_least_zero(a) and _at_least_zero(b):
        return quotient
    rest = op.Sub(a, op.Mul(quotient, b))
    wrong = op.And(op.Not(op.Equal(rest, 0)), op.Xor(op.Less(rest, 0), op.Less(b, 0)))
    return op.Sub(quotient, op.Cast(wrong, to=DType.INT64))


def _mod(op: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor."""
    if a.onnx_dtype.is_float:
        return op.Sub(a, op.Mul(op.Floor(op.Div(a, b)), b))
    return op.Mod(a, b)


def _simple(name: str) -> Callable[..., Any]:
    return lambda op, a, b: getattr(op, name)(a, b)


def _equal(op: Any, a: Any, b: Any) -> Any:
    return op.Equal(a, b)


for _name, _python, _build in (
    ("add", operator.add, _simple("Add")),
    ("sub", operator.sub, _simple("Sub")),
    ("mul", operator.mul, _simple("Mul")),
    ("floordiv", operator.floordiv, _floordiv),
    ("mod", operator.mod, _mod),
    ("pow", operator.pow, _simple("Pow")),
):
    _binary(f"_operator::{_name}", _python, _build)
_binary("_operator::truediv", operator.truediv, _simple("Div"), "float")
_binary("torch::sym_max", builtins.max, _simple("Max"))
_binary("torch::sym_min", builtins.min, _simple("Min"))
_binary("builtins::max", builtins.max, _simple("Max"))
_binary("builtins::min", builtins.min, _simple("Min"))
for _name, _python, _op in (
    ("lt", operator.lt, "Less"),
    ("le", operator.le, "LessOrEqual"),
    ("gt", operator.gt, "Greater"),
    ("ge", operator.ge, "GreaterOrEqual"),
):
    _binary(f"_operator::{_name}", _python, _simple(_op), "bool")
_binary("_operator::eq", operator.eq, _equal, "bool")
_binary("_operator::ne", operator.ne, lambda op, a, b: op.Not(op.Equal(a, b)), "bool")


def _logical(name: str, python: Callable[[Any, Any], Any], on_bool: str, on_int: str) -> None:
    def body(op: Any, a: Any, b: Any) -> Any:
        if not is_value(a) and not is_value(b):
            return python(a, b)
        if _kind(op, a) == "bool" and _kind(op, b) == "bool":
            made = getattr(op, on_bool)(_strong(op, a, "bool"), _strong(op, b, "bool"))
            return weak(op, made, "bool")
        return weak(op, getattr(op, on_int)(_strong(op, a, "int"), _strong(op, b, "int")), "int")

    body.__name__ = name.split("::")[1]
    body.__doc__ = f"`{body.__name__}` of two numbers."
    aten(name, rule=_RULE, untested=_NO_SAMPLES)(body)


_logical("_operator::and_", operator.and_, "And", "BitwiseAnd")
_logical("_operator::or_", operator.or_, "Or", "BitwiseOr")
_logical("_operator::xor", operator.xor, "Xor", "BitwiseXor")


def _unary(
    name: str, python: Callable[[Any], Any], build: Callable[..., Any], gives: str | None = None
) -> None:
    """Register a function of one number."""

    def body(op: Any, a: Any) -> Any:
        if not is_value(a):
            return python(a)
        kind = _kind(op, a)
        return weak(op, build(op, _strong(op, a, kind)), gives or kind)

    body.__name__ = name.split("::")[1]
    body.__doc__ = f"`{body.__name__}` of a number."
    aten(name, rule=_RULE, untested=_NO_SAMPLES)(body)


def _rounded(name: str) -> Callable[..., Any]:
    return lambda op, a: getattr(op, name)(a) if a.onnx_dtype.is_float else a


def _truncated(op: Any, a: Any) -> Any:
    return op.Cast(a, to=DType.INT64)


def _real(name: str) -> Callable[..., Any]:
    return lambda op, a: getattr(op, name)(cast(op, a, DType.DOUBLE))


_unary("_operator::neg", operator.neg, lambda op, a: op.Neg(a))
_unary("_operator::pos", operator.pos, _rounded("Identity"))
_unary("_operator::abs", operator.abs, lambda op, a: op.Abs(a))
_unary("builtins::abs", builtins.abs, lambda op, a: op.Abs(a))
_unary("_operator::not_", operator.not_, lambda op, a: op.Not(cast(op, a, DType.BOOL)), "bool")
_unary("torch::sym_not", operator.not_, lambda op, a: op.Not(cast(op, a, DType.BOOL)), "bool")
for _module in ("math", "torch"):
    _prefix = "" if _module == "math" else "_sym_"
    _unary(f"{_module}::{_prefix}ceil", math.ceil, _rounded("Ceil"), "int")
    _unary(f"{_module}::{_prefix}floor", math.floor, _rounded("Floor"), "int")
    _unary(f"{_module}::{_prefix}sqrt", math.sqrt, _real("Sqrt"), "float")
_unary("math::trunc", math.trunc, _truncated, "int")
_unary("_operator::trunc", math.trunc, _truncated, "int")
_unary("builtins::round", builtins.round, _rounded("Round"), "int")
_unary("torch::sym_int", int, _truncated, "int")
_unary("torch::sym_float", float, lambda op, a: op.Cast(a, to=DType.DOUBLE), "float")
_unary("builtins::int", int, _truncated, "int")
_unary("builtins::float", float, lambda op, a: op.Cast(a, to=DType.DOUBLE), "float")
_unary("builtins::bool", bool, lambda op, a: op.Cast(a, to=DType.BOOL), "bool")
_unary("math::exp", math.exp, _real("Exp"), "float")
_unary("math::log", math.log, _real("Log"), "float")


@aten("torch::sym_ite", rule=_RULE, untested=_NO_SAMPLES)
def sym_ite(op: Any, b: Any, t: Any, f: Any) -> Any:
    """`t` if `b` else `f`, of numbers."""
    if not is_value(b):
        return t if b else f
    kinds = {_kind(op, t), _kind(op, f)}
    kind = next(k for k in ("float", "int", "bool") if k in kinds)
    chosen = op.Where(_strong(op, b, "bool"), _strong(op, t, kind), _strong(op, f, kind))
    return weak(op, chosen, kind)


@aten("torch::sym_sum", rule=_RULE, untested=_NO_SAMPLES)
def sym_sum(op: Any, args: Any) -> Any:
    """The sum of several sizes."""
    known = sum(a for a in args if not is_value(a))
    result: Any = known
    for a in args:
        if is_value(a):
            a = _strong(op, a, "int")
            result = a if not is_value(result) and result == 0 else op.Add(result, a)
    return weak(op, result, "int") if is_value(result) else result


@aten("aten::sym_size.int", rule=_RULE, untested=_NO_SAMPLES)
def sym_size(op: Any, self: Any, dim: int) -> Any:
    """The size of one dimension."""
    found = size(op, self, dim)
    return found if isinstance(found, int) else weak(op, found, "int")


@aten("aten::sym_size", rule=_RULE, untested=_NO_SAMPLES)
def sym_sizes(op: Any, self: Any) -> Any:
    """The sizes of all dimensions."""
    return [sym_size(op, self, n) for n in range(self.rank)]


@aten("aten::sym_numel", rule=_RULE, untested=_NO_SAMPLES)
def sym_numel(op: Any, self: Any) -> Any:
    """The number of elements."""
    found = numel(op, self)
    return found if isinstance(found, int) else weak(op, found, "int")


@aten("aten::sym_stride.int", rule=_RULE, untested=_NO_SAMPLES)
def sym_stride(op: Any, self: Any, dim: int) -> Any:
    """The stride of one dimension of a contiguous tensor, in elements."""
    result: Any = 1
    for n in range(dim % self.rank + 1, self.rank):
        one = size(op, self, n)
        if isinstance(result, int) and isinstance(one, int):
            result *= one
        else:
            result = op.Mul(_strong(op, result, "int"), _strong(op, one, "int"))
    return weak(op, result, "int") if is_value(result) else result


@aten("aten::sym_storage_offset", rule=_RULE, untested=_NO_SAMPLES)
def sym_storage_offset(op: Any, self: Any) -> int:
    """The offset of a contiguous tensor in its storage: none."""
    return 0


@aten("aten::item", "aten::_local_scalar_dense", rule=_RULE, untested=_NO_SAMPLES)
def item(op: Any, self: Any) -> Any:
    """The one element of a tensor as a number."""
    if self.rank:
        self = op.Reshape(self, op.constant(np.zeros(0, np.int64)))
    return weak(op, self, _kind(op, self))


@aten(
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
    rule=_RULE,
    untested=_NO_SAMPLES,
)
def sym_constrain_range(op: Any, size: Any, *, min: Any = None, max: Any = None) -> None:
    """A promise about a number, checked by PyTorch when it captures; nothing is computed."""


@aten("aten::_assert_scalar", rule=_RULE, untested=_NO_SAMPLES)
def assert_scalar(op: Any, self: Any, assert_msg: str) -> None:
    """A check of a number; ONNX has no operator that fails."""


@aten("aten::_assert_async", rule=_RULE, untested=_NO_SAMPLES)
def assert_async(op: Any, self: Any) -> None:
    """A check of a tensor; ONNX has no operator that fails."""


@aten("aten::_assert_async.msg", rule=_RULE, untested=_NO_SAMPLES)
def assert_async_msg(op: Any, self: Any, assert_msg: str) -> None:
    """A check of a tensor; ONNX has no operator that fails."""


@aten("aten::_assert_tensor_metadata", rule=_RULE, untested=_NO_SAMPLES)
def assert_tensor_metadata(
    op: Any,
    a: Any,
    size: Any = None,
    stride: Any = None,
    dtype: Any = None,
) -> None:
    """A check of sizes and type, done when the program is captured."""
