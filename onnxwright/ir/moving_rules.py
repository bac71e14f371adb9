"""Output shapes of the operators that move elements: reshaping, slicing, joining, padding.

Rules as in `shape_rules`, for numbers and for names.
"""

from __future__ import annotations

from collections.abc import Callable

from onnxwright.operators.op_call import OpCall, UnknownError, axis_in, same
from onnxwright.types import dims
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape

Rule = Callable[[OpCall], Shape | list[OnnxType | None]]

# "To the end" in a slice.
_FAR = (1 << 31) - 1


def joined(*shapes: Shape) -> Shape:
    """The broadcast of shapes."""
    a = shapes[0]
    for b in shapes[1:]:
        if a == b and None not in a:
            continue
        if len(b) > len(a):
            a, b = b, a
        pad = len(a) - len(b)
        a = (*a[:pad], *map(_join, a[pad:], b))
    return a


def _join(a: Dim, b: Dim) -> Dim:
    if b in (a, 1):
        return a
    if a == 1:
        return b
    if type(a) is int:
        if type(b) is int:
            raise UnknownError
        return a
    if type(b) is int:
        return b
    return a if dims.equal(a, b) else None


def _transpose(call: OpCall) -> Shape:
    shape = call.shape(0)
    perm = call.attr("perm")
    if perm is None:
        return shape[::-1]
    if sorted(perm) != list(range(len(shape))):
        raise UnknownError
    return tuple(shape[n] for n in perm)


def _concat(call: OpCall) -> Shape:
    shapes = [call.shape(n) for n in range(len(call.types))]
    rank = len(shapes[0])
    if any(len(s) != rank for s in shapes):
        raise UnknownError
    axis = axis_in(call.attr("axis"), rank)
    result = list(shapes[0])
    for shape in shapes[1:]:
        for n, dim in enumerate(shape):
            if n == axis:
                result[n] = dims.add(result[n], dim)
            elif result[n] != dim:
                result[n] = same(result[n], dim)
    return tuple(result)


def _gather(call: OpCall) -> Shape:
    data, indices = call.shape(0), call.shape(1)
    axis = axis_in(call.attr("axis"), len(data))
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_nd(call: OpCall) -> Shape:
    """Source: ONNX GatherND: indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]."""
    data, indices = call.shape(0), call.shape(1)
    depth = indices[-1] if indices else None
    batch = call.attr("batch_dims", 0)
    if type(depth) is not int or batch + depth > len(data):
        raise UnknownError
    return (*indices[:-1], *data[batch + depth :])


