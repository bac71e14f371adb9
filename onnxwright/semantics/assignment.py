"""`x[...] = value` as a new tensor, with numpy's rules: ScatterND, or Where for a mask.

Where the index and the sizes are known, the places are a constant.  Else the places are what the
index selects from the numbers 0, 1, 2, ... in the shape of the indexed axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.diagnostics.catalogue import numpy_functions as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.index_items import (
    ArrayItem,
    IntItem,
    Item,
    MaskItem,
    NewAxisItem,
    SliceItem,
    axis_count,
    read_index,
)
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.literals import (
    as_value,
    cast,
    concat,
    dtype_of,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
    squeeze,
    strengthen,
    unsqueeze,
)
from onnxwright.semantics.numpy_functions.arguments import known_rank
from onnxwright.semantics.operands import shape_text
from onnxwright.types.dtypes import DType

# Beyond so many places they are computed when the model runs, and not stored in it.
PLACES_LIMIT = 4096
_FAR = np.iinfo(np.int64).max
_WHERE = frozenset(
    (DType.UINT8, DType.INT8, DType.INT32, DType.INT64, DType.FLOAT16, DType.FLOAT, DType.DOUBLE)
)


def assign(b: Backend[V], x: V, index: object, value: object) -> V:
    """`x` with `value` at `index`; `value` is broadcast and converted to the element type of `x`.

    Args:
        index: what `x[index]` takes.
        value: a value, number, list or array.

    Returns:
        The new tensor.

    Raises:
        ScriptTypeError: the index is of a kind that cannot index (OW413), or needs a rank that is
            not known (OW414).
        ScriptValueError: an index is out of range (OW411, OW412), or the value does not have a
            shape that fits (OW869).

    Source: the numpy reference on assigning values to indexed arrays.
    """
    x = strengthen(b, x)
    written = _written(b, x, value)
    items, split = read_index(b, x, index)
    masked = _masked(b, x, items, written)
    if masked is not None:
        return masked
    count = sum(axis_count(i) for i in items if not isinstance(i, NewAxisItem))
    if any(isinstance(i, MaskItem) and i.rank is None for i in items):
        known_rank(b, "x[mask] = value", x)
    if split < len(items):
        count = known_rank(b, "x[..., i] = value", x)
    if count == 0:
        return _whole(b, x, written)
    places = _known_places(b, x, index, items, count)
    size: V | None = None
    if places is not None:
        at, selected = places
    else:
        at, size = _computed_places(b, x, index, count)
        selected = None
    rest = shape_of(b, x)
    rest = None if rest is None else rest[count:]
    target, target_shape = _target(b, x, at, selected, rest, count)
    updates = _spread(b, written, target, target_shape)
    if places is not None:
        return emit1(b, "ScatterND", (x, at, updates), "assigning to a part of a tensor")
    rows = unsqueeze(b, at, (-1,))
    if size is None:
        return emit1(b, "ScatterND", (x, rows, updates), "assigning to a part of a tensor")
    whole = emit1(b, "Shape", (x,))
    tail = _slice(b, whole, count, _FAR)
    joined = _reshape(b, x, concat(b, [unsqueeze(b, size, (0,)), tail], 0))
    scattered = emit1(b, "ScatterND", (joined, rows, updates), "assigning to a part of a tensor")
    return _reshape(b, scattered, whole)


def _written(b: Backend[V], x: V, value: object) -> V:
    """What is written, in the element type of `x`."""
    dtype = dtype_of(b, x)
    # A number is true where it is not zero.
    value_written = as_value(b, value, like=None if dtype is DType.BOOL else x)
    if dtype is None:
        other = dtype_of(b, value_written)
        return value_written if other is None else emit1(b, "CastLike", (value_written, x))
    return cast(b, value_written, dtype)


def _masked(b: Backend[V], x: V, items: list[Item[V]], value: V) -> V | None:
    """`x[mask] = number` as Where; None where it is something else."""
    if len(items) != 1 or not isinstance(items[0], MaskItem) or rank_of(b, value) != 0:
        return None
    mask, rank, own = items[0], rank_of(b, x), shape_of(b, items[0].at)
    shape = shape_of(b, x)
    if mask.rank is None or rank is None or shape is None or own is None:
        return None
    if dtype_of(b, x) not in _WHERE or mask.rank == 0:
        return None
    # A mask that is broadcast would be wrong, so its sizes must be those of the tensor.
    if any(d != e and 1 in (d, e) for d, e in zip(shape, own, strict=False)):
        return None
    if any(d is None for d in own) and 1 not in own and own != shape[: mask.rank]:
        return None
    test = unsqueeze(b, mask.at, tuple(range(mask.rank, rank)))
    return emit1(b, "Where", (test, value, x))


# -- places ----------------------------------------------------------------------------------------


def _known_places(
    b: Backend[V], x: V, index: object, items: list[Item[V]], count: int
) -> tuple[V, tuple[int, ...]] | None:
    """The places as a constant of index rows, and the shape that the index selects."""
    if len(items) == count and all(isinstance(i, IntItem) for i in items):
        numbers: list[Any] = [i.at for i in items if isinstance(i, IntItem)]
        if all(isinstance(n, int) for n in numbers):
            sizes = shape_of(b, x) or ()
            pairs = zip(numbers, sizes, strict=False)
            if any(isinstance(d, int) and not -d <= n < d for n, d in pairs):
                subscript(b, x, index)  # which says what is out of range
            return int_constant(b, numbers), ()
    shape = shape_of(b, x)
    if shape is None:
        return None
    static_dims = [d for d in shape[:count] if isinstance(d, int)]
    static = _static_index(b, items)
    if len(static_dims) != count or static is None:
        return None
    chosen = tuple(static[: _before_ellipsis(index, items)])
    after = tuple(static[len(chosen) :])
    index_of = (*chosen, ..., *after)
    coordinates = np.indices(static_dims)
    try:
        index_array = np.stack([c[index_of] for c in coordinates], axis=-1)
    except (IndexError, ValueError):
        subscript(b, x, index)  # which says what is wrong
        return None
    if index_array.size > PLACES_LIMIT:
        return None
    return b.constant(index_array.astype(np.int64)), index_array.shape[:-1]


def _before_ellipsis(index: object, items: list[Item[V]]) -> int:
    raw = list(index) if isinstance(index, tuple) else [index]
    for n, part in enumerate(raw):
        if part is Ellipsis:
            return n
    return len(items)


def _static_index(b: Backend[V], items: list[Item[V]]) -> list[Any] | None:
    """The index as numpy takes it, where all of it is known."""
    indices: list[Any] = []
    for item in items:
        if isinstance(item, NewAxisItem):
            indices.append(None)
        elif isinstance(item, SliceItem):
            parts = (item.start, item.stop, item.step)
            if any(is_value(p) for p in parts):
                return None
            indices.append(slice(*parts))
        elif isinstance(item, IntItem) and not is_value(item.at):
            indices.append(item.at)
        elif isinstance(item, (ArrayItem, MaskItem)) and b.constant_value(item.at) is not None:
            indices.append(b.constant_value(item.at))
        else:
            return None
    return indices


def _computed_places(b: Backend[V], x: V, index: object, count: int) -> tuple[V, V | None]:
    """The places among the elements of the first `count` axes, and how many these are.

    The places have the shape that the index selects; of one axis, the number is None.
    """
    whole = emit1(b, "Shape", (x,))
    zero, one = int_constant(b, 0), int_constant(b, 1)
    if count == 1:
        numbers = emit1(b, "Range", (zero, gather(b, whole, zero), one))
        return subscript(b, numbers, index), None
    head = _slice(b, whole, 0, count)
    size = emit1(b, "ReduceProd", (head,), keepdims=0)
    numbers = _reshape(b, emit1(b, "Range", (zero, size, one)), head)
    return subscript(b, numbers, index), size


def _reshape(b: Backend[V], x: V, sizes: V) -> V:
    """Reshape, in which a size of 0 is 0; before opset 14 ONNX has none of that kind."""
    if b.opset.version < 14:
        return emit1(b, "Reshape", (x, sizes))
    return emit1(b, "Reshape", (x, sizes), allowzero=1)


def _slice(b: Backend[V], vector: V, start: int, stop: int) -> V:
    if b.opset.version < 10:
        return emit1(b, "Slice", (vector,), starts=[start], ends=[stop], axes=[0])
    return emit1(b, "Slice", (vector, int_constant(b, [start]), int_constant(b, [stop])))


def _whole(b: Backend[V], x: V, value: V) -> V:
    """`x[...] = value`: the value in the shape of `x`."""
    sizes, have, shape = emit1(b, "Shape", (x,)), shape_of(b, value), shape_of(b, x)
    spread = _spread(b, value, sizes, shape)
    if have is not None and shape is not None and len(have) <= len(shape):
        pairs = zip(reversed(have), reversed(shape), strict=False)
        if all(d == 1 or (d is not None and d == e) for d, e in pairs):
            return spread
    # Expand would make more than the sizes of `x` from a value that has more: Reshape does not.
    return _reshape(b, spread, sizes)


# -- what is written -------------------------------------------------------------------------------


def _target(
    b: Backend[V],
    x: V,
    at: V,
    selected: tuple[int, ...] | None,
    rest: tuple[int | str | None, ...] | None,
    count: int,
) -> tuple[V, tuple[int | str | None, ...] | None]:
    """The shape of what the index selects, as a value and as far as known."""
    first = selected if selected is not None else shape_of(b, at)
    shape = None if first is None or rest is None else (*first, *rest)
    if shape is not None and all(isinstance(d, int) for d in shape):
        return int_constant(b, [d for d in shape if isinstance(d, int)]), shape
    parts = []
    if selected is None:
        parts.append(emit1(b, "Shape", (at,)))
    elif selected:
        parts.append(int_constant(b, list(selected)))
    if rest != ():
        parts.append(_slice(b, emit1(b, "Shape", (x,)), count, _FAR))
    return concat(b, parts, 0), shape


def _spread(
    b: Backend[V], value: V, target: V, target_shape: tuple[int | str | None, ...] | None
) -> V:
    """The value broadcast to a shape, as numpy does when it writes.

    Raises:
        ScriptValueError: it does not fit (OW869).
    """
    have = shape_of(b, value)
    if have is None or target_shape is None:
        return emit1(b, "Expand", (value, target))
    extra = len(have) - len(target_shape)
    if extra > 0 and not any(isinstance(d, int) and d != 1 for d in have[:extra]):
        value, have = squeeze(b, value, tuple(range(extra))), have[extra:]
    pairs = list(zip(reversed(have), reversed(target_shape), strict=False))
    wrong = any(isinstance(d, int) and isinstance(e, int) and d not in (1, e) for d, e in pairs)
    if wrong or len(have) > len(target_shape):
        fail(messages.WrittenShape(
            value=shape_text(have), part=shape_text(target_shape), span=b.here()
        ))  # fmt: skip
    if have == target_shape and all(isinstance(d, int) for d in have):
        return value
    return emit1(b, "Expand", (value, target))
