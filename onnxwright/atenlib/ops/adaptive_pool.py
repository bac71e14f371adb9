"""Pooling to a given size: window `i` of `n` goes from `i * L // n` up to `ceil((i + 1) * L / n)`.

Averages are products with a matrix of weights for each axis.  Maxima are gathered by a table of
indices; windows shorter than the longest are filled up with a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, is_small, least, scalar, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, product, same_size, size, sizes, static
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.max_pool import Windows, max_pool
from onnxwright.atenlib.ops.norm import working_type
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_TOL = {"float16": Tol(3e-3, 3e-3), "bfloat16": Tol(3e-2, 3e-2), "float32": Tol(1e-5, 1e-5)}


def spans(length: int, count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The indices `[count, longest]` of the windows of an axis, and which of them are real.

    Example:
        >>> spans(5, 2)[0].tolist()
        [[0, 1, 2], [2, 3, 4]]
        >>> spans(4, 3)[1].tolist()
        [[True, True], [True, True], [True, True]]
    """
    n = np.arange(count)
    begins = n * length // max(count, 1)
    ends = -(-(n + 1) * length // max(count, 1))
    longest = int((ends - begins).max()) if count else 1
    table = begins[:, None] + np.arange(longest)
    real = table < ends[:, None]
    return np.minimum(table, max(length - 1, 0)), real


def _output(op: Op, x: Value, output_size: Any, rank: int) -> list[Any]:
    lengths = [output_size] if isinstance(output_size, int) else list(output_size)
    lengths = lengths * rank if len(lengths) == 1 else lengths
    axes = range(x.rank - rank, x.rank)
    return [size(op, x, axis) if n is None else n for n, axis in zip(lengths, axes, strict=True)]


def _average(op: Op, x: Value, output_size: Any, rank: int) -> Value:
    output = _output(op, x, output_size, rank)
    dtype = x.onnx_dtype
    first = x.rank - rank
    if 0 in x.shape and all(isinstance(n, int) for n in output):  # torch: only the batch may be
        return full(op, [*sizes(op, x)[:first], *output], 0, dtype)
    if all(isinstance(n, int) and n == 1 for n in output):
        return op.ReduceMean(x, list(range(first, x.rank)))
    x = cast(op, x, working_type(dtype))
    for n, count in enumerate(output):
        x = _average_axis(op, x, first + n, count)
    return cast(op, x, dtype)


def _average_axis(op: Op, x: Value, axis: int, count: Size) -> Value:
    """Averages of averages are averages: the windows of the axes are independent."""
    length = x.shape[axis]
    if same_size(count, length):
        return x
    if not (isinstance(count, int) and isinstance(length, int) and is_small(count, length)):
        return _average_unknown(op, x, axis, count)
    table, real = spans(length, count)
    weights = np.zeros((count, length))
    rows = np.arange(count)[:, None] + 0 * table
    np.add.at(weights, (rows[real], table[real]), 1.0)
    weights /= np.maximum(weights.sum(1, keepdims=True), 1)
    matrix = op.constant(np.ascontiguousarray(weights.T).astype(x.onnx_dtype.numpy))
    return _times(op, x, matrix, axis)


def _times(op: Op, x: Value, matrix: Value, axis: int) -> Value:
    """An axis times a matrix."""
    if axis == x.rank - 1:
        return op.MatMul(x, matrix)
    perm = list(range(x.rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return op.Transpose(op.MatMul(op.Transpose(x, perm=perm), matrix), perm=perm)


def _average_unknown(op: Op, x: Value, axis: int, count: Size) -> Value:
    """The matrix of weights from sizes that only the run knows."""
    dtype = x.onnx_dtype
    length = size(op, x, axis)
    begins, ends = _limits(op, length, count)
    column = op.Unsqueeze(iota(op, length), [1])
    inside = op.And(op.GreaterOrEqual(column, begins), op.Less(column, ends))
    width = op.Cast(op.Sub(ends, begins), to=dtype)
    return _times(op, x, op.Div(op.Cast(inside, to=dtype), width), axis)


def _limits(op: Op, length: Size, count: Size) -> tuple[Any, Any]:
    """Where the windows of an axis begin and end, `[count]` each, from sizes."""
    rows = iota(op, count)
    begins = op.Div(op.Mul(rows, scalar(op, length, DType.INT64)), scalar(op, count, DType.INT64))
    above = op.Mul(op.Add(rows, 1), scalar(op, length, DType.INT64))
    rest = scalar(op, arithmetic(op, "Sub", count, 1), DType.INT64)
    return begins, op.Div(op.Add(above, rest), scalar(op, count, DType.INT64))


def _maximum(op: Op, x: Value, output_size: Any, rank: int) -> Any:
    output = _output(op, x, output_size, rank)
    lengths = sizes(op, x)[-rank:]
    if static(output) and all(n == 1 for n in output) and 0 not in x.shape:
        return _of_all(op, x, rank)
    if not (static(output) and static(lengths)):
        return _uneven(op, x, output, lengths)
    even = all(n > 0 and m > 0 and m % n == 0 for n, m in zip(output, lengths, strict=True))
    if even:
        kernel = [m // n for n, m in zip(output, lengths, strict=True)]
        w = Windows(kernel, kernel, [0] * rank, [1] * rank, False)
        return max_pool(op, x, w, indices=True)
    return _uneven(op, x, output, lengths)


def _of_all(op: Op, x: Value, rank: int) -> tuple[Value, Value]:
    """One window: the greatest of all, and its place."""
    first = x.rank - rank
    row = x if rank == 1 else op.Reshape(x, vector(op, [*sizes(op, x)[:first], -1]))
    place = op.ArgMax(row, axis=-1)
    largest = op.ReduceMax(x, list(range(first, x.rank)))
    return largest, op.Unsqueeze(place, list(range(first + 1, x.rank))) if rank > 1 else place


def _uneven(
    op: Op, x: Value, output_sizes: Sequence[Size], lengths: Sequence[Size]
) -> tuple[Value, Value]:
    rank, first = len(output_sizes), x.rank - len(output_sizes)
    every = [_table(op, m, n) for m, n in zip(lengths, output_sizes, strict=True)]
    values = x
    for n, (table, _) in enumerate(every):
        values = op.Gather(values, table, axis=first + 2 * n)
    order = [*range(first), *range(first, values.rank, 2), *range(first + 1, values.rank, 2)]
    values = op.Transpose(values, perm=order)
    out = sizes(op, values)[first : first + rank]
    inner = product(op, sizes(op, values)[first + rank :])
    values = op.Reshape(values, vector(op, [*sizes(op, values)[:first], *out, inner]), allowzero=1)
    place, real = _places(op, every, lengths, [*out, inner])
    lowest = scalar(op, least(x.onnx_dtype), x.onnx_dtype)
    masked = values if real is None else op.Where(real, values, lowest)
    best = op.ReduceMax(masked, [masked.rank - 1])
    hit = op.Equal(masked, best)
    if real is not None:
        hit = op.And(hit, real)
    chosen = op.ArgMax(op.Cast(hit, to=DType.INT32), axis=-1)
    spots = op.Expand(place, op.Shape(values))
    places = op.GatherElements(spots, chosen, axis=-1)
    return op.Squeeze(best, [best.rank - 1]), op.Squeeze(places, [places.rank - 1])


def _table(op: Op, length: Size, count: Size) -> tuple[Any, Any]:
    """`spans` of sizes as values: the indices, and which are real (None where all are)."""
    longest: Size | None = None
    if isinstance(length, int) and isinstance(count, int):
        places, is_real = spans(length, count)
        if is_small(*places.shape):
            return op.constant(places), None if is_real.all() else op.constant(is_real)
        longest = int(places.shape[1])
    begins, ends = _limits(op, length, count)
    if longest is None:
        longest = op.ReduceMax(op.Sub(ends, begins), keepdims=0)
    table = op.Add(op.Unsqueeze(begins, [1]), iota(op, longest))
    real = op.Less(table, op.Unsqueeze(ends, [1]))
    return op.Min(table, scalar(op, arithmetic(op, "Sub", length, 1), DType.INT64)), real


def _places(
    op: Op, every: Sequence[tuple[Any, Any]], lengths: Sequence[Size], shape: Sequence[Size]
) -> tuple[Any, Any]:
    """`[*out, inner]`: where each element of a window is in its channel, and which are real."""
    rank = len(every)
    place: Any = None
    real: Any = None
    for n, ((table, is_real), length) in enumerate(zip(every, lengths, strict=True)):
        others = [a for a in range(2 * rank) if a not in (n, rank + n)]
        row = op.Unsqueeze(table, others)
        length = scalar(op, length, DType.INT64)
        place = row if place is None else op.Add(op.Mul(place, length), row)
        if is_real is not None:
            is_real = op.Unsqueeze(is_real, others)
            real = is_real if real is None else op.And(real, is_real)
    if real is not None:
        real = op.Expand(real, op.Shape(place))
        real = op.Reshape(real, vector(op, shape))
    return op.Reshape(place, vector(op, shape)), real


def _register(rank: int, axes: str) -> None:
    """Register the averages and the maxima over windows of so many axes."""

    def average(op: Op, self: Value, output_size: int | Sequence[Size]) -> Value:
        return _average(op, self, output_size, rank)

    def maximum(op: Op, self: Value, output_size: int | Sequence[Size]) -> Any:
        return _maximum(op, self, output_size, rank)

    what = f"over windows of {axes}, so many as asked for"
    name = f"adaptive_avg_pool{rank}d"
    names = [f"aten::{name}"] if rank == 1 else [f"aten::{name}", f"aten::_{name}"]
    tests = [OpTest(f"nn.functional.{name}", tol=_TOL)]
    aten(*names, rule=like("self"), tests=tests, doc=f"Averages {what}.")(average)
    name = f"adaptive_max_pool{rank}d"
    tests = [OpTest(f"nn.functional.{name}")]
    doc = f"Maxima {what}, and their places."
    aten(f"aten::{name}", rule=like("self"), tests=tests, doc=doc)(maximum)


for _rank, _axes in ((1, "one axis"), (2, "two axes"), (3, "three axes")):
    _register(_rank, _axes)
