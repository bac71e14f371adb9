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


def _register(name: str, mode: str, doc: str, tests: Sequence[OpTest] = ()) -> None:
    """Register the two overloads of a way of resizing an image with antialiasing.

    Args:
        name: what ATen calls it.
        mode: how `_resize` calls it.
        tests: the OpInfos it is held to.
    """

    def by_factors(
        op: Op,
        input: Value,
        output_size: Sequence[Size] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Value:
        return _resize(op, input, mode, output_size, scale_factors, align_corners)

    def by_sizes(
        op: Op,
        self: Value,
        output_size: Sequence[Size],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Value:
        return _resize(op, self, mode, output_size, [scales_h, scales_w], align_corners)

    untested = "" if tests else "no OpInfo asks for it"
    full = f"aten::{name}"
    aten(f"{full}.vec", rule=like("input"), tests=tests, untested=untested, doc=doc)(by_factors)
    aten(full, rule=like(), tests=tests, untested=untested, doc=doc)(by_sizes)


_register(
    "_upsample_bilinear2d_aa", "linear", "An image resized linearly, with antialiasing.",
    [OpTest("_upsample_bilinear2d_aa")],
)  # fmt: skip
_register(
    "_upsample_bicubic2d_aa", "cubic",
    "An image resized by cubic convolution, with antialiasing.",
)  # fmt: skip
_register(
    "_upsample_lanczos2d_aa", "lanczos",
    "An image resized with Lanczos' window of three, with antialiasing.",
)  # fmt: skip
