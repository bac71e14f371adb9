"""Functions that keep the elements and change their order or shape."""

from __future__ import annotations

from collections.abc import Callable

from onnxwright.semantics import indexing
from onnxwright.semantics.backend import Backend, V
from onnxwright.semantics.literals import (
    cast,
    emit1,
    int_constant,
    rank_of,
    shape_of,
    squeeze,
    unsqueeze,
)
from onnxwright.semantics.numpy_functions.arguments import (
    axis_numbers,
    flat,
    known_rank,
    one_axis,
    operand,
    read_dtype,
    refuse,
    run_on,
    shape_vector,
    static,
)


def reshape(b: Backend[V], x: object, *shape: object, order: object = "C") -> V:
    """The elements in another shape; one size may be -1."""
    value = operand(b, x)
    row_order(b, "reshape", order)
    if not shape:
        refuse(b, "reshape", "there is no shape", "give sizes, or a tuple of them")
    new_shape = shape[0] if len(shape) == 1 else shape
    sizes = shape_vector(b, "reshape", new_shape, value)
    size_array = b.constant_value(sizes)
    some = list(new_shape) if isinstance(new_shape, (list, tuple)) else [new_shape]
    follows = any(isinstance(s, int) and s == -1 for s in some)
    # 0 is a size in numpy; ONNX takes it as "the same size" unless `allowzero` says otherwise.
    if (size_array is None and not follows) or (size_array is not None and 0 in size_array):
        return emit1(b, "Reshape", (value, sizes), allowzero=1)
    return emit1(b, "Reshape", (value, sizes))


def row_order(b: Backend[V], function: str, order: object) -> None:
    """Refuse orders of memory that ONNX does not have."""
    if static(b, f"`order` of `{function}`", order) not in ("C", "K", "A"):
        refuse(b, function, f"`order` is {order!r}", "tensors of ONNX are in C order")


def flatten(b: Backend[V], x: object, order: object = "C") -> V:
    """The elements along one axis."""
    row_order(b, "flatten", order)
    return flat(b, operand(b, x))


def transpose(b: Backend[V], x: object, *axes: object) -> V:
    """The axes in another order; reversed where none is given."""
    value = operand(b, x)
    perm: object = axes[0] if len(axes) == 1 else axes or None
    axes_of_perm = axis_numbers(b, "transpose", rank_of(b, value), perm)
    if axes_of_perm is None:
        return value if rank_of(b, value) in (0, 1) else emit1(b, "Transpose", (value,))
    rank = (
        known_rank(b, "transpose", value) if any(a < 0 for a in axes_of_perm) else len(axes_of_perm)
    )
    if sorted(axes_of_perm) != list(range(rank)) or rank_of(b, value) not in (None, rank):
        refuse(
            b, "transpose", f"{tuple(axes_of_perm)} does not name each axis", "name each axis once"
        )
    return (
        value
        if axes_of_perm == list(range(rank))
        else emit1(b, "Transpose", (value,), perm=axes_of_perm)
    )


def swapaxes(b: Backend[V], x: object, axis1: object, axis2: object) -> V:
    """Two axes in each other's place."""
    value = operand(b, x)
    rank = known_rank(b, "swapaxes", value)
    order = list(range(rank))
    first, second = (one_axis(b, "swapaxes", rank, a) for a in (axis1, axis2))
    order[first], order[second] = second, first
    return transpose(b, value, order)


