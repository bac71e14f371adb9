"""Operators that move elements: Transpose, Concat, Slice, Split, Pad, DepthToSpace."""

from __future__ import annotations

import numpy as np

from onnxwright.operators.attribute_faults import axes_fault, block_fault
from onnxwright.operators.dims_rules import unchanged
from onnxwright.operators.flops import free
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import (
    MOST_DIMS,
    Array,
    ContradictionError,
    OpCall,
    UnknownError,
    axis_in,
    listed,
    same,
    shape_operand,
)
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts, moves_data
from onnxwright.types import dims
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape

# "To the end" in a slice.
_FAR = (1 << 31) - 1


def _transpose_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    perm = call.attr("perm")
    if perm is None:
        return shape[::-1]
    if sorted(perm) != list(range(len(shape))):
        raise ContradictionError(f"`perm` with each of the axes {_axes(shape)}", list(perm))
    return tuple(shape[n] for n in perm)


def _axes(shape: Shape) -> str:
    """The axes of a shape as numbers."""
    return ", ".join(map(str, range(len(shape)))) or "of a scalar"


def _concat_shape(call: OpCall) -> Shape:
    shapes = [call.shape(n) for n in range(len(call.types))]
    rank = len(shapes[0])
    for shape in shapes:
        if len(shape) != rank:
            raise ContradictionError(f"inputs with {rank} axes, as the first", listed(shape))
    axis = axis_in(call.attr("axis"), rank)
    result = list(shapes[0])
    for shape in shapes[1:]:
        for n, dim in enumerate(shape):
            if n == axis:
                result[n] = dims.add(result[n], dim)
            elif result[n] != dim:
                expected = f"inputs that differ along axis {axis} only, with {{}} along axis {n}"
                result[n] = same(result[n], dim, expected)
    return tuple(result)


