"""Maxima over windows, with their places as torch counts them, and back to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.helpers.constants import iota, is_small, least, scalar, vector
from onnxwright.atenlib.helpers.conv_matmul import pad
from onnxwright.atenlib.helpers.sizes import arithmetic, product, size, sizes
from onnxwright.atenlib.op import AtenFunction, aten, unsupported
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Shape

# Types that ONNX's MaxPool takes (BFLOAT16 is widened).
_HAVE_MAX_POOL = (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16, DType.DOUBLE, DType.INT8, DType.UINT8)


class Windows(NamedTuple):
    """How windows lie over the last axes; one int for each axis.

    Fields:
        kernel, stride, padding, dilation: as torch has them.
        ceil: whether a last window may begin in the tensor and end beyond its padding.
    """

    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    ceil: bool


def windows(
    rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1, ceil: bool = False
) -> Windows:
    """Windows from torch's arguments, where one int may apply to all axes.

    Args:
        rank: the number of axes.
        kernel, stride, padding, dilation: ints or lists; an empty stride is the kernel.
        ceil: torch's `ceil_mode`.

    Example:
        >>> windows(2, [3], [], 1).stride
        [3, 3]
    """

    def ints(x: int | Sequence[int]) -> list[int]:
        numbers = [x] if isinstance(x, int) else list(x)
        if not all(isinstance(n, int) for n in numbers):
            unsupported("ONNX needs the sizes of windows as numbers")
        return numbers * rank if len(numbers) == 1 else numbers

    wide = ints(kernel)
    stride = wide if isinstance(stride, (list, tuple)) and not stride else ints(stride)
    return Windows(wide, stride, ints(padding), ints(dilation), ceil)


def ends(op: Op, x: Value, w: Windows) -> list[Any]:
    """How much to pad at the end of each axis so that torch's last windows fit.

    With `ceil` torch counts a last window only if it begins inside the tensor or its left padding;
    ONNX Runtime's own rule has differed, so that windows are always counted by explicit pads.

    Returns:
        The pads at the ends, as sizes; may be less than the padding where no window ends there.
    """
    if not w.ceil:
        return list(w.padding)
    pads: list[Any] = []
    first = x.rank - len(w.kernel)
    for n, (kernel, stride, padding, dilation) in enumerate(zip(*w[:4], strict=True)):
        length = size(op, x, first + n)
        reach = dilation * (kernel - 1) + 1
        if isinstance(length, int):
            count = count_windows(length, kernel, stride, padding, dilation)
            pads.append((count - 1) * stride + reach - length - padding)
        else:
            pads.append(_end(op, length, reach, stride, padding))
    return pads


def _end(op: Op, length: Size, reach: int, stride: int, padding: int) -> Size:
    """`ends` of an axis whose size is known at run time."""
    room = arithmetic(op, "Add", length, 2 * padding - reach + stride - 1)
    steps = arithmetic(op, "Div", room, stride)
    # No more steps than there are up to the last element.
    within = arithmetic(op, "Div", arithmetic(op, "Add", length, padding - 1), stride)
    last = arithmetic(op, "Mul", arithmetic(op, "Min", steps, within), stride)
    return arithmetic(op, "Sub", arithmetic(op, "Add", last, reach - padding), length)


def count_windows(length: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The number of windows of an axis with `ceil_mode`.

    Source: torch's pooling_output_shape.

    Example:
        >>> count_windows(6, 3, 2, 0, 1), count_windows(5, 2, 3, 1, 1)
        (3, 2)
    """
    reach = dilation * (kernel - 1) + 1
    count = -(-(length + 2 * padding - reach) // stride) + 1
    return count - 1 if (count - 1) * stride >= length + padding else count


def with_batch(op: Op, x: Value, rank: int) -> tuple[Any, bool]:
    """A tensor with an axis for the batch, and whether it was added."""
    single = x.rank == rank + 1
    return (op.Unsqueeze(x, [0]) if single else x), single


def max_pool(op: Op, x: Value, w: Windows, *, indices: bool) -> tuple[Any, ...] | Any:
    """Maxima, and with `indices` their places in the flattened pooled axes.

    Args:
        x: `[N, C, *axes]` or `[C, *axes]`.
        indices: whether the places are wanted too.

    Returns:
        The maxima, or maxima and INT64 places.
    """
    rank = len(w.kernel)
    x, single = with_batch(op, x, rank)
    if x.onnx_dtype is DType.INT16:
        x = op.Cast(x, to=DType.INT32)
    if x.onnx_dtype not in _HAVE_MAX_POOL or 0 in x.shape:
        results = _by_windows(op, x, w, ends(op, x, w), indices=indices)
    else:
        last = None if _dynamic_ceil(x, w) else ends(op, x, w)
        results = _node(op, x, w, last, indices=indices)
    if single:
        results = [op.Squeeze(v, [0]) for v in results]
    return tuple(results) if indices else results[0]


def _dynamic_ceil(x: Value, w: Windows) -> bool:
    return w.ceil and not all(isinstance(n, int) for n in x.shape[-len(w.kernel) :])


def _unfused(op: Op, x: Value) -> Value:
    """A value that is padded with zeros by a Pad that says its axes.

    ONNX Runtime (PadFusion) lets MaxPool take in any other Pad with zeros, as if it put the lowest
    number there.
    """
    backend: Any = op.backend
    node = backend.made_by(x, "Pad") if hasattr(backend, "made_by") else None
    if node is None or any(v is not None for v in node.inputs[2:]):
        return x
    mode = node.attributes.get("mode")
    if mode is not None and mode.as_string() != "constant":
        return x
    source, pads = (backend.value_of(v) for v in node.inputs[:2])
    return op.Pad(source, pads, None, vector(op, list(range(x.rank))), mode="constant")


def _node(op: Op, x: Value, w: Windows, last: list[int] | None, *, indices: bool) -> list[Any]:
    rank = len(w.kernel)
    options: dict[str, Any] = {"kernel_shape": w.kernel}
    if w.stride != [1] * rank:
        options["strides"] = w.stride
    if w.dilation != [1] * rank:
        options["dilations"] = w.dilation
    if last is None:
        options["ceil_mode"] = 1
        last = w.padding
    x = _unfused(op, x)
    odd = any(not 0 <= e < k for e, k in zip(last, w.kernel, strict=True))
    # A pad as wide as a window, or a cut: MaxPool has neither.  ONNX Runtime would put a Pad with
    # zeros, the lowest number of UINT8, into the node again.
    if odd and not indices and x.onnx_dtype is not DType.UINT8:
        lowest = scalar(op, least(x.onnx_dtype), x.onnx_dtype)
        x = pad(op, x, [*w.padding, *last], lowest)
    elif odd:
        return _by_windows(op, x, w, last, indices=indices)
    elif any(w.padding) or any(last):
        options["pads"] = [*w.padding, *last]
    if not indices:
        return [op.MaxPool(x, **options)]
    values, places = op.MaxPool(x, **options, _outputs=2)
    return [values, _without_rows(op, places, x, rank)]


def _without_rows(op: Op, places: Value, x: Value, rank: int) -> Value:
    """ONNX counts through batch and channels, torch within one channel."""
    area = _area(x.shape[-rank:])
    if area is not None:
        return op.Mod(places, area)
    axes = op.Shape(x, start=x.rank - rank)
    return op.Mod(places, op.ReduceProd(axes, keepdims=0))


def _area(shape: Sequence[Size] | Shape) -> int | None:
    if not all(isinstance(n, int) for n in shape):
        return None
    return int(np.prod(np.array(shape, np.int64))) if shape else 1


def _by_windows(op: Op, x: Value, w: Windows, last: list[Any], *, indices: bool) -> list[Any]:
    """Maxima of gathered windows, for types and pads that MaxPool lacks."""
    rank = len(w.kernel)
    places = _places(op, x, rank) if indices else None
    lowest = scalar(op, least(x.onnx_dtype), x.onnx_dtype)
    cut = [*w.padding, *last]
    values = gather_windows(op, pad(op, x, cut, lowest), w)
    if places is None:
        return [op.ReduceMax(values, [values.rank - 1], keepdims=0)]
    spots = gather_windows(op, pad(op, places, cut, scalar(op, -1, DType.INT64)), w)
    # Padding must lose against the lowest number, so places without an element count as below it.
    inside = op.GreaterOrEqual(spots, 0)
    best = op.ReduceMax(values, [values.rank - 1])
    is_best = op.And(op.Equal(values, best), inside)
    order = op.ArgMax(op.Cast(is_best, to=DType.INT32), axis=-1)
    spots = op.Expand(spots, op.Shape(values)) if spots.rank < values.rank else spots
    positions = op.GatherElements(op.Expand(spots, op.Shape(values)), order, axis=-1)
    return [op.Squeeze(best, [best.rank - 1]), op.Squeeze(positions, [positions.rank - 1])]


def _places(op: Op, x: Value, rank: int) -> Value:
    """`[1, 1, *axes]`: the number of each element within its channel."""
    spatial = [size(op, x, x.rank - rank + n) for n in range(rank)]
    area = _area(x.shape[-rank:])
    count: Size = op.ReduceProd(vector(op, spatial), keepdims=0) if area is None else area
    return op.Reshape(iota(op, count), vector(op, [1, 1, *spatial]))


def gather_windows(op: Op, x: Value, w: Windows) -> Value:
    """The elements under each window, along a new last axis.

    Args:
        x: `[N, C, *axes]`, padded.

    Returns:
        `[N, C, *out, kernel elements]`.
    """
    rank = len(w.kernel)
    every = zip(w.kernel, w.stride, w.dilation, strict=True)
    for n, (kernel, stride, dilation) in enumerate(every):
        axis = 2 + 2 * n
        x = op.Gather(x, _table(op, size(op, x, axis), kernel, stride, dilation), axis=axis)
    perm = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
    x = op.Transpose(x, perm=perm)
    front = sizes(op, x)[: 2 + rank]
    return op.Reshape(x, vector(op, [*front, int(np.prod(w.kernel))]), allowzero=1)


def _table(op: Op, length: Size, kernel: int, stride: int, dilation: int) -> Value:
    """Where each window looks: `[out, kernel]` indices into an axis."""
    steps = np.arange(kernel, dtype=np.int64) * dilation
    reach = dilation * (kernel - 1)
    if isinstance(length, int) and is_small(kernel, length):
        starts = np.arange(0, length - reach, stride, dtype=np.int64)
        return op.constant(starts[:, None] + steps)
    last = scalar(op, arithmetic(op, "Sub", length, reach), DType.INT64)
    begins = op.Range(scalar(op, 0, DType.INT64), last, scalar(op, stride, DType.INT64))
    return op.Add(op.Unsqueeze(begins, [1]), op.constant(steps))


def _pool(rank: int, *, indices: bool) -> AtenFunction:
    """Register the maxima over windows of so many axes, with their places or without."""
    default = (0,) if rank == 1 else 0, (1,) if rank == 1 else 1

    def body(
        op: Op,
        self: Value,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = default[0],
        dilation: int | Sequence[int] = default[1],
        ceil_mode: bool = False,
    ) -> tuple[Any, ...] | Any:
        w = windows(rank, kernel_size, stride, padding, dilation, ceil_mode)
        return max_pool(op, self, w, indices=indices)

    name = f"aten::max_pool{rank}d{'_with_indices' if indices else ''}"
    tests = [OpTest(f"nn.functional.max_pool{rank}d")]
    axes = "one axis" if rank == 1 else f"{'two' if rank == 2 else 'three'} axes"
    doc = f"Maxima over windows of {axes}{', and their places' if indices else ''}."
    return aten(name, rule=like("self"), tests=tests, doc=doc)(body)


for _indices in (False, True):
    for _rank in (1, 2, 3):
        _pool(_rank, indices=_indices)


def _unpool(op: Op, x: Value, indices: Any, output_size: Any) -> Value:
    """Zeros with each element at its place within its channel."""
    rank = len(output_size)
    front = sizes(op, x)[: x.rank - rank]
    area = product(op, output_size)
    flat = vector(op, [*front, product(op, sizes(op, x)[x.rank - rank :])])
    zeros = op.Expand(op.constant(np.zeros((), x.onnx_dtype.numpy)), vector(op, [*front, area]))
    updates, places = (op.Reshape(v, flat, allowzero=1) for v in (x, indices))
    filled = op.ScatterElements(zeros, places, updates, axis=len(front))
    return op.Reshape(filled, vector(op, [*front, *output_size]), allowzero=1)


@aten(
    "aten::max_unpool2d",
    rule=like("self"),
    tests=[
        OpTest("nn.functional.max_unpool1d"),
        OpTest("nn.functional.max_unpool1d:grad"),
        OpTest("nn.functional.max_unpool2d"),
        OpTest("nn.functional.max_unpool2d:grad"),
    ],
)
def max_unpool2d(op: Op, self: Value, indices: Value, output_size: int | Sequence[Size]) -> Value:
    """The inverse of `max_pool2d` as far as there is one: zeros between the maxima."""
    return _unpool(op, self, indices, output_size)


@aten(
    "aten::max_unpool3d",
    rule=like("self"),
    tests=[OpTest("nn.functional.max_unpool3d"), OpTest("nn.functional.max_unpool3d:grad")],
)
def max_unpool3d(
    op: Op,
    self: Value,
    indices: Value,
    output_size: int | Sequence[Size],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Value:
    """The inverse of `max_pool3d` as far as there is one: zeros between the maxima."""
    del stride, padding
    return _unpool(op, self, indices, output_size)
