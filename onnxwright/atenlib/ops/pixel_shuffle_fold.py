"""Rearranging pixels: shuffles, unfolding and folding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar, vector
from onnxwright.atenlib.helpers.shape import reshape
from onnxwright.atenlib.helpers.sizes import product, size, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


def _divided(op: Op, n: Size, by: int) -> Size:
    return n // by if isinstance(n, int) else op.Div(n, by)


@aten(
    "aten::pixel_shuffle",
    rule=like(),
    complex="parts",
    tests=[OpTest("nn.functional.pixel_shuffle")],
)
def pixel_shuffle(op: Op, self: Value, upscale_factor: int) -> Value:
    """Channels moved into blocks of pixels: `[..., C r r, H, W]` to `[..., C, H r, W r]`."""
    r = upscale_factor
    if self.rank == 4 and self.onnx_dtype.is_float:
        return op.DepthToSpace(self, blocksize=r, mode="CRD")
    *batch, channels, height, width = sizes(op, self)
    blocks = [*batch, _divided(op, channels, r * r), r, r, height, width]
    x = reshape(op, self, blocks)
    b = len(batch)
    x = op.Transpose(x, perm=[*range(b + 1), b + 3, b + 1, b + 4, b + 2])
    return reshape(op, x, [*blocks[: b + 1], product(op, [height, r]), product(op, [width, r])])


@aten(
    "aten::pixel_unshuffle",
    rule=like(),
    complex="parts",
    tests=[OpTest("nn.functional.pixel_unshuffle")],
)
def pixel_unshuffle(op: Op, self: Value, downscale_factor: int) -> Value:
    """Blocks of pixels moved into channels: `[..., C, H r, W r]` to `[..., C r r, H, W]`."""
    r = downscale_factor
    *batch, channels, height, width = sizes(op, self)
    small = [_divided(op, height, r), _divided(op, width, r)]
    x = reshape(op, self, [*batch, channels, small[0], r, small[1], r])
    b = len(batch)
    x = op.Transpose(x, perm=[*range(b + 1), b + 2, b + 4, b + 1, b + 3])
    return reshape(op, x, [*batch, product(op, [channels, r * r]), *small])


@aten(
    "aten::channel_shuffle",
    "aten::native_channel_shuffle",
    rule=like(),
    complex="parts",
    tests=[OpTest("nn.functional.channel_shuffle")],
)
def channel_shuffle(op: Op, self: Value, groups: int) -> Value:
    """Channels of groups interleaved."""
    batch, channels, *rest = sizes(op, self)
    x = reshape(op, self, [batch, groups, _divided(op, channels, groups), *rest])
    x = op.Transpose(x, perm=[0, 2, 1, *range(3, x.rank)])
    return reshape(op, x, [batch, channels, *rest])


def _windows(op: Op, n: Size, kernel: int, dilation: int, padding: int, stride: int) -> Size:
    """How many windows fit along an axis."""
    spare = 2 * padding - dilation * (kernel - 1) - 1
    if isinstance(n, int):
        return (n + spare) // stride + 1
    return op.Add(op.Div(op.Add(n, spare), stride), 1)


def _places(op: Op, count: Size, kernel: int, dilation: int, stride: int) -> Value:
    """Which padded element each window has at each place of the kernel, `[kernel, count]`."""
    starts = op.Mul(iota(op, count), stride)
    steps = op.constant(np.arange(kernel).reshape(kernel, 1) * dilation)
    return op.Add(steps, starts)


@aten("aten::im2col", rule=like(), complex="parts", tests=[OpTest("nn.functional.unfold")])
def im2col(
    op: Op,
    self: Value,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """The windows of an image as columns: `[N, C, H, W]` to `[N, C kh kw, windows]`."""
    x = self if self.rank == 4 else op.Unsqueeze(self, [0])
    batch, channels, height, width = sizes(op, x)
    high = _windows(op, height, kernel_size[0], dilation[0], padding[0], stride[0])
    wide = _windows(op, width, kernel_size[1], dilation[1], padding[1], stride[1])
    if any(padding):
        pads = [0, 0, padding[0], padding[1]] * 2
        x = op.Pad(x, op.constant(np.array(pads, np.int64)))
    rows = _places(op, high, kernel_size[0], dilation[0], stride[0])
    columns = _places(op, wide, kernel_size[1], dilation[1], stride[1])
    # [N, C, kh, rows, W], then [N, C, kh, rows, kw, columns].
    x = op.Gather(op.Gather(x, rows, axis=2), columns, axis=4)
    x = op.Transpose(x, perm=[0, 1, 2, 4, 3, 5])
    deep = product(op, [channels, kernel_size[0] * kernel_size[1]])
    x = reshape(op, x, [batch, deep, product(op, [high, wide])])
    return x if self.rank == 4 else op.Squeeze(x, [0])


@aten("aten::col2im", rule=like(), complex="parts", untested="no OpInfo has it")
def col2im(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """Columns summed into the windows of an image: `[N, C kh kw, windows]` to `[N, C, H, W]`."""
    x = self if self.rank == 3 else op.Unsqueeze(self, [0])
    kernel = kernel_size[0] * kernel_size[1]
    batch, deep = size(op, x, 0), size(op, x, 1)
    channels = _divided(op, deep, kernel)
    wide = x.onnx_dtype
    if wide is DType.FLOAT:
        image = op.Col2Im(
            x,
            vector(op, output_size),
            op.constant(np.array(kernel_size, np.int64)),
            dilations=list(dilation),
            pads=list(padding) * 2,
            strides=list(stride),
        )
    else:
        image = _folded(
            op, x, batch, channels, output_size, (kernel_size, dilation, padding, stride)
        )
    return image if self.rank == 3 else op.Squeeze(image, [0])


def _folded(
    op: Op,
    x: Value,
    batch: Any,
    channels: Any,
    output_size: Any,
    geometry: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
) -> Value:
    """As Col2Im, for types without a kernel: one sum for each axis, as a product of matrices.

    The matrix of an axis says which padded element a place of a window is.
    """
    kernel, dilation, padding, stride = geometry
    dtype = x.onnx_dtype
    work = DType.FLOAT if dtype in (DType.FLOAT16, DType.BFLOAT16, DType.BOOL) else dtype
    counts = [
        _windows(op, output_size[n], kernel[n], dilation[n], padding[n], stride[n]) for n in (0, 1)
    ]
    spots = []
    for n in (0, 1):
        places = _places(op, counts[n], kernel[n], dilation[n], stride[n])
        flat = op.Reshape(op.Sub(places, padding[n]), op.constant(np.array([-1])))
        hit = op.Equal(op.Unsqueeze(iota(op, output_size[n]), [1]), flat)
        spots.append(op.Cast(hit, to=work))
    x = reshape(op, cast(op, x, work), [batch, channels, *kernel, *counts])
    x = op.Transpose(x, perm=[0, 1, 2, 4, 3, 5])
    rows, columns = (product(op, [kernel[n], counts[n]]) for n in (0, 1))
    x = reshape(op, x, [batch, channels, rows, columns])
    x = op.MatMul(op.MatMul(spots[0], x), op.Transpose(spots[1], perm=[1, 0]))
    return cast(op, x, dtype)


@aten(
    "aten::affine_grid_generator",
    rule=like("theta"),
    untested="no OpInfo has it",
)
def affine_grid_generator(op: Op, theta: Value, size: Sequence[Size], align_corners: bool) -> Value:
    """The places that an affine map of the output's own coordinates points at.

    `theta` is `[N, 2, 3]` or `[N, 3, 4]`; the last axis of the result is x, y (and z).
    """
    dtype = theta.onnx_dtype
    work = DType.FLOAT if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    spatial = list(size)[2:]
    rank = len(spatial)
    parts = []
    for n in reversed(range(rank)):
        steps = _line(op, spatial[n], align_corners, work)
        after = rank - 1 - n
        shaped = op.Unsqueeze(steps, list(range(1, after + 1))) if after else steps
        parts.append(op.Unsqueeze(op.Expand(shaped, vector(op, spatial)), [-1]))
    ones = full(op, [*spatial, 1], 1, work)
    base = reshape(op, op.Concat(*parts, ones, axis=-1), [1, -1, rank + 1])
    grid = op.MatMul(base, op.Transpose(cast(op, theta, work), perm=[0, 2, 1]))
    return cast(op, reshape(op, grid, [size[0], *spatial, rank]), dtype)


def _line(op: Op, n: Size, align: bool, dtype: DType) -> Value:
    """The coordinates of n elements between -1 and 1."""
    steps = op.Mul(iota(op, n, dtype), 2)
    if align:
        last = op.Max(op.Sub(scalar(op, n, dtype), 1), 1)
        many = op.Greater(scalar(op, n, dtype), 1)
        return op.Where(many, op.Sub(op.Div(steps, last), 1), scalar(op, 0, dtype))
    return op.Sub(op.Div(op.Add(steps, 1), scalar(op, n, dtype)), 1)