def _slice_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    if "starts" in call.signature.attributes:
        starts, ends = tuple(call.attr("starts")), tuple(call.attr("ends"))
        axes_given = call.attr("axes")
        steps: Shape = (1,) * len(starts)
    else:
        starts, ends = shape_operand(call, 1), shape_operand(call, 2)
        axes_given = call.numbers(3) if call.has(3) else None
        steps = shape_operand(call, 4) if call.has(4) else (1,) * len(starts)
    axes = tuple(range(len(starts))) if axes_given is None else tuple(axes_given)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        lengths = f"{len(starts)}, {len(ends)}, {len(axes)} and {len(steps)} numbers"
        raise ContradictionError("starts, ends, axes and steps of one length", lengths)
    if 0 in steps:
        raise ContradictionError("steps that are not 0", listed(steps))
    result = list(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        n = axis_in(axis, len(shape))
        result[n] = sliced(result[n], start, end, step)
    return tuple(result)


def sliced(dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """The length of a slice of a dimension.

    Example:
        >>> sliced("N", 0, 4, 1), sliced("N", -2, _FAR, 1), sliced("N", 0, -1, 1)
        ('min(4, N)', 'min(2, N)', 'max(0, N - 1)')
        >>> sliced("N + 3", 1, _FAR, 2), sliced(9, 8, 0, -3), sliced("2*N", "N", "2*N", 1)
        ('(N + 1)//2 + 1', 3, 'N')
    """
    if dim is None or start is None or end is None or type(step) is not int or step == 0:
        return None
    if type(dim) is int and type(start) is int and type(end) is int:
        return len(range(dim)[start:end:step])
    if step < 0:
        whole = start in (-1, dims.sub(dim, 1)) or (type(start) is int and start >= _FAR)
        if whole and type(end) is int and end <= -_FAR:
            return dims.ceildiv(dim, -step)
        return None
    if type(start) is int and start < 0 and _at_end(dim, end):
        return dims.ceildiv(dims.minimum(dim, -start), step)
    if _at_end(dim, end) and dims.at_least(start, 0):
        return dims.ceildiv(dims.maximum(dims.sub(dim, start), 0), step)
    low = _clamped(dim, start)
    high = dim if _at_end(dim, end) else _clamped(dim, end)
    return dims.ceildiv(dims.maximum(dims.sub(high, low), 0), step)


def _at_end(dim: Dim, end: Dim) -> bool:
    return (type(end) is int and end >= _FAR) or end == dim


def _clamped(dim: Dim, place: Dim) -> Dim:
    """A start or end as it counts: from the start of the axis, inside of it."""
    if dims.at_least(place, 0):
        return dims.minimum(place, dim)
    if dims.at_least(dims.neg(place), 1):
        return dims.maximum(dims.add(dim, place), 0)
    return None


def _split_types(call: OpCall) -> list[OnnxType | None]:
    kind, shape = call.tensor(0), call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    sizes: Shape | None = None
    if "split" in call.signature.attributes:
        sizes = call.attr("split")
    elif call.has(1):
        sizes = shape_operand(call, 1)
    if sizes is None:
        sizes = _even(shape[axis], call.attr("num_outputs", None) or call.count)
        if call.since < 18 and any(s != sizes[0] for s in sizes):
            raise UnknownError
    if len(sizes) != call.count:
        raise ContradictionError(f"{len(sizes)} outputs, one for each size", call.count)
    whole = dims.total(sizes)
    if type(whole) is int and type(shape[axis]) is int and whole != shape[axis]:
        expected = f"sizes whose sum is {shape[axis]}, the length of axis {axis}"
        raise ContradictionError(expected, listed(tuple(sizes)))
    return [TensorType(kind.dtype, (*shape[:axis], s, *shape[axis + 1 :])) for s in sizes]


def _even(dim: Dim, count: int) -> Shape:
    size = dims.ceildiv(dim, count)
    if type(dim) is not int and dims.mod(dim, count) != 0:
        return (size,) * (count - 1) + (dims.sub(dim, dims.mul(size, count - 1)),)
    last = dims.sub(dim, dims.mul(size, count - 1))
    if type(last) is int and last <= 0:
        raise UnknownError
    return (size,) * (count - 1) + (last,)


def _pad_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    rank = len(shape)
    if "pads" in call.signature.attributes:
        pads: Shape = tuple(call.attr("pads"))
    else:
        pads = call.dims(1)
    axes = [axis_in(a, rank) for a in call.numbers(3)] if call.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise ContradictionError(f"{2 * len(axes)} pads, two for each axis", listed(pads))
    result = list(shape)
    for n, axis in enumerate(axes):
        result[axis] = dims.add(result[axis], dims.add(pads[n], pads[n + len(axes)]))
        if type(result[axis]) is int and result[axis] < 0:  # type: ignore[operator]
            expected = f"pads that cut at most {shape[axis]} from axis {axis}"
            raise ContradictionError(expected, listed((pads[n], pads[n + len(axes)])))
    return tuple(result)


def _depth_to_space_shape(call: OpCall) -> Shape:
    n, c, h, w = _images(call)
    size = call.attr("blocksize")
    if size <= 0:
        raise UnknownError
    if type(c) is int and c % (size * size):
        raise ContradictionError(f"channels in multiples of {size * size}", c)
    return (n, dims.floordiv(c, size * size), dims.mul(h, size), dims.mul(w, size))


def _space_to_depth_shape(call: OpCall) -> Shape:
    n, c, h, w = _images(call)
    size = call.attr("blocksize")
    if size <= 0:
        raise UnknownError
    if any(type(d) is int and d % size for d in (h, w)):
        raise ContradictionError(f"height and width in multiples of {size}", listed((h, w)))
    return (n, dims.mul(c, size * size), dims.floordiv(h, size), dims.floordiv(w, size))


def _images(call: OpCall) -> tuple[Dim, Dim, Dim, Dim]:
    shape = call.shape(0)
    if len(shape) != 4:
        raise ContradictionError("4 axes (batch, channels, height, width)", listed(shape))
    return shape


def _square_matrices(call: OpCall) -> Shape:
    shape = call.shape(0)
    if len(shape) < 2:
        raise ContradictionError("at least 2 axes", listed(shape))
    return shape


def _concat_dims(call: OpCall) -> Shape:
    broadcast: list[Dim] = []
    for n in range(len(call.types)):
        dims = call.dims_if_known(n)
        if dims is None:
            shape = call.shape(n)
            if len(shape) != 1 or not isinstance(shape[0], int) or shape[0] > MOST_DIMS:
                raise UnknownError
            dims = (None,) * shape[0]
        broadcast += dims
    return tuple(broadcast)


def _slice_dims(call: OpCall) -> Shape:
    dims = call.dims(0)
    if len(call.shape(0)) != 1:
        raise UnknownError
    starts, ends = call.attr_or_input("starts", 1), call.attr_or_input("ends", 2)
    if starts is None or ends is None or len(starts) != 1 or len(ends) != 1:
        raise UnknownError
    steps = call.numbers(4) if call.has(4) else (1,)
    if len(steps) != 1 or steps[0] == 0:
        raise UnknownError
    start, end, step = starts[0], ends[0], steps[0]
    return dims[start:end:step]


def _fold_slice(call: OpCall) -> Array:
    x = constant(call, 0)
    starts, ends = call.attr_or_input("starts", 1), call.attr_or_input("ends", 2)
    assert starts is not None
    assert ends is not None
    axes = call.attr_or_input("axes", 3)
    steps = call.numbers(4) if call.has(4) else (1,) * len(starts)
    index: list[slice] = [slice(None)] * x.ndim
    places = range(len(starts)) if axes is None else axes
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        index[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(index)]


def _fold_transpose(call: OpCall) -> Array:
    return np.transpose(constant(call, 0), call.attr("perm"))


def _fold_concat(call: OpCall) -> Array:
    return np.concatenate(
        [constant(call, n) for n in range(len(call.arrays))], axis=call.attr("axis")
    )


FACTS = (
    OperatorFacts("CenterCropPad"),
    moves_data("Compress"),
    moves_data("Concat", infer=_concat_shape, dims=_concat_dims, folding=ALWAYS, fold=_fold_concat),
    moves_data("DepthToSpace", attribute_fault=block_fault, infer=_depth_to_space_shape),
    OperatorFacts("Pad", copies=True, cheap=True, infer=_pad_shape, flops=free),
    moves_data("ReverseSequence", least_ranks=(2, 1)),
    moves_data("Slice", infer=_slice_shape, dims=_slice_dims, folding=ALWAYS, fold=_fold_slice),
    moves_data("SpaceToDepth", attribute_fault=block_fault, infer=_space_to_depth_shape),
    moves_data(
        "Split",
        infer=_split_types,
        dims=unchanged,
        folding=ALWAYS,
        changes={18: Change("needs num_outputs where the input `split` is absent")},
    ),
    moves_data(
        "Transpose",
        attribute_fault=axes_fault,
        infer=_transpose_shape,
        folding=ALWAYS,
        fold=_fold_transpose,
    ),
    OperatorFacts("Trilu", copies=True, cheap=True, infer=_square_matrices, flops=free),
)
