"""Resizing with antialiasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.resampling import antialias_weights
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.helpers.uint8_resize import resize_bytes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.upsample import as_before, as_float, target_sizes
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_RECORDED = "torch.nn.functional.interpolate calls the `vec` overloads"


def _resize(
    op: Op,
    x: Value,
    mode: str,
    sizes: Sequence[Size] | None,
    scales: Sequence[Any] | None,
    align: bool,
) -> Value:
    """An image resized by products with a matrix for each axis.

    ONNX's own antialiasing has other weights.
    """
    factors = list(scales) if scales else [None, None]
    high, wide = list(sizes) if sizes is not None else target_sizes(op, x, factors)
    bytes_ = x.onnx_dtype is DType.UINT8
    y = op.Cast(x, to=DType.DOUBLE) if bytes_ else as_float(op, x)
    dtype = y.onnx_dtype
    columns = antialias_weights(op, size(op, x, 3), wide, factors[1], align, mode, dtype)
    rows = antialias_weights(op, size(op, x, 2), high, factors[0], align, mode, dtype)
    if bytes_:
        y = resize_bytes(op, resize_bytes(op, y, 3, columns), 2, rows)
        return op.Cast(y, to=DType.UINT8)
    y = op.MatMul(y, op.Transpose(columns, perm=[1, 0]))
    return as_before(op, op.MatMul(rows, y), x.onnx_dtype)


@aten(
    "aten::_upsample_bilinear2d_aa.vec",
    rule=like("input"),
    tests=[OpTest("_upsample_bilinear2d_aa")],
)
def upsample_bilinear2d_aa_vec(
    op: Op,
    input: Value,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Value:
    """An image resized linearly, with antialiasing."""
    return _resize(op, input, "linear", output_size, scale_factors, align_corners)


@aten("aten::_upsample_bicubic2d_aa.vec", rule=like("input"), untested="no OpInfo asks for it")
def upsample_bicubic2d_aa_vec(
    op: Op,
    input: Value,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Value:
    """An image resized by cubic convolution, with antialiasing."""
    return _resize(op, input, "cubic", output_size, scale_factors, align_corners)


@aten("aten::_upsample_lanczos2d_aa.vec", rule=like("input"), untested="no OpInfo asks for it")
def upsample_lanczos2d_aa_vec(
    op: Op,
    input: Value,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Value:
    """An image resized with Lanczos' window of three, with antialiasing."""
    return _resize(op, input, "lanczos", output_size, scale_factors, align_corners)


@aten("aten::_upsample_bilinear2d_aa", rule=like(), tests=[OpTest("_upsample_bilinear2d_aa")])
def upsample_bilinear2d_aa(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """An image resized linearly, with antialiasing."""
    return _resize(op, self, "linear", output_size, [scales_h, scales_w], align_corners)


@aten("aten::_upsample_bicubic2d_aa", rule=like(), untested=_RECORDED)
def upsample_bicubic2d_aa(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """An image resized by cubic convolution, with antialiasing."""
    return _resize(op, self, "cubic", output_size, [scales_h, scales_w], align_corners)


@aten("aten::_upsample_lanczos2d_aa", rule=like(), untested=_RECORDED)
def upsample_lanczos2d_aa(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """An image resized with Lanczos' window of three, with antialiasing."""
    return _resize(op, self, "lanczos", output_size, [scales_h, scales_w], align_corners)