def moveaxis(b: Backend[V], x: object, source: object, destination: object) -> V:
    """Axes moved to other places; the others keep their order."""
    value = operand(b, x)
    rank = known_rank(b, "moveaxis", value)
    moved = axis_numbers(b, "moveaxis", rank, source) or []
    places = axis_numbers(b, "moveaxis", rank, destination) or []
    if len(moved) != len(places):
        refuse(b, "moveaxis", "the numbers of axes differ", "give as many places as axes")
    order = [a for a in range(rank) if a not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return transpose(b, value, order)


def squeeze_(b: Backend[V], x: object, axis: object = None) -> V:
    """Without axes of size one: the given ones, or all of them."""
    value = operand(b, x)
    axes = axis_numbers(b, "squeeze", rank_of(b, value), axis)
    shape = shape_of(b, value)
    if axes is None:
        if shape is not None and all(isinstance(d, int) for d in shape):
            return squeeze(b, value, tuple(n for n, d in enumerate(shape) if d == 1))
        return emit1(b, "Squeeze", (value,))
    if shape is not None and any(isinstance(shape[a], int) and shape[a] != 1 for a in axes):
        refuse(b, "squeeze", "an axis has another size than one", "leave it out of `axis`")
    return squeeze(b, value, tuple(axes))


def expand_dims(b: Backend[V], x: object, axis: object) -> V:
    """With new axes of size one, whose numbers count in the result."""
    value = operand(b, x)
    rank = rank_of(b, value)
    places = static(b, "`axis` of `expand_dims`", axis)
    count = len(places) if isinstance(places, (list, tuple)) else 1
    axes = axis_numbers(b, "expand_dims", None if rank is None else rank + count, places)
    return unsqueeze(b, value, tuple(axes or ()))


def astype(b: Backend[V], x: object, dtype: object, *, copy: object = True) -> V:  # noqa: ARG001
    """The elements converted to another type."""
    value = operand(b, x)
    return cast(b, value, read_dtype(b, "astype", dtype))


def broadcast_to(b: Backend[V], x: object, shape: object) -> V:
    """Repeated to a shape."""
    value = operand(b, x)
    target = shape_vector(b, "broadcast_to", shape, value)
    shape_array = b.constant_value(target)
    have = shape_of(b, value)
    if shape_array is not None and have is not None:
        pairs = list(zip(reversed(have), reversed(shape_array.tolist()), strict=False))
        bad = any(isinstance(d, int) and d not in (1, size) for d, size in pairs)
        if bad or len(have) > shape_array.size:
            advice = "sizes are equal, or one where they are repeated"
            refuse(
                b, "broadcast_to", f"{list(have)} does not become {shape_array.tolist()}", advice
            )
    return emit1(b, "Expand", (value, target))


def flip(b: Backend[V], x: object, axis: object = None) -> V:
    """Elements in reverse order along axes."""
    value = operand(b, x)
    rank = known_rank(b, "flip", value)
    axes = axis_numbers(b, "flip", rank, axis)
    turned = range(rank) if axes is None else axes
    backward, whole = slice(None, None, -1), slice(None)
    return indexing.subscript(
        b, value, tuple(backward if n in turned else whole for n in range(rank))
    )


def roll(b: Backend[V], x: object, shift: object, axis: object = None) -> V:
    """Elements moved along an axis; those beyond the end come first."""
    value = operand(b, x)
    step = static(b, "`shift` of `roll`", shift)
    if isinstance(step, (list, tuple)):
        axes = axis_numbers(b, "roll", rank_of(b, value), axis) or []
        for one, at in zip(step, axes, strict=True):
            value = roll(b, value, one, at)
        return value
    if axis is None:
        rolled = roll(b, flat(b, value), step, 0)
        return emit1(b, "Reshape", (rolled, emit1(b, "Shape", (value,))))
    rank = known_rank(b, "roll", value)
    at = one_axis(b, "roll", rank, axis)
    size = (shape_of(b, value) or ())[at]
    if size == 0 or step == 0:
        return value
    cut: object = -step
    if isinstance(size, int):
        cut = -step % size
    elif step:
        length = emit1(b, "Gather", (emit1(b, "Shape", (value,)), int_constant(b, at)))
        cut = emit1(b, "Mod", (int_constant(b, -step), emit1(
            b, "Max", (length, int_constant(b, 1)))))  # fmt: skip
    before: list[object] = [slice(None)] * at
    head = indexing.subscript(b, value, (*before, slice(None, cut)))
    tail = indexing.subscript(b, value, (*before, slice(cut, None)))
    return emit1(b, "Concat", (tail, head), axis=at)


def _triangle(name: str, upper: int) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, k: object = 0) -> V:
        value = operand(b, x)
        offset = static(b, f"`k` of `{name}`", k)
        inputs = (value, int_constant(b, offset)) if offset else (value,)
        return run_on(b, "Trilu", value, inputs, upper=upper)

    apply.__doc__ = "ONNX Trilu: one half of a matrix, with or without the diagonal `k`."
    return apply


triu = _triangle("triu", 1)
tril = _triangle("tril", 0)


def copy(b: Backend[V], x: object, order: object = "C") -> V:
    """The same elements, in an array of their own: a new value, for which no node is needed."""
    row_order(b, "copy", order)
    return operand(b, x)
