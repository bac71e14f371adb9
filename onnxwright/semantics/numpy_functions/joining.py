"""Functions that join, repeat, choose and multiply tensors."""

from __future__ import annotations

import itertools
import string

import numpy as np

from onnxwright.semantics import indexing
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import (
    cast,
    concat,
    dtype_of,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
    unsqueeze,
)
from onnxwright.semantics.numpy_functions.arguments import (
    flat,
    known_rank,
    number,
    one_axis,
    operand,
    operands,
    read_dtype,
    refuse,
    run_on,
    size_of,
    static,
)
from onnxwright.semantics.operands import truth
from onnxwright.types.dtypes import DType


def _several(b: Backend[V], function: str, xs: object) -> list[V]:
    if is_value(xs):
        count = (shape_of(b, xs) or (None,))[0]
        if not isinstance(count, int):
            refuse(b, function, "the number of tensors is not known", "give a list of tensors")
        return [indexing.subscript(b, xs, n) for n in range(count)]
    if not isinstance(xs, (list, tuple)) or not xs:
        refuse(b, function, "there are no tensors to join", "give a list of tensors")
    return operands(b, f"np.{function}", xs)


def concatenate(b: Backend[V], xs: object, axis: object = 0) -> V:
    """Tensors one after the other along an axis; flat ones where `axis` is None."""
    values = _several(b, "concatenate", xs)
    if static(b, "`axis` of `concatenate`", axis) is None:
        return concat(b, [flat(b, v) for v in values], 0)
    ranks = [rank_of(b, v) for v in values]
    known_ranks = {r for r in ranks if r is not None}
    if 0 in known_ranks or len(known_ranks) > 1:
        refuse(b, "concatenate", "the numbers of axes differ, or are zero",
               "use `np.stack`, or give the tensors equally many axes")  # fmt: skip
    at = one_axis(b, "concatenate", known_ranks.pop() if known_ranks else None, axis)
    return concat(b, values, at)


def stack(b: Backend[V], xs: object, axis: object = 0) -> V:
    """Tensors of one shape along a new axis."""
    values = _several(b, "stack", xs)
    ranks = {r for r in (rank_of(b, v) for v in values) if r is not None}
    at = one_axis(b, "stack", ranks.pop() + 1 if ranks else None, axis)
    return concat(b, [unsqueeze(b, v, (at,)) for v in values], at)


def vstack(b: Backend[V], xs: object) -> V:
    """Rows below each other."""
    return concat(b, [_at_least_2d(b, "vstack", v) for v in _several(b, "vstack", xs)], 0)


def hstack(b: Backend[V], xs: object) -> V:
    """Columns beside each other; vectors one after the other."""
    values = _several(b, "hstack", xs)
    first = known_rank(b, "hstack", values[0])
    values = [unsqueeze(b, v, (0,)) if rank_of(b, v) == 0 else v for v in values]
    return concat(b, values, 0 if first <= 1 else 1)


def _at_least_2d(b: Backend[V], function: str, x: V) -> V:
    rank = known_rank(b, function, x)
    return unsqueeze(b, x, tuple(range(2 - rank))) if rank < 2 else x


def split(b: Backend[V], x: object, parts: object, axis: object = 0) -> list[V]:
    """Equal parts along an axis, or parts that end at given places."""
    return _split(b, "split", x, parts, axis)


def array_split(b: Backend[V], x: object, parts: object, axis: object = 0) -> list[V]:
    """As `split`; the first parts are one longer where they cannot be equal."""
    return _split(b, "array_split", x, parts, axis)


