"""Convolution as windows times a matrix, for types ONNX Runtime's Conv lacks.

The windows of an axis are gathered by a table of indices `[kernel, out]`; one Einsum multiplies
them with the weight.  Sizes may be dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import is_small, scalar, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, is_known_one, known_sizes, size, sizes
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType

# Letters of the kernel's axes and of the result's.
_KERNEL, _OUT = "abd", "xyz"


def convolve(
    op: Op,
    x: Value,
    weight: Value,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: Any,
) -> Value:
    """A convolution of any type that multiplies and adds.

    Args:
        x: `[N, C, *spatial]`.
        weight: `[O, C / group, *kernel]` of known kernel.
        pads: begins, then ends.

    Returns:
        `[N, O, *out]`; small integers come as INT32.
    """
    x = pad(op, x, pads)
    kernel = known_sizes(weight.shape[2:])
    x = _grouped(op, x, 1, group)
    weight = _grouped(op, weight, 0, group)
    for n, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
        axis = 3 + 2 * n
        x = op.Gather(x, _table(op, size(op, x, axis), k, s, d), axis=axis)
    return _multiply(op, x, weight, "oc", len(kernel), group)


def convolve_transposed(
    op: Op,
    x: Value,
    weight: Value,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: Any,
    output_padding: Sequence[int],
) -> Value:
    """A transposed convolution: one of the input with zeros between, with the kernel turned.

    Args:
        x: `[N, C, *spatial]`.
        weight: `[C, O / group, *kernel]` of known kernel.
        pads: begins, then ends.

    Returns:
        `[N, O, *out]`; small integers come as INT32.
    """
    kernel = known_sizes(weight.shape[2:])
    rank = len(kernel)
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    begins = [r - p for r, p in zip(reach, pads[:rank], strict=True)]
    # Each element is followed by zeros, the last one too: those are taken off again.
    ends = [
        r - p + o - (s - 1)
        for r, p, o, s in zip(reach, pads[rank:], output_padding, strides, strict=True)
    ]
    x = pad(op, _with_zeros_between(op, x, strides), [*begins, *ends])
    x = _grouped(op, x, 1, group)
    weight = _grouped(op, weight, 0, group)
    for n, (k, d) in enumerate(zip(kernel, dilations, strict=True)):
        axis = 3 + 2 * n
        table = _table(op, size(op, x, axis), k, 1, d, turned=True)
        x = op.Gather(x, table, axis=axis)
    return _multiply(op, x, weight, "co", rank, group)


def pad(op: Op, x: Value, pads: Sequence[Size], value: Value | None = None) -> Value:
    """The last axes with numbers around them; negative ones cut.

    Args:
        pads: begins, then ends, of the last axes: sizes.
        value: what to fill in; zero by default.

    Returns:
        The value, itself where all pads are zero.
    """
    if all(isinstance(n, int) and n == 0 for n in pads):
        return x
    rank = len(pads) // 2
    before = [0] * (x.rank - rank)
    every = vector(op, [*before, *pads[:rank], *before, *pads[rank:]])
    return op.Pad(x, every) if value is None else op.Pad(x, every, value)


def _table(op: Op, length: Size, k: int, stride: int, dilation: int, turned: bool = False) -> Value:
    """Where each window looks: `[kernel, out]` indices into an axis."""
    steps = np.arange(k, dtype=np.int64)[:, None] * dilation
    if turned:
        steps = steps[::-1]
    reach = dilation * (k - 1)
    if isinstance(length, int) and is_small(k, length):
        return op.constant(steps + np.arange(0, length - reach, stride, dtype=np.int64))
    last = scalar(op, arithmetic(op, "Sub", length, reach), DType.INT64)
    one = [scalar(op, n, DType.INT64) for n in (0, stride)]
    return op.Add(op.constant(np.ascontiguousarray(steps)), op.Range(one[0], last, one[1]))


def _grouped(op: Op, x: Value, axis: int, group: Any) -> Value:
    """An axis cut into `[group, rest]`."""
    if is_known_one(group):
        return op.Unsqueeze(x, [axis])
    shape = sizes(op, x)
    rest = arithmetic(op, "Div", shape[axis], group)
    return op.Reshape(x, vector(op, [*shape[:axis], group, rest, *shape[axis + 1 :]]), allowzero=1)


def _multiply(op: Op, windows: Any, weight: Value, channels: str, rank: int, group: Any) -> Value:
    """Sum over the channels of a group and over the kernel."""
    kernel, out = _KERNEL[:rank], _OUT[:rank]
    spread = "".join(k + o for k, o in zip(kernel, out, strict=True))
    equation = f"ngc{spread},g{channels}{kernel}->ngo{out}"
    result = algebra.einsum(op, equation, windows, weight)
    if is_known_one(group):
        return op.Squeeze(result, [1])
    n, _, o, *spatial = sizes(op, result)
    many = arithmetic(op, "Mul", group, o)
    return op.Reshape(result, vector(op, [n, many, *spatial]), allowzero=1)


def _with_zeros_between(op: Op, x: Value, strides: Sequence[int]) -> Value:
    """Each element followed by `stride - 1` zeros along its axis."""
    if all(s == 1 for s in strides):
        return x
    rank = len(strides)
    shape = sizes(op, x)
    wide = op.Unsqueeze(x, [3 + 2 * n for n in range(rank)])
    ends = [v for s in strides for v in (0, s - 1)]
    wide = pad(op, wide, [0] * len(ends) + ends)
    spatial = [
        n * s if isinstance(n, int) else op.Mul(n, s)
        for n, s in zip(shape[2:], strides, strict=True)
    ]
    return op.Reshape(wide, vector(op, [*shape[:2], *spatial]))
