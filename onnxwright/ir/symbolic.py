"""Values as shapes: what is known of small integer vectors and scalars when tensors have names.

`Shape` of a tensor `FLOAT["N", 3]` is `("N", 3)`; what is gathered, joined and multiplied from it
stays known, so that `Reshape` to it has a known shape.  Names are dimensions, at least 0; a
product that would not fit into the element type is not expected of a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxwright.operators.op_call import (
    MOST_DIMS,
    Array,
    OpCall,
    UnknownError,
    axis_in,
    is_shape_like,
)
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape

Rule = Callable[[OpCall], Shape]


def values_of(call: OpCall, types: Sequence[OnnxType | None]) -> list[Shape | None] | None:
    """The outputs of a call as shapes.

    Args:
        call: the call, of the default domain.
        types: the types of its outputs.

    Returns:
        For each output its dimensions (one for a scalar) or None; None where nothing is known.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> x = TensorType(DType.FLOAT, ("N", 3))
        >>> call = OpCall(signature("", "Shape", 15), {}, 1, [x], [None], [None])
        >>> values_of(call, [TensorType(DType.INT64, (2,))])
        [('N', 3)]
    """
    if call.name == "Split":
        return _split(call, types)
    rule = _RULES.get(call.name)
    if rule is None or not is_shape_like(types[0]):
        return None
    try:
        found = rule(call)
    except UnknownError:
        return None
    kind = types[0]
    assert isinstance(kind, TensorType)
    if len(found) > MOST_DIMS or (all(d is None for d in found) and found):
        return None
    length = kind.shape[0] if kind.shape else 1
    if length != len(found):
        return None
    return [tuple(map(_small, found))]


def _small(d: Dim) -> Dim:
    return None if isinstance(d, int) and not -(1 << 62) < d < (1 << 62) else d


def _split(call: OpCall, types: Sequence[OnnxType | None]) -> list[Shape | None] | None:
    if not all(map(is_shape_like, types)) or not types:
        return None
    found = call.dims_if_known(0)
    if found is None:
        return None
    result: list[Shape | None] = []
    at = 0
    for kind in types:
        assert isinstance(kind, TensorType)
        assert kind.shape is not None
        length = kind.shape[0]
        assert isinstance(length, int)
        result.append(found[at : at + length])
        at += length
    return result if at == len(found) else None


# -- reading shapes --------------------------------------------------------------------------------


def _shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    rank = len(shape)
    start, end = call.attr("start", 0) or 0, call.attr("end", None)
    start = max(start + rank, 0) if start < 0 else min(start, rank)
    end = rank if end is None else max(end + rank, 0) if end < 0 else min(end, rank)
    return shape[start:end]


def _size(call: OpCall) -> Shape:
    return (dims.product(call.shape(0)),)


# -- moving ----------------------------------------------------------------------------------------


def _unchanged(call: OpCall) -> Shape:
    return call.dims(0)


def _cast(call: OpCall) -> Shape:
    if call.tensor(0).dtype not in (DType.INT64, DType.INT32):
        raise UnknownError
    return call.dims(0)


def _index(found: Shape, index: int) -> Dim:
    return found[axis_in(index, len(found))]


def _gather(call: OpCall) -> Shape:
    found = call.dims(0)
    if len(call.shape(0)) != 1:
        raise UnknownError
    return tuple(_index(found, n) for n in call.numbers(1))


def _concat(call: OpCall) -> Shape:
    joined: list[Dim] = []
    for n in range(len(call.types)):
        found = call.dims_if_known(n)
        if found is None:
            shape = call.shape(n)
            if len(shape) != 1 or not isinstance(shape[0], int) or shape[0] > MOST_DIMS:
                raise UnknownError
            found = (None,) * shape[0]
        joined += found
    return tuple(joined)


def _slice(call: OpCall) -> Shape:
    found = call.dims(0)
    if len(call.shape(0)) != 1:
        raise UnknownError
    starts, ends = call.given("starts", 1), call.given("ends", 2)
    if starts is None or ends is None or len(starts) != 1 or len(ends) != 1:
        raise UnknownError
    steps = call.numbers(4) if call.has(4) else (1,)
    if len(steps) != 1 or steps[0] == 0:
        raise UnknownError
    start, end, step = starts[0], ends[0], steps[0]
    return found[start:end:step]


def _expand(call: OpCall) -> Shape:
    found, to = call.dims(0), call.numbers(1)
    if len(to) > 1 or (to and to[0] > MOST_DIMS):
        raise UnknownError
    return found * to[0] if to and len(found) == 1 else found


# -- arithmetic ------------------------------------------------------------------------------------


def _pairs(call: OpCall, first: int = 0) -> list[tuple[Dim, ...]]:
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


def _each(function: Callable[..., Dim]) -> Rule:
    def rule(call: OpCall) -> Shape:
        return tuple(function(*items) for items in _pairs(call))

    return rule


def _div(a: Dim, b: Dim) -> Dim:
    # ONNX cuts towards zero; for numbers that are not negative that is rounding down.
    return dims.floordiv(a, b) if dims.at_least(a, 0) and dims.at_least(b, 0) else None


def _mod(call: OpCall) -> Shape:
    def rest(a: Dim, b: Dim) -> Dim:
        return dims.mod(a, b) if dims.at_least(a, 0) and dims.at_least(b, 0) else None

    return tuple(rest(a, b) for a, b in _pairs(call))


def _abs(a: Dim) -> Dim:
    if isinstance(a, int):
        return abs(a)
    return a if dims.at_least(a, 0) else None


def _reduced(function: Callable[[Shape], Dim]) -> Rule:
    def rule(call: OpCall) -> Shape:
        found = call.dims(0)
        axes = call.given("axes", 1)
        if not axes and call.attr("noop_with_empty_axes", 0):
            return found
        if not call.shape(0):
            return found
        return (function(found),)

    return rule


def _extreme(function: Callable[..., Dim]) -> Callable[[Shape], Dim]:
    return lambda found: function(*found) if found else None


def _where(call: OpCall) -> Shape:
    condition = call.known[0]
    if condition is None or condition.ndim > 1 or condition.size > MOST_DIMS:
        raise UnknownError
    chosen = condition.ravel().tolist()
    sides = _pairs(call, first=1)
    size = max(len(chosen), len(sides)) if min(len(chosen), len(sides)) else 0
    if len(chosen) not in (1, size) or len(sides) not in (1, size):
        raise UnknownError
    chosen = chosen * size if len(chosen) == 1 else chosen
    sides = sides * size if len(sides) == 1 else sides
    return tuple(a if c else b for c, (a, b) in zip(chosen, sides, strict=True))


_RULES: dict[str, Rule] = {
    "Shape": _shape,
    "Size": _size,
    "Identity": _unchanged,
    "Squeeze": _unchanged,
    "Unsqueeze": _unchanged,
    "Reshape": _unchanged,
    "Flatten": _unchanged,
    "Cast": _cast,
    "CastLike": _cast,
    "Gather": _gather,
    "GatherElements": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Expand": _expand,
    "Add": _each(dims.add),
    "Sub": _each(dims.sub),
    "Mul": _each(dims.mul),
    "Div": _each(_div),
    "Mod": _mod,
    "Neg": _each(dims.neg),
    "Abs": _each(_abs),
    "Min": _each(dims.minimum),
    "Max": _each(dims.maximum),
    "Sum": _each(lambda *parts: dims.total(parts)),
    "ReduceProd": _reduced(dims.product),
    "ReduceSum": _reduced(dims.total),
    "ReduceMin": _reduced(_extreme(dims.minimum)),
    "ReduceMax": _reduced(_extreme(dims.maximum)),
    "Where": _where,
}

# -- comparisons -----------------------------------------------------------------------------------


def _less(a: Dim, b: Dim) -> bool | None:
    if dims.at_least(dims.sub(b, a), 1):
        return True
    return False if dims.at_least(dims.sub(a, b), 0) else None


def _not(x: bool | None) -> bool | None:
    return None if x is None else not x


_COMPARISONS: dict[str, Callable[[Dim, Dim], bool | None]] = {
    "Equal": dims.equal,
    "Less": _less,
    "Greater": lambda a, b: _less(b, a),
    "LessOrEqual": lambda a, b: _not(_less(b, a)),
    "GreaterOrEqual": lambda a, b: _not(_less(a, b)),
}


def decided(call: OpCall, types: Sequence[OnnxType | None]) -> Array | None:
    """What a comparison of values as shapes gives, where it is the same for all names.

    Args:
        call: the call, of the default domain.
        types: the types of its outputs.

    Returns:
        An array of BOOL; None where the call is no comparison or something depends on the names.
    """
    function = _COMPARISONS.get(call.name)
    kind = types[0] if types else None
    if function is None or type(kind) is not TensorType or kind.shape is None:
        return None
    try:
        found = [function(a, b) for a, b in _pairs(call)]
    except UnknownError:
        return None
    if any(x is None for x in found) or len(kind.shape) > 1:
        return None
    array = np.array(found, dtype=np.bool_)
    return array.reshape(()) if not kind.shape else array


__all__ = ["decided", "values_of"]