def _squeeze(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.given("axes", 1)
    if axes is None:
        if any(type(d) is not int for d in shape):
            raise UnknownError
        return tuple(d for d in shape if d != 1)
    gone = {axis_in(a, len(shape)) for a in axes}
    if any(type(shape[n]) is int and shape[n] != 1 for n in gone):
        raise UnknownError
    return tuple(d for n, d in enumerate(shape) if n not in gone)


def _unsqueeze(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.given("axes", 1)
    if axes is None:
        raise UnknownError
    rank = len(shape) + len(axes)
    new = {axis_in(a, rank) for a in axes}
    if len(new) != len(axes):
        raise UnknownError
    rest = iter(shape)
    return tuple(1 if n in new else next(rest) for n in range(rank))


def _flatten(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis = call.attr("axis")
    if not -len(shape) <= axis <= len(shape):
        raise UnknownError
    axis = axis + len(shape) if axis < 0 else axis
    return (dims.product(shape[:axis]), dims.product(shape[axis:]))


def wanted(call: OpCall, n: int) -> Shape:
    """Input `n` as a shape, at least its length."""
    found = call.dims_if_known(n)
    if found is not None:
        return found
    (length,) = call.shape(n) if len(call.shape(n)) == 1 else (None,)
    if type(length) is not int or length > 64:
        raise UnknownError
    return (None,) * length


def _reshape(call: OpCall) -> Shape:
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
                raise UnknownError
            result[n] = shape[n]
            assert rest is not None
            rest[n] = 1
        elif dim == -1:
            if open_at is not None:
                raise UnknownError
            open_at = n
        elif type(dim) is int and dim < 0:
            raise UnknownError
        else:
            known = dim if dim is None or dims.at_least(dim, 0) else None
            result[n] = known
            divisor.append(known)
    whole = None if rest is None else dims.product(rest)
    part = dims.product(divisor)
    if open_at is not None:
        result[open_at] = _quotient(whole, part)
    elif type(whole) is int and type(part) is int and whole != part:
        raise UnknownError
    return tuple(result)


def _reshape_target(call: OpCall) -> Shape:
    if "shape" in call.signature.attributes:
        return tuple(call.attr("shape") or ())
    return wanted(call, 1)


def _quotient(whole: Dim, part: Dim) -> Dim:
    if part == 0:
        raise UnknownError
    if type(whole) is int and type(part) is int and whole % part:
        raise UnknownError
    return dims.floordiv(whole, part)


def _expand(call: OpCall) -> Shape:
    to = wanted(call, 1)
    if any(type(d) is int and d < 0 for d in to):
        raise UnknownError
    return joined(call.shape(0), tuple(d if dims.at_least(d, 0) else None for d in to))


def _tile(call: OpCall) -> Shape:
    shape, repeats = call.shape(0), call.dims(1)
    if len(repeats) != len(shape) or any(type(d) is int and d < 0 for d in repeats):
        raise UnknownError
    return tuple(dims.mul(d, r) for d, r in zip(shape, repeats))


def _pad(call: OpCall) -> Shape:
    shape = call.shape(0)
    rank = len(shape)
    if "pads" in call.signature.attributes:
        pads: Shape = tuple(call.attr("pads"))
    else:
        pads = call.dims(1)
    axes = [axis_in(a, rank) for a in call.numbers(3)] if call.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise UnknownError
    result = list(shape)
    for n, axis in enumerate(axes):
        result[axis] = dims.add(result[axis], dims.add(pads[n], pads[n + len(axes)]))
        if type(result[axis]) is int and result[axis] < 0:  # type: ignore[operator]
            raise UnknownError
    return tuple(result)


def _slice(call: OpCall) -> Shape:
    shape = call.shape(0)
    if "starts" in call.signature.attributes:
        starts, ends = tuple(call.attr("starts")), tuple(call.attr("ends"))
        given = call.attr("axes")
        steps: Shape = (1,) * len(starts)
    else:
        starts, ends = wanted(call, 1), wanted(call, 2)
        given = call.numbers(3) if call.has(3) else None
        steps = wanted(call, 4) if call.has(4) else (1,) * len(starts)
    axes = tuple(range(len(starts))) if given is None else tuple(given)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise UnknownError
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


def _split(call: OpCall) -> list[OnnxType | None]:
    kind, shape = call.tensor(0), call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    sizes: Shape | None = None
    if "split" in call.signature.attributes:
        sizes = call.attr("split")
    elif call.has(1):
        sizes = wanted(call, 1)
    if sizes is None:
        sizes = _even(shape[axis], call.attr("num_outputs", None) or call.count)
        if call.since < 18 and any(s != sizes[0] for s in sizes):
            raise UnknownError
    if len(sizes) != call.count:
        raise UnknownError
    whole = dims.total(sizes)
    if type(whole) is int and type(shape[axis]) is int and whole != shape[axis]:
        raise UnknownError
    return [TensorType(kind.dtype, (*shape[:axis], s, *shape[axis + 1 :])) for s in sizes]


def _even(dim: Dim, count: int) -> Shape:
    size = dims.ceildiv(dim, count)
    if type(dim) is not int and dims.mod(dim, count) != 0:
        return (size,) * (count - 1) + (dims.sub(dim, dims.mul(size, count - 1)),)
    last = dims.sub(dim, dims.mul(size, count - 1))
    if type(last) is int and last <= 0:
        raise UnknownError
    return (size,) * (count - 1) + (last,)


RULES: dict[str, Rule] = {
    "Concat": _concat,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Pad": _pad,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}

__all__ = ["RULES", "Rule", "joined", "sliced", "wanted"]