def _split(b: Backend[V], function: str, x: object, parts: object, axis: object) -> list[V]:
    value = operand(b, x)
    at = one_axis(b, function, known_rank(b, function, value), axis)
    size = (shape_of(b, value) or ())[at]
    sections = static(b, f"the parts of `{function}`", parts)
    before = (slice(None),) * at
    if isinstance(sections, (list, tuple)):
        edges = [None, *sections, None]
        pairs = itertools.pairwise(edges)
        return [indexing.subscript(b, value, (*before, slice(*pair))) for pair in pairs]
    if sections < 1:
        refuse(b, function, f"there are {sections} parts", "give one or more")
    if isinstance(size, int):
        if function == "split" and size % sections:
            advice = f"{size} elements along axis {at} need another number of parts"
            refuse(b, function, f"{sections} parts are not equal", advice)
        lengths = [size // sections + (n < size % sections) for n in range(sections)]
    elif function == "array_split" or b.opset.version < 18:
        refuse(b, function, f"the size of axis {at} is not known", "give the places to cut at")
    else:
        parts_of_value = b.emit(
            b.opset["Split"], (value,), {"axis": at, "num_outputs": sections}, sections
        )
        return list(parts_of_value)
    if b.opset.version < 13:
        attributes = {"axis": at, "split": lengths}
        return list(b.emit(b.opset["Split"], (value,), attributes, sections))
    inputs = (value, int_constant(b, lengths))
    return list(b.emit(b.opset["Split"], inputs, {"axis": at}, sections))


def tile(b: Backend[V], x: object, reps: object) -> V:
    """The whole tensor repeated along each axis."""
    value = operand(b, x)
    counts = static(b, "`reps` of `tile`", reps)
    times = list(counts) if isinstance(counts, (list, tuple)) else [counts]
    rank = known_rank(b, "tile", value)
    if len(times) > rank:
        value = unsqueeze(b, value, tuple(range(len(times) - rank)))
    times = [1] * (rank - len(times)) + times
    return emit1(b, "Tile", (value, int_constant(b, times)))


def repeat(b: Backend[V], x: object, repeats: object, axis: object = None) -> V:
    """Each element repeated, as often as it or all of them say."""
    value = operand(b, x)
    times = static(b, "`repeats` of `repeat`", repeats)
    if axis is None:
        value, axis = flat(b, value), 0
    at = one_axis(b, "repeat", rank_of(b, value), axis)
    size = size_of(b, value, at)
    counts = times if isinstance(times, (list, tuple)) else [times]
    if any(not isinstance(n, int) or n < 0 for n in counts):
        refuse(b, "repeat", f"`repeats` is {times!r}", "give integers that are not negative")
    if len(counts) > 1:
        if isinstance(size, int) and size != len(counts):
            refuse(b, "repeat", f"there are {len(counts)} counts", f"give {size} of them")
        return gather(b, value, int_constant(b, np.repeat(range(len(counts)), counts).tolist()), at)
    if isinstance(size, int):
        places = np.repeat(np.arange(size), counts[0]).tolist()
        return gather(b, value, int_constant(b, places), at)
    count = emit1(b, "Mul", (size, int_constant(b, counts[0])))
    ends = (int_constant(b, 0), count, int_constant(b, 1))
    numbers = emit1(b, "Range", ends)
    rows = emit1(b, "Div", (numbers, int_constant(b, max(counts[0], 1))))
    return gather(b, value, rows, at)


def take(b: Backend[V], x: object, indices: object, axis: object = None) -> V:
    """Elements, or slices along an axis, at given places."""
    value = operand(b, x)
    if axis is None:
        value, axis = flat(b, value), 0
    rank = known_rank(b, "take", value)
    at = one_axis(b, "take", rank, axis)
    return indexing.subscript(b, value, (*(slice(None),) * at, indices))


def take_along_axis(b: Backend[V], x: object, indices: object, axis: object = -1) -> V:
    """Elements at the indices of each row along an axis."""
    value = operand(b, x)
    rows = cast(b, operand(b, indices), DType.INT64)
    if axis is None:
        value, axis = flat(b, value), 0
    at = one_axis(b, "take_along_axis", known_rank(b, "take_along_axis", value), axis)
    return emit1(b, "GatherElements", (value, rows), axis=at)


def where(b: Backend[V], condition: object, *choices: object) -> V | tuple[V, ...]:
    """One of two, element by element; the places that are true where no choices are given."""
    if not choices:
        return nonzero(b, condition)
    if len(choices) != 2:
        refuse(b, "where", "one choice is given", "give both, or none")
    x, y = operands(b, "np.where", choices)
    test = truth(b, operand(b, condition))
    if dtype_of(b, x) is DType.BOOL:
        return emit1(
            b, "Or", (emit1(b, "And", (test, x)), emit1(b, "And", (emit1(b, "Not", (test,)), y)))
        )
    return run_on(b, "Where", x, (test, x, y))


def nonzero(b: Backend[V], x: object) -> tuple[V, ...]:
    """The indices of elements that are not zero, a vector for each axis."""
    value = operand(b, x)
    rank = known_rank(b, "nonzero", value)
    rows = emit1(b, "NonZero", (truth(b, value),))
    return tuple(gather(b, rows, int_constant(b, n)) for n in range(rank))


def argwhere(b: Backend[V], x: object) -> V:
    """The indices of elements that are not zero, a row for each."""
    return emit1(b, "Transpose", (emit1(b, "NonZero", (truth(b, operand(b, x)),)),))


def sort(b: Backend[V], x: object, axis: object = -1) -> V:
    """Elements in ascending order along an axis, NaN at the end."""
    return _sorted(b, "sort", x, axis)[0]


def argsort(b: Backend[V], x: object, axis: object = -1) -> V:
    """The places that elements in ascending order come from; equal ones keep their order."""
    return _sorted(b, "argsort", x, axis)[1]


def _sorted(b: Backend[V], function: str, x: object, axis: object) -> tuple[V, V]:
    value = operand(b, x)
    if axis is None:
        value, axis = flat(b, value), 0
    at = one_axis(b, function, rank_of(b, value), axis)
    size = size_of(b, value, at)
    count = int_constant(b, [size]) if isinstance(size, int) else unsqueeze(b, size, (0,))
    dtype = dtype_of(b, value)
    if dtype in (DType.FLOAT16, DType.FLOAT, DType.DOUBLE):
        return _sorted_floats(b, value, count, at)
    if dtype is DType.BOOL:
        value = cast(b, value, DType.INT32)
    values, places = _ascending(b, value, count, at)
    return values if dtype is not DType.BOOL else cast(b, values, DType.BOOL), places


def _ascending(b: Backend[V], x: V, count: V, axis: int) -> tuple[V, V]:
    """TopK of all elements: equal ones keep their order, NaN is anywhere."""
    attributes = {"axis": axis, "largest": 0, "sorted": 1}
    values, places = b.emit(b.opset["TopK"], (x, count), attributes, 2)
    return values, places


def _sorted_floats(b: Backend[V], x: V, count: V, axis: int) -> tuple[V, V]:
    """Elements in ascending order, then NaN: by their values, then by whether they are numbers."""

    def at(values: V, places: V) -> V:
        return emit1(b, "GatherElements", (values, places), axis=axis)

    nan = emit1(b, "IsNaN", (x,))
    _, by_value = _ascending(b, emit1(b, "Where", (nan, number(b, x, np.inf), x)), count, axis)
    _, numbers_first = _ascending(b, at(cast(b, nan, DType.INT32), by_value), count, axis)
    places = at(by_value, numbers_first)
    return at(x, places), places


# -- filled ----------------------------------------------------------------------------------------


def full_like(b: Backend[V], x: object, fill_value: object, dtype: object = None) -> V:
    """A tensor of the shape of another, filled with one number."""
    from_ = operand(b, x)
    like = from_ if dtype is None else _one_of(b, dtype)
    shape = shape_of(b, from_)
    filled = cast(b, number(b, like, static(b, "`fill_value`", fill_value)), _dtype(b, like))
    if shape is not None and all(isinstance(d, int) for d in shape):
        sizes = [d for d in shape if isinstance(d, int)]
        return emit1(b, "Expand", (filled, int_constant(b, sizes)))
    return emit1(b, "Expand", (filled, emit1(b, "Shape", (from_,))))


def _one_of(b: Backend[V], dtype: object) -> V:
    return b.constant(np.ones((), read_dtype(b, "full_like", dtype).numpy))


def _dtype(b: Backend[V], x: V) -> DType:
    return dtype_of(b, x) or DType.FLOAT


def zeros_like(b: Backend[V], x: object, dtype: object = None) -> V:
    """Zeros in the shape of another tensor."""
    return full_like(b, x, 0, dtype)


def ones_like(b: Backend[V], x: object, dtype: object = None) -> V:
    """Ones in the shape of another tensor."""
    return full_like(b, x, 1, dtype)


def empty_like(b: Backend[V], x: object, dtype: object = None) -> V:
    """Zeros in the shape of another tensor: they are to be written over."""
    return full_like(b, x, 0, dtype)


def pad(
    b: Backend[V], x: object, pad_width: object, mode: object = "constant", *,
    constant_values: object = 0,
) -> V:  # fmt: skip
    """With more elements before and after, along each axis."""
    value = operand(b, x)
    rank = known_rank(b, "pad", value)
    widths = np.broadcast_to(np.array(static(b, "`pad_width`", pad_width)), (rank, 2))
    kind = static(b, "`mode` of `pad`", mode)
    if kind not in ("constant", "edge", "reflect", "wrap"):
        refuse(b, "pad", f"`mode` is {kind!r}", "use constant, edge, reflect or wrap")
    inputs = [value, int_constant(b, widths.T.reshape(-1).tolist())]
    filler = static(b, "`constant_values`", constant_values)
    if isinstance(filler, (list, tuple)):
        refuse(b, "pad", "`constant_values` differs by axis", "give one number, or pad twice")
    if kind == "constant" and filler != 0:
        inputs.append(number(b, value, filler))
    return emit1(b, "Pad", inputs, f"`pad` with mode {kind}", mode=kind)


# -- products --------------------------------------------------------------------------------------


def dot(b: Backend[V], x: object, y: object) -> V:
    """The product of numbers, vectors and matrices: over the last axis and the last but one."""
    left, right = operands(b, "np.dot", (x, y))
    first, second = known_rank(b, "dot", left), known_rank(b, "dot", right)
    if 0 in (first, second):
        return emit1(b, "Mul", (left, right))
    if second == 1 or (first <= 2 and second == 2):
        return emit1(b, "MatMul", (left, right))
    names = string.ascii_letters
    a, c = names[:first], names[first : first + second]
    c = c[:-2] + a[-1] + c[-1]
    result = a[:-1] + c[:-2] + c[-1]
    return run_on(b, "Einsum", left, (left, right), equation=f"{a},{c}->{result}")


def inner(b: Backend[V], x: object, y: object) -> V:
    """The product over the last axes of both."""
    left, right = operands(b, "np.inner", (x, y))
    first, second = known_rank(b, "inner", left), known_rank(b, "inner", right)
    if 0 in (first, second):
        return emit1(b, "Mul", (left, right))
    names = string.ascii_letters
    a, c = names[:first], names[first : first + second - 1] + names[first - 1]
    return run_on(b, "Einsum", left, (left, right), equation=f"{a},{c}->{a[:-1]}{c[:-1]}")


def outer(b: Backend[V], x: object, y: object) -> V:
    """Each element of one times each of the other."""
    left, right = (flat(b, v) for v in operands(b, "np.outer", (x, y)))
    return emit1(b, "Mul", (unsqueeze(b, left, (1,)), unsqueeze(b, right, (0,))))


def einsum(b: Backend[V], equation: object, *xs: object) -> V:
    """A product written as an equation."""
    text = static(b, "the equation of `einsum`", equation)
    if not isinstance(text, str):
        refuse(
            b, "einsum", "the equation is not a text", "write it, as in `np.einsum('ij,jk', x, y)`"
        )
    values = operands(b, "np.einsum", xs)
    return run_on(b, "Einsum", values[0], values, equation=text.replace(" ", ""))


def tensordot(b: Backend[V], x: object, y: object, axes: object = 2) -> V:
    """A product over pairs of axes."""
    left, right = operands(b, "np.tensordot", (x, y))
    first, second = known_rank(b, "tensordot", left), known_rank(b, "tensordot", right)
    both_axes = static(b, "`axes` of `tensordot`", axes)
    if isinstance(both_axes, int):
        pairs = [(first - both_axes + n, n) for n in range(both_axes)]
    else:
        sides = [list(s) if isinstance(s, (list, tuple)) else [s] for s in both_axes]
        pairs = [(p % first, q % second) for p, q in zip(*sides, strict=True)]
    a = list(string.ascii_letters[:first])
    c = list(string.ascii_letters[first : first + second])
    for p, q in pairs:
        c[q] = a[p]
    gone = {a[p] for p, _ in pairs}
    result = "".join(s for s in (*a, *c) if s not in gone)
    text = f"{''.join(a)},{''.join(c)}->{result}"
    return run_on(b, "Einsum", left, (left, right), equation=text)


def diff(b: Backend[V], x: object, n: object = 1, axis: object = -1) -> V:
    """The difference of neighbours along an axis."""
    value = operand(b, x)
    rank = known_rank(b, "diff", value)
    at = one_axis(b, "diff", rank, axis)
    before = (slice(None),) * at
    for _ in range(static(b, "`n` of `diff`", n)):
        after = indexing.subscript(b, value, (*before, slice(1, None)))
        first = indexing.subscript(b, value, (*before, slice(None, -1)))
        differs = dtype_of(b, value) is DType.BOOL
        value = emit1(b, "Xor" if differs else "Sub", (after, first))
    return value
