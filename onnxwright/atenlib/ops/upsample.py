"""Resizing in all modes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, vector
from onnxwright.atenlib.helpers.reduce import in_working_type
from onnxwright.atenlib.helpers.resampling import resize_nearest, resize_smooth
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.helpers.uint8_resize import cubic_matrix, resize_bytes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_FLOATS = (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16)
_NEAREST = (*_FLOATS, DType.UINT8, DType.INT8, DType.INT32)
_LONGEST = 8192  # Elements of a dynamic size of which the nearest are compared.
_RECORDED = "torch.nn.functional.interpolate calls the `vec` overloads"

# Torch's kernels round the weights of the neighbours to the half type.
_WEIGHTS = {"float16": Tol(2e-3, 1e-2), "bfloat16": Tol(2e-2, 8e-2)}

_LAST_BIT = XFail(
    "torch's 16-bit sums differ from ours by one in a few elements of large images",
    dtypes=("uint8",),
    sometimes=True,
)


def target_sizes(op: Op, x: Value, scales: Sequence[Any]) -> list[Any]:
    """The sizes that factors ask for."""
    lengths: list[Any] = []
    for n, scale in enumerate(scales, 2):
        length = size(op, x, n)
        if isinstance(length, int):
            lengths.append(math.floor(length * scale))
        else:
            wide = op.Mul(op.Cast(length, to=DType.DOUBLE), float(scale))
            lengths.append(op.Cast(op.Floor(wide), to=DType.INT64))
    return lengths


def _agrees(x: Value, sizes: Sequence[Size], scales: Sequence[Any], mode: str) -> bool:
    """Whether Resize, which computes in FLOAT, finds the same sizes and nearest elements.

    Of dynamic sizes, a smooth result is trusted, and that of a factor is looked at up to a length.
    Nearest elements by the quotient of dynamic sizes may be others: Resize divides by the inverse.
    """
    for n, out, scale in zip(x.shape[2:], sizes, scales, strict=True):
        if not isinstance(n, int) or not isinstance(out, int):
            if n == 1 or mode in ("linear", "cubic"):
                continue
            if scale is None or not _finds_nearest(scale, mode):
                return False
            continue
        factor = np.float32(out / n if n else 1.0) if scale is None else np.float32(scale)
        if scale is not None and int(np.float32(n) * factor) != out:
            return False
        if mode in ("linear", "cubic"):
            continue
        shift = np.float32(0.5 if mode == "exact" else 0)
        steps = np.arange(out, dtype=np.float32) + shift
        ratio = np.float32(n / out) if scale is None else np.float32(1.0 / scale)
        theirs = np.minimum(np.floor(steps * ratio), n - 1)
        ours = np.clip(np.floor(steps / factor - shift + shift), 0, n - 1)
        if not np.array_equal(theirs, ours):
            return False
    return True


def _finds_nearest(scale: float, mode: str) -> bool:
    """Whether Resize finds torch's nearest elements for a factor, in the images there are."""
    shift = np.float32(0.5 if mode == "exact" else 0)
    steps = np.arange(_LONGEST, dtype=np.float32) + shift
    theirs = np.floor(steps * np.float32(1.0 / scale))
    return np.array_equal(theirs, np.floor(steps / np.float32(scale) - shift + shift))


def resize(
    op: Op,
    x: Value,
    mode: str,
    sizes: Sequence[Size] | None,
    scales: Sequence[Any] | None,
    align: bool = False,
) -> Value:
    """All axes but the first two, resized.

    Args:
        x: `[N, C, ...]`.
        mode: "nearest", "exact", "linear" or "cubic".
        sizes: the new sizes; from the factors if None.
        scales: the factors, None where only the size was given.
        align: whether the centres of the corner elements are laid upon each other.

    Returns:
        A value of the type of `x`.
    """
    spatial = x.rank - 2
    factors = list(scales) if scales is not None else [None] * spatial
    by_factor = all(f is not None for f in factors)
    if align and not by_factor:
        factors = [None] * spatial
    target = list(sizes) if sizes is not None else target_sizes(op, x, factors)
    if all(isinstance(n, int) for n in target) and tuple(target) == tuple(x.shape[2:]):
        if by_factor and not all(f == 1 for f in factors) and not align:
            return _by_axis(op, x, mode, target, factors, align)
        return x
    factors_agree = by_factor or all(f is None for f in factors)
    types = _NEAREST if mode in ("nearest", "exact") else _FLOATS
    if x.onnx_dtype in types and factors_agree and _agrees(x, target, factors, mode):
        return _by_resize(op, x, mode, target, factors if by_factor else None, align)
    return _by_axis(op, x, mode, target, factors, align)


def _by_resize(
    op: Op, x: Value, mode: str, sizes: Sequence[Size], scales: Sequence[Any] | None, align: bool
) -> Value:
    options: dict[str, Any] = {"mode": mode}
    if mode in ("nearest", "exact"):
        options["mode"] = "nearest"
        options["nearest_mode"] = "round_prefer_ceil" if mode == "exact" else "floor"
    if mode == "cubic":
        options["cubic_coeff_a"] = -0.75
    place = "align_corners" if align else "asymmetric" if mode == "nearest" else "half_pixel"
    axes = list(range(2, x.rank))
    if scales is None:
        return op.Resize(
            x,
            None,
            None,
            vector(op, sizes),
            axes=axes,
            coordinate_transformation_mode=place,
            **options,
        )
    factors = op.constant(np.array(scales, np.float32))
    return op.Resize(x, None, factors, axes=axes, coordinate_transformation_mode=place, **options)


