"""Rules for values that are shapes: what operators make of small vectors of dimensions."""

from __future__ import annotations

from collections.abc import Callable

from onnxwright.operators.op_call import OpCall, UnknownError
from onnxwright.operators.record import DimsRule
from onnxwright.types.shapes import Dim, Shape


def unchanged(call: OpCall) -> Shape:
    """The dimensions of the first input, in order."""
    return call.dims(0)


def pairs(call: OpCall, first: int = 0) -> list[tuple[Dim, ...]]:
    """The elements of several inputs side by side, vectors of one element repeated."""
    columns = [call.dims(n) for n in range(first, len(call.types))]
    size = (
        1
        if all(len(c) == 1 for c in columns)
        else next((len(c) for c in columns if len(c) != 1), 1)
    )
    if any(len(c) not in (1, size) for c in columns):
        raise UnknownError
    return list(zip(*(c * size if len(c) == 1 else c for c in columns), strict=True))


def each(function: Callable[..., Dim]) -> DimsRule:
    """The rule of an operator that computes each element from those beside it."""

    def rule(call: OpCall) -> Shape:
        return tuple(function(*items) for items in pairs(call))

    return rule
