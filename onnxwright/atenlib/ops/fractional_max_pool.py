"""Pooling over windows whose places are drawn: as many as asked for, with steps that vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, iota, vector
from onnxwright.atenlib.helpers.sizes import product, sizes
from onnxwright.atenlib.load import find
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


def _places(op: Op, sample: Any, length: Size, out: int, window: int) -> Value:
    """Where the elements of the windows of one axis are: INT64 [N, C, out * window].

    Source: torch fractional_max_pool, generate_intervals: window i of all but the last begins at
    `int((i + u) a) - int(u a)` with `a = (length - window) / (out - 1)`; the last ends the axis.
    """
    dtype = sample.onnx_dtype
    drawn = op.Unsqueeze(sample, [2])
    if isinstance(length, int):
        last: Any = op.constant(np.array(length - window))
    else:
        last = op.Sub(length, window)
    starts = op.Expand(last, op.Shape(drawn))
    if out > 1:
        ratio = op.Div(cast(op, last, dtype), float(out - 1))
        turns = op.Add(drawn, iota(op, out - 1, dtype))
        first = cast(op, op.Mul(drawn, ratio), DType.INT64)
        before = op.Sub(cast(op, op.Mul(turns, ratio), DType.INT64), first)
        starts = op.Concat(before, starts, axis=2)
    inner = op.Add(op.Unsqueeze(starts, [3]), op.constant(np.arange(window)))
    return op.Reshape(inner, [0, 0, out * window])


def _pool(
    op: Op,
    x: Value,
    window: Sequence[int],
    out: Sequence[int],
    samples: Any,
    order: Sequence[int],
) -> tuple[Any, Any]:
    """The maxima of the windows and their flat places.

    Args:
        x: [N, C, ...] or [C, ...].
        window, out: sizes of a window and of the result, by axis.
        samples: a number from 0 to 1 for each image, channel and axis.
        order: for each axis, the place of its number in `samples`.
    """
    rank = len(window)
    shape = sizes(op, x)
    lengths = shape[-rank:]
    if len(shape) == rank + 1:
        samples = op.Slice(samples, [0], [1], [0])  # torch reads the first of several
    flat: Any = None
    for n in range(rank):
        sample = op.Gather(samples, order[n], axis=2)
        places = _places(op, sample, lengths[n], out[n], window[n])
        stride = product(op, lengths[n + 1 :])
        others = [2 + m for m in range(rank) if m != n]
        places = op.Unsqueeze(op.Mul(places, stride), others)
        flat = places if flat is None else op.Add(flat, places)
    windows = [s for pair in zip(out, window, strict=True) for s in pair]
    split = op.Reshape(flat, [0, 0, *windows])
    together = [0, 1, *(2 + 2 * n for n in range(rank)), *(3 + 2 * n for n in range(rank))]
    count, inside = int(np.prod(out)), int(np.prod(window))
    places = op.Reshape(op.Transpose(split, perm=together), [0, 0, count * inside])
    batch = [1, *shape] if len(shape) == rank + 1 else shape
    area = product(op, lengths)
    image = op.Reshape(x, vector(op, [*batch[:2], area]), allowzero=1)
    values = op.Reshape(op.GatherElements(image, places, axis=2), [0, 0, count, inside])
    best, chosen = find("aten::max.dim")(op, values, 3)
    where = op.GatherElements(
        op.Reshape(places, [0, 0, count, inside]), op.Unsqueeze(chosen, [3]), axis=3
    )
    result = vector(op, [*shape[:-rank], *out])
    return op.Reshape(best, result, allowzero=1), op.Reshape(where, result, allowzero=1)


def _register(rank: int, order: tuple[int, ...]) -> None:
    """Register the pool of so many axes, whose samples torch draws in an order."""

    def body(
        op: Op,
        self: Value,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        random_samples: Value,
    ) -> tuple[Value, ...]:
        return _pool(op, self, kernel_size, output_size, random_samples, order)

    name = f"fractional_max_pool{rank}d"
    test = OpTest(f"nn.functional.{name}", compare="shape")
    doc = f"Maxima over windows of {rank} axes at places that were drawn, and their places."
    aten(f"aten::{name}", rule=like("self"), tests=[test], doc=doc)(body)


_register(2, (1, 0))
_register(3, (0, 1, 2))