def _by_axis(
    op: Op, x: Value, mode: str, sizes: Sequence[Size], scales: Sequence[Any], align: bool
) -> Value:
    if mode in ("nearest", "exact"):
        for axis, (out, scale) in enumerate(zip(sizes, scales, strict=True), 2):
            x = resize_nearest(op, x, axis, size(op, x, axis), out, scale, mode == "exact")
        return x
    if x.onnx_dtype is DType.UINT8 and mode == "cubic":
        y = op.Cast(x, to=DType.DOUBLE)
        for axis in range(x.rank - 1, 1, -1):
            out, scale = sizes[axis - 2], scales[axis - 2]
            y = resize_bytes(op, y, axis, cubic_matrix(op, size(op, y, axis), out, scale, align))
        return op.Cast(y, to=DType.UINT8)
    y = as_float(op, x)
    for axis, (out, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        y = resize_smooth(op, y, axis, size(op, y, axis), out, scale, align, mode == "cubic")
    return as_before(op, y, x.onnx_dtype)


def as_float(op: Op, x: Value) -> Value:
    """An image in a type of floats to compute in."""
    return in_working_type(op, x) if x.onnx_dtype.is_float else op.Cast(x, to=DType.FLOAT)


def as_before(op: Op, y: Value, dtype: DType) -> Value:
    """Floats in the type of the image; integers are rounded and kept in range."""
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        y = op.Max(op.Min(op.Round(y), float(info.max)), float(info.min))
    return cast(op, y, dtype)


def _by_factors(names: Sequence[str], mode: str, doc: str, tests: Sequence[OpTest]) -> None:
    """Register the overloads that take the sizes or the factors of all axes."""

    def nearest(
        op: Op, input: Value, output_size: Sequence[Size] | None,
        scale_factors: Sequence[float] | None,
    ) -> Value:  # fmt: skip
        return resize(op, input, mode, output_size, scale_factors or None)

    def smooth(
        op: Op, input: Value, output_size: Sequence[Size] | None, align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Value:  # fmt: skip
        return resize(op, input, mode, output_size, scale_factors or None, align_corners)

    full = [f"aten::{name}.vec" for name in names]
    body = nearest if mode in ("nearest", "exact") else smooth
    aten(*full, rule=like("input"), tests=tests, doc=doc)(body)


def _tests(*names: str) -> list[OpTest]:
    return [OpTest(f"nn.functional.{name}", tol=_WEIGHTS) for name in names]


_by_factors(
    [f"upsample_nearest{n}d" for n in (1, 2, 3)], "nearest",
    "An image resized to the nearest elements, measured from their lower edges.",
    [OpTest("nn.functional.interpolate:nearest"), OpTest("nn.functional.upsample_nearest")],
)  # fmt: skip
_by_factors(
    [f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)], "exact",
    "An image resized to the nearest elements, measured from their centres.",
    [OpTest("nn.functional.interpolate:nearest-exact")],
)  # fmt: skip
_by_factors(
    ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"], "linear",
    "An image resized by linear interpolation along each axis.",
    _tests("interpolate:linear", "interpolate:bilinear", "interpolate:trilinear",
           "upsample_bilinear"),
)  # fmt: skip
_by_factors(
    ["upsample_bicubic2d"], "cubic", "An image resized by cubic convolution.",
    [OpTest("nn.functional.interpolate:bicubic", tol=_WEIGHTS, xfail=[_LAST_BIT])],
)  # fmt: skip


def _given(*scales: Any) -> list[Any] | None:
    return None if all(s is None for s in scales) else list(scales)


def _nearest(name: str, mode: str, doc: str) -> None:
    """Register a way of taking the nearest elements, for one, two and three axes."""

    def line(
        op: Op, self: Value, output_size: Sequence[Size], scales: float | None = None
    ) -> Value:
        return resize(op, self, mode, output_size, _given(scales))

    def image(
        op: Op,
        self: Value,
        output_size: Sequence[Size],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Value:
        return resize(op, self, mode, output_size, _given(scales_h, scales_w))

    def volume(
        op: Op,
        self: Value,
        output_size: Sequence[Size],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Value:
        return resize(op, self, mode, output_size, _given(scales_d, scales_h, scales_w))

    bodies: tuple[Callable[..., Value], ...] = (line, image, volume)
    for rank, body in enumerate(bodies, 1):
        aten(f"aten::{name}{rank}d", rule=like(), untested=_RECORDED, doc=doc)(body)


_nearest("upsample_nearest", "nearest", "A tensor resized to the nearest elements.")
_nearest(
    "_upsample_nearest_exact", "exact",
    "A tensor resized to the nearest elements, measured from their centres.",
)  # fmt: skip


@aten(
    "aten::upsample_linear1d",
    rule=like(),
    untested=_RECORDED,
)
def upsample_linear1d(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales: float | None = None,
) -> Value:
    """A line resized by linear interpolation."""
    return resize(op, self, "linear", output_size, _given(scales), align_corners)


def _image(name: str, mode: str, doc: str) -> None:
    """Register a way of interpolating an image."""

    def body(
        op: Op,
        self: Value,
        output_size: Sequence[Size],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Value:
        return resize(op, self, mode, output_size, _given(scales_h, scales_w), align_corners)

    aten(f"aten::{name}", rule=like(), untested=_RECORDED, doc=doc)(body)


_image("upsample_bilinear2d", "linear", "An image resized by linear interpolation along each axis.")
_image("upsample_bicubic2d", "cubic", "An image resized by cubic convolution.")


@aten("aten::upsample_trilinear3d", rule=like(), untested=_RECORDED)
def upsample_trilinear3d(
    op: Op,
    self: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """A volume resized by linear interpolation along each axis."""
    factors = _given(scales_d, scales_h, scales_w)
    return resize(op, self, "linear", output_size, factors, align_corners)
