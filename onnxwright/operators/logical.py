"""Comparisons, logic, operations on bits, and Where."""

from __future__ import annotations

from functools import partial

import numpy as np

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.dims_rules import pairs
from onnxwright.operators.flops import per_output
from onnxwright.operators.folding import elementwise
from onnxwright.operators.op_call import MOST_DIMS, OpCall, UnknownError
from onnxwright.operators.record import ALWAYS, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape


def _where_dims(call: OpCall) -> Shape:
    condition = call.arrays[0]
    if condition is None or condition.ndim > 1 or condition.size > MOST_DIMS:
        raise UnknownError
    chosen = condition.ravel().tolist()
    sides = pairs(call, first=1)
    size = max(len(chosen), len(sides)) if min(len(chosen), len(sides)) else 0
    if len(chosen) not in (1, size) or len(sides) not in (1, size):
        raise UnknownError
    chosen = chosen * size if len(chosen) == 1 else chosen
    sides = sides * size if len(sides) == 1 else sides
    return tuple(a if c else b for c, (a, b) in zip(chosen, sides, strict=True))


def _less(a: Dim, b: Dim) -> bool | None:
    if dims.at_least(dims.sub(b, a), 1):
        return True
    return False if dims.at_least(dims.sub(a, b), 0) else None


def _not(x: bool | None) -> bool | None:
    return None if x is None else not x


_unary = partial(OperatorFacts, elementwise=True, infer=first_input, flops=per_output(1))
_broadcasting = partial(
    OperatorFacts, elementwise=True, infer=broadcast_inputs, flops=per_output(1)
)

_compares = partial(_broadcasting, exact_on_integers=True, cheap=True, folding=ALWAYS)
_combines = partial(_broadcasting, commutative=True, cheap=True)

FACTS = (
    _combines("And", symbol="&", fold=elementwise(np.logical_and)),
    _broadcasting("BitShift", cheap=True),
    _combines("BitwiseAnd", symbol="&", fold=elementwise(np.bitwise_and)),
    _unary("BitwiseNot", cheap=True, fold=elementwise(np.invert)),
    _combines("BitwiseOr", symbol="|", fold=elementwise(np.bitwise_or)),
    _combines("BitwiseXor", symbol="^", fold=elementwise(np.bitwise_xor)),
    _compares(
        "Equal", commutative=True, symbol="==", compare=dims.equal, fold=elementwise(np.equal)
    ),
    _compares(
        "Greater", symbol=">", compare=lambda a, b: _less(b, a), fold=elementwise(np.greater)
    ),
    _compares(
        "GreaterOrEqual",
        symbol=">=",
        compare=lambda a, b: _not(_less(a, b)),
        fold=elementwise(np.greater_equal),
    ),
    _unary("IsInf", cheap=True),
    _unary("IsNaN", cheap=True),
    _compares("Less", symbol="<", compare=_less, fold=elementwise(np.less)),
    _compares(
        "LessOrEqual",
        symbol="<=",
        compare=lambda a, b: _not(_less(b, a)),
        fold=elementwise(np.less_equal),
    ),
    _unary("Not", cheap=True, folding=ALWAYS, fold=elementwise(np.logical_not)),
    _combines("Or", symbol="|", fold=elementwise(np.logical_or)),
    _broadcasting(
        "Where",
        correctly_rounded=True,
        copies=True,
        cheap=True,
        dims=_where_dims,
        folding=ALWAYS,
        fold=elementwise(np.where),
    ),
    _combines("Xor", symbol="^", fold=elementwise(np.logical_xor)),
)
