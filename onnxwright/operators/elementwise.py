"""Arithmetic and mathematical functions of each element; Min, Max, Mean and Sum of tensors."""

from __future__ import annotations

from functools import partial

import numpy as np

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.dims_rules import each, pairs
from onnxwright.operators.flops import per_further_input, per_output
from onnxwright.operators.folding import constant, keeping_dtype
from onnxwright.operators.op_call import Array, ContradictionError, OpCall, UnknownError, listed
from onnxwright.operators.record import ALWAYS, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape


def _clip_shape(call: OpCall) -> Shape:
    """Source: ONNX Clip 11: `min` and `max` are scalars; runtimes take one element of any rank."""
    for n in (1, 2):
        if call.has(n) and any(type(d) is int and d != 1 for d in call.shape(n)):
            name = call.signature.inputs[n].name
            raise ContradictionError(f"`{name}` of one element", listed(call.shape(n)))
    return call.shape(0)


def _div_dims(a: Dim, b: Dim) -> Dim:
    # ONNX cuts towards zero; for numbers that are not negative that is rounding down.
    return dims.floordiv(a, b) if dims.at_least(a, 0) and dims.at_least(b, 0) else None


def _mod_dims(call: OpCall) -> Shape:
    def rest(a: Dim, b: Dim) -> Dim:
        return dims.mod(a, b) if dims.at_least(a, 0) and dims.at_least(b, 0) else None

    return tuple(rest(a, b) for a, b in pairs(call))


def _abs_dims(a: Dim) -> Dim:
    if isinstance(a, int):
        return abs(a)
    return a if dims.at_least(a, 0) else None


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    if not b.all() or (a.dtype.kind == "i" and a.size and a.min() == np.iinfo(a.dtype).min):
        raise UnknownError
    if a.dtype.kind == "u":
        return np.asarray(a // b)
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))


def _fold_div(call: OpCall) -> Array:
    return _divide(constant(call, 0), constant(call, 1))


def _fold_mod(call: OpCall) -> Array:
    a, b = constant(call, 0), constant(call, 1)
    if call.attr("fmod", 0):
        if a.dtype.kind in "iu" and not b.all():
            raise UnknownError
        return np.asarray(np.fmod(a, b))
    if a.dtype.kind not in "iu" or not b.all():
        raise UnknownError
    return np.asarray(np.mod(a, b))


_unary = partial(OperatorFacts, elementwise=True, infer=first_input, flops=per_output(1))
_broadcasting = partial(
    OperatorFacts, elementwise=True, infer=broadcast_inputs, flops=per_output(1)
)

_exact = partial(_unary, correctly_rounded=True, exact_on_integers=True, cheap=True)
_exact_of_two = partial(_broadcasting, correctly_rounded=True, exact_on_integers=True, cheap=True)

FACTS = (
    _exact("Abs", modular=True, dims=each(_abs_dims), folding=ALWAYS, fold=keeping_dtype(np.abs)),
    _unary("Acos"),
    _unary("Acosh"),
    _exact_of_two(
        "Add",
        modular=True,
        commutative=True,
        symbol="+",
        dims=each(dims.add),
        folding=ALWAYS,
        fold=keeping_dtype(np.add),
    ),
    _unary("Asin"),
    _unary("Asinh"),
    _unary("Atan"),
    _unary("Atanh"),
    _unary("Ceil", correctly_rounded=True, cheap=True, fold=keeping_dtype(np.ceil)),
    _exact("Clip", infer=_clip_shape),
    _unary("Cos", folding=ALWAYS),
    _unary("Cosh"),
    _exact_of_two("Div", symbol="/", dims=each(_div_dims), folding=ALWAYS, fold=_fold_div),
    _unary("Erf"),
    _unary("Exp", folding=ALWAYS),
    _unary("Floor", correctly_rounded=True, cheap=True, fold=keeping_dtype(np.floor)),
    _unary("Log", folding=ALWAYS),
    _exact_of_two(
        "Max",
        commutative=True,
        dims=each(dims.maximum),
        fold=keeping_dtype(np.maximum),
        flops=per_further_input,
    ),
    _broadcasting("Mean", commutative=True, cheap=True, flops=per_further_input),
    _exact_of_two(
        "Min",
        commutative=True,
        dims=each(dims.minimum),
        fold=keeping_dtype(np.minimum),
        flops=per_further_input,
    ),
    _broadcasting("Mod", exact_on_integers=True, dims=_mod_dims, fold=_fold_mod),
    _exact_of_two(
        "Mul",
        modular=True,
        commutative=True,
        symbol="*",
        dims=each(dims.mul),
        folding=ALWAYS,
        fold=keeping_dtype(np.multiply),
    ),
    _exact(
        "Neg", modular=True, dims=each(dims.neg), folding=ALWAYS, fold=keeping_dtype(np.negative)
    ),
    _broadcasting("Pow", modular=True, symbol="**", folding=ALWAYS),
    _unary("Reciprocal", cheap=True, folding=ALWAYS),
    _unary("Round", cheap=True),
    _exact("Sign"),
    _unary("Sin", folding=ALWAYS),
    _unary("Sinh"),
    _unary("Sqrt", correctly_rounded=True, cheap=True, folding=ALWAYS, fold=keeping_dtype(np.sqrt)),
    _exact_of_two(
        "Sub",
        modular=True,
        symbol="-",
        dims=each(dims.sub),
        folding=ALWAYS,
        fold=keeping_dtype(np.subtract),
    ),
    _broadcasting(
        "Sum",
        modular=True,
        exact_on_integers=True,
        commutative=True,
        cheap=True,
        flops=per_further_input,
    ),
    _unary("Tan"),
)
