"""Operators that keep or repeat elements in order: Reshape, Squeeze, Flatten, Expand, Tile."""

from __future__ import annotations

import numpy as np

from onnxwright.operators.broadcasting import broadcast, first_input
from onnxwright.operators.dims_rules import unchanged
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import (
    MOST_DIMS,
    Array,
    ContradictionError,
    OpCall,
    UnknownError,
    axis_in,
    listed,
    shape_operand,
)
from onnxwright.operators.record import ALWAYS, moves_data
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape


def _reshape_shape(call: OpCall) -> Shape:
    to = _reshape_target(call)
    try:
        shape = call.shape(0)
    except UnknownError:
        shape = None
    keeps = not call.attr("allowzero", 0)
    rest, result, open_at = list(shape) if shape is not None else None, list(to), None
    divisor: list[Dim] = []
    for n, dim in enumerate(to):
        if dim == 0 and keeps:
            if shape is None:
                result[n] = None
                continue
            if n >= len(shape):
                raise ContradictionError(
                    f"0 (keep the size) for axes of {listed(shape)}", f"axis {n}"
                )
            result[n] = shape[n]
            assert rest is not None
            rest[n] = 1
        elif dim == -1:
            if open_at is not None:
                raise ContradictionError("one -1 at most", listed(to))
            open_at = n
        elif type(dim) is int and dim < 0:
            raise ContradictionError("sizes, 0 or -1", listed(to))
        else:
            dim_or_none = dim if dim is None or dims.at_least(dim, 0) else None
            result[n] = dim_or_none
            divisor.append(dim_or_none)
    whole = None if rest is None else dims.product(rest)
    part = dims.product(divisor)
    if open_at is not None:
        if part and type(whole) is int and type(part) is int and whole % part:
            raise ContradictionError(
                f"a shape for the elements of {listed(shape or ())}", listed(to)
            )
        result[open_at] = _quotient(whole, part)
    elif type(whole) is int and type(part) is int and whole != part:
        raise ContradictionError(f"a shape for the elements of {listed(shape or ())}", listed(to))
    return tuple(result)


def _reshape_target(call: OpCall) -> Shape:
    if "shape" in call.signature.attributes:
        return tuple(call.attr("shape") or ())
    return shape_operand(call, 1)


def _quotient(whole: Dim, part: Dim) -> Dim:
    if part == 0:
        raise UnknownError
    return dims.floordiv(whole, part)


def _flatten_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis = call.attr("axis")
    if not -len(shape) <= axis <= len(shape):
        raise ContradictionError(f"an axis from {-len(shape)} to {len(shape)}", axis)
    axis = axis + len(shape) if axis < 0 else axis
    return (dims.product(shape[:axis]), dims.product(shape[axis:]))


def _squeeze_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.attr_or_input("axes", 1)
    if axes is None:
        if any(type(d) is not int for d in shape):
            raise UnknownError
        return tuple(d for d in shape if d != 1)
    gone = {axis_in(a, len(shape)) for a in axes}
    for n in sorted(gone):
        if type(shape[n]) is int and shape[n] != 1:
            raise ContradictionError(f"axis {n} of size 1", shape[n])
    return tuple(d for n, d in enumerate(shape) if n not in gone)


def _unsqueeze_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.attr_or_input("axes", 1)
    if axes is None:
        raise UnknownError
    rank = len(shape) + len(axes)
    new = {axis_in(a, rank) for a in axes}
    if len(new) != len(axes):
        raise ContradictionError("each axis once", list(axes))
    rest = iter(shape)
    return tuple(1 if n in new else next(rest) for n in range(rank))


def _expand_shape(call: OpCall) -> Shape:
    to = shape_operand(call, 1)
    if any(type(d) is int and d < 0 for d in to):
        raise ContradictionError("sizes that are not negative", listed(to))
    return broadcast(call.shape(0), tuple(d if dims.at_least(d, 0) else None for d in to))


def _tile_shape(call: OpCall) -> Shape:
    shape, repeats = call.shape(0), call.dims(1)
    if len(repeats) != len(shape):
        raise ContradictionError(f"{len(shape)} repeats, one for each axis", listed(repeats))
    if any(type(d) is int and d < 0 for d in repeats):
        raise ContradictionError("repeats that are not negative", listed(repeats))
    return tuple(dims.mul(d, r) for d, r in zip(shape, repeats))


def _expand_dims(call: OpCall) -> Shape:
    dims, to = call.dims(0), call.numbers(1)
    if len(to) > 1 or (to and to[0] > MOST_DIMS):
        raise UnknownError
    return dims * to[0] if to and len(dims) == 1 else dims


def _fold_reshape(call: OpCall) -> Array:
    x = constant(call, 0)
    shape = list(call.attr("shape") if "shape" in call.signature.attributes else call.numbers(1))
    if not call.attr("allowzero", 0):
        shape = [x.shape[n] if d == 0 else d for n, d in enumerate(shape)]
    return x.reshape(shape)


def _fold_squeeze(call: OpCall) -> Array:
    return np.squeeze(constant(call, 0), call.attr_or_input("axes", 1))


def _fold_unsqueeze(call: OpCall) -> Array:
    axes = call.attr_or_input("axes", 1)
    return np.expand_dims(constant(call, 0), axes if axes is not None else ())


def _fold_expand(call: OpCall) -> Array:
    x = constant(call, 0)
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, call.numbers(1))))


FACTS = (
    moves_data(
        "Expand",
        takes_sizes=True,
        infer=_expand_shape,
        dims=_expand_dims,
        folding=ALWAYS,
        fold=_fold_expand,
    ),
    moves_data("Flatten", infer=_flatten_shape, folding=ALWAYS),
    moves_data("Identity", infer=first_input, dims=unchanged, folding=ALWAYS),
    moves_data(
        "Reshape",
        takes_sizes=True,
        infer=_reshape_shape,
        dims=unchanged,
        folding=ALWAYS,
        fold=_fold_reshape,
    ),
    moves_data("Squeeze", infer=_squeeze_shape, dims=unchanged, folding=ALWAYS, fold=_fold_squeeze),
    moves_data("Tile", takes_sizes=True, infer=_tile_shape, folding=ALWAYS),
    moves_data(
        "Unsqueeze", infer=_unsqueeze_shape, dims=unchanged, folding=ALWAYS, fold=_fold_unsqueeze
    ),
)
