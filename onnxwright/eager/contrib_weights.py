"""MatMulNBits and GatherBlockQuantized of com.microsoft in numpy: weights in blocks of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _unpacked(packed: Array, bits: int) -> Array:
    """The integers in bytes along the last dimension, those in the low bits first."""
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts: Array = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    whole: Array = parts.reshape(*packed.shape[:-1], -1)
    return whole


def matmul_nbits(
    a: Array,
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    bias: Array | None = None,
    *,
    K: int,  # noqa: N803 - as the operator calls them
    N: int,  # noqa: N803
    bits: int = 4,
    block_size: int,
    accuracy_level: int = 0,  # noqa: ARG001 - how kernels round, see above
    **others: Any,
) -> tuple[Array]:
    """The product with a weight of N columns, each in blocks of integers with a scale.

    Integers lie in bytes, the first in the low bits; the middle of their range is the zero point
    of blocks without one.  The product is computed in single precision; kernels round activations
    to integers at `accuracy_level=4`.
    """
    if bits not in (2, 4, 8) or others:
        raise NotImplementedError("other bits than 2, 4 and 8 are not known here")
    blocks = -(-K // block_size)
    values = _unpacked(b.reshape(N, blocks, -1), bits).astype(np.float32)
    factors = scales.reshape(N, blocks, 1).astype(np.float32)
    if zero_points is None:
        zeros: Any = np.float32(1 << (bits - 1))
    elif zero_points.dtype == np.uint8:
        whole = _unpacked(zero_points.reshape(N, -1), bits)
        zeros = whole[:, :blocks, None].astype(np.float32)
    else:
        zeros = zero_points.reshape(N, blocks, 1).astype(np.float32)
    if g_idx is not None:  # the block that each column takes its scale and zero point from
        zeros = np.broadcast_to(zeros, factors.shape)[:, g_idx[:K], 0]
        weight = (values.reshape(N, -1)[:, :K] - zeros) * factors[:, g_idx[:K], 0]
    else:
        weight = ((values - zeros) * factors).reshape(N, -1)[:, :K]
    product = np.matmul(a.astype(np.float32), weight.T)
    product = product if bias is None else product + bias.astype(np.float32)
    return (product.astype(a.dtype),)


def gather_block_quantized(
    data: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None = None,
    *,
    gather_axis: int = 0,
    quantize_axis: int = 1,
    block_size: int = 128,
    bits: int = 4,
) -> tuple[Array]:
    """Rows of a table of integers, dequantized: each block along an axis has its scale.

    A table of UINT8 holds integers of fewer bits packed along the last axis, and the middle of
    their range is the zero point without one; a table of INT4 or UINT4 has 0.
    """
    middle = 0
    if data.dtype == np.uint8:
        middle = 1 << (bits - 1)
        data = _unpacked(data, bits)
        if zero_points is not None:
            zero_points = _unpacked(zero_points, bits)
    axis = quantize_axis % data.ndim
    size = data.shape[axis]

    def spread(array: Array) -> Array:
        each = np.repeat(array.astype(np.float32), block_size, axis=axis)
        return np.take(each, np.arange(size), axis=axis)

    zeros: Any = np.float32(middle)
    if zero_points is not None:
        cut = np.take(zero_points, np.arange(scales.shape[axis]), axis=axis)
        zeros = spread(cut)
    table = (data.astype(np.float32) - zeros) * spread(scales)
    return (np.take(table, indices, axis=gather_axis).astype(scales.dtype),)
