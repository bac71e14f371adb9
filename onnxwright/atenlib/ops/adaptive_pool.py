"""Pooling to a given size: window `i` of `n` goes from `i * L // n` up to `ceil((i + 1) * L / n)`.

Averages are products with a matrix of weights for each axis.  Maxima are gathered by a table of
indices; windows shorter than the longest are filled up with a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.norm import working_type
from onnxwright.atenlib.ops.pool import Windows, max_pool
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.rules import like
from onnxwright.atenlib.support import cast, full, least, scalar, size, sizes, vector
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


def _output(op: Any, x: Any, output_size: Any, rank: int) -> list[Any]:
    found = [output_size] if isinstance(output_size, int) else list(output_size)
    found = found * rank if len(found) == 1 else found
    axes = range(x.rank - rank, x.rank)
    return [size(op, x, axis) if n is None else n for n, axis in zip(found, axes, strict=True)]


def _average(op: Any, x: Any, output_size: Any, rank: int) -> Any:
    wanted = _output(op, x, output_size, rank)
    given = x.onnx_dtype
    first = x.rank - rank
    if 0 in x.shape and all(isinstance(n, int) for n in wanted):  # torch: only the batch may be
        return full(op, [*sizes(op, x)[:first], *wanted], 0, given)
    if all(isinstance(n, int) and n == 1 for n in wanted):
        return op.ReduceMean(x, list(range(first, x.rank)))
    x = cast(op, x, working_type(given))
    for n, count in enumerate(wanted):
        x = _average_axis(op, x, first + n, count)
    return cast(op, x, given)


def _average_axis(op: Any, x: Any, axis: int, count: Any) -> Any:
    """Averages of averages are averages: the windows of the axes are independent."""
    length = x.shape[axis]
    if length is not None and length == count and isinstance(count, (int, str)):
        return x
    if not isinstance(count, int):
        unsupported("the size to pool to is not known")
    if not isinstance(length, int):
        return _average_unknown(op, x, axis, count)
    table, real = spans(length, count)
    weights = np.zeros((count, length))
    rows = np.arange(count)[:, None] + 0 * table
    np.add.at(weights, (rows[real], table[real]), 1.0)
    weights /= np.maximum(weights.sum(1, keepdims=True), 1)
    matrix = op.constant(np.ascontiguousarray(weights.T).astype(x.onnx_dtype.numpy))
    return _times(op, x, matrix, axis)


def _times(op: Any, x: Any, matrix: Any, axis: int) -> Any:
    """An axis times a matrix."""
    if axis == x.rank - 1:
        return op.MatMul(x, matrix)
    perm = list(range(x.rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return op.Transpose(op.MatMul(op.Transpose(x, perm=perm), matrix), perm=perm)


def _average_unknown(op: Any, x: Any, axis: int, count: int) -> Any:
    """The matrix of weights from a length that only the run knows."""
    dtype = x.onnx_dtype
    length = scalar(op, size(op, x, axis), DType.INT64)
    rows = op.constant(np.arange(count, dtype=np.int64))
    begins = op.Div(op.Mul(rows, length), count)
    above = op.Mul(op.Add(rows, 1), length)
    ends = op.Div(op.Add(above, count - 1), count)
    places = op.Range(scalar(op, 0, DType.INT64), length, scalar(op, 1, DType.INT64))
    column = op.Unsqueeze(places, [1])
    inside = op.And(op.GreaterOrEqual(column, begins), op.Less(column, ends))
    width = op.Cast(op.Sub(ends, begins), to=dtype)
    return _times(op, x, op.Div(op.Cast(inside, to=dtype), width), axis)


def _avg_tests(n: int) -> list[OpTest]:
    return [OpTest(f"nn.functional.adaptive_avg_pool{n}d", tol=_TOL)]


@aten("aten::adaptive_avg_pool1d", rule=like("self"), tests=_avg_tests(1))
def adaptive_avg_pool1d(op: Any, self: Any, output_size: Any) -> Any:
    """Averages over windows of one axis, so many as asked for."""
    return _average(op, self, output_size, 1)


@aten(
    "aten::adaptive_avg_pool2d",
    "aten::_adaptive_avg_pool2d",
    rule=like("self"),
    tests=_avg_tests(2),
)
def adaptive_avg_pool2d(op: Any, self: Any, output_size: Any) -> Any:
    """Averages over windows of two axes, so many as asked for."""
    return _average(op, self, output_size, 2)


@aten(
    "aten::adaptive_avg_pool3d",
    "aten::_adaptive_avg_pool3d",
    rule=like("self"),
    tests=_avg_tests(3),
)
def adaptive_avg_pool3d(op: Any, self: Any, output_size: Any) -> Any:
    """Averages over windows of three axes, so many as asked for."""
    return _average(op, self, output_size, 3)


def _maximum(op: Any, x: Any, output_size: Any, rank: int) -> Any:
    wanted = _output(op, x, output_size, rank)
    lengths = list(x.shape[-rank:])
    if not all(isinstance(n, int) for n in (*wanted, *lengths)):
        unsupported("adaptive maxima need axes of known size")
    even = all(n > 0 and m > 0 and m % n == 0 for n, m in zip(wanted, lengths, strict=True))
    if even:
        kernel = [m // n for n, m in zip(wanted, lengths, strict=True)]
        w = Windows(kernel, kernel, [0] * rank, [1] * rank, False)
        return max_pool(op, x, w, indices=True)
    return _uneven(op, x, wanted, lengths)


def _uneven(op: Any, x: Any, wanted: Sequence[int], lengths: Sequence[int]) -> Any:
    rank, first = len(wanted), x.rank - len(wanted)
    tables, reals = zip(*(spans(m, n) for m, n in zip(lengths, wanted, strict=True)), strict=True)
    values = x
    for n, table in enumerate(tables):
        values = op.Gather(values, op.constant(table), axis=first + 2 * n)
    order = [*range(first), *range(first, values.rank, 2), *range(first + 1, values.rank, 2)]
    values = op.Transpose(values, perm=order)
    front = sizes(op, values)[: first + rank]
    inner = int(np.prod([t.shape[1] for t in tables]))
    values = op.Reshape(values, vector(op, [*front, inner]), allowzero=1)
    place, real = _places(tables, reals, lengths)
    lowest = scalar(op, least(x.onnx_dtype), x.onnx_dtype)
    masked = values if real.all() else op.Where(op.constant(real), values, lowest)
    best = op.ReduceMax(masked, [masked.rank - 1])
    hit = op.Equal(masked, best)
    if not real.all():
        hit = op.And(hit, op.constant(real))
    chosen = op.ArgMax(op.Cast(hit, to=DType.INT32), axis=-1)
    spots = op.Expand(op.constant(place), op.Shape(values))
    found = op.GatherElements(spots, chosen, axis=-1)
    return op.Squeeze(best, [best.rank - 1]), op.Squeeze(found, [found.rank - 1])


def _places(
    tables: Sequence[Any], reals: Sequence[Any], lengths: Sequence[int]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """`[*out, inner]`: where each element of a window is in its channel, and which are real."""
    place: Any = np.zeros((), np.int64)
    real: Any = np.ones((), bool)
    rank = len(tables)
    for n, (table, is_real, length) in enumerate(zip(tables, reals, lengths, strict=True)):
        shape = [1] * (2 * rank)
        shape[n], shape[rank + n] = table.shape
        place = place * length + table.reshape(shape)
        real = real & is_real.reshape(shape)
    out = [t.shape[0] for t in tables]
    return place.reshape(*out, -1).astype(np.int64), real.reshape(*out, -1)


def _max_tests(n: int) -> list[OpTest]:
    return [OpTest(f"nn.functional.adaptive_max_pool{n}d")]


@aten("aten::adaptive_max_pool1d", rule=like("self"), tests=_max_tests(1))
def adaptive_max_pool1d(op: Any, self: Any, output_size: Any) -> Any:
    """Maxima over windows of one axis, so many as asked for, and their places."""
    return _maximum(op, self, output_size, 1)


@aten("aten::adaptive_max_pool2d", rule=like("self"), tests=_max_tests(2))
def adaptive_max_pool2d(op: Any, self: Any, output_size: Any) -> Any:
    """Maxima over windows of two axes, so many as asked for, and their places."""
    return _maximum(op, self, output_size, 2)


@aten("aten::adaptive_max_pool3d", rule=like("self"), tests=_max_tests(3))
def adaptive_max_pool3d(op: Any, self: Any, output_size: Any) -> Any:
    """Maxima over windows of three axes, so many as asked for, and their places."""
    return _maximum(op, self, output_size, 3)
