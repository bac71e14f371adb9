"""Sampling of images at the places a grid says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import in_working_type
from onnxwright.atenlib.helpers.resampling import cubic_weights
from onnxwright.atenlib.helpers.shape import reshape
from onnxwright.atenlib.helpers.sizes import product, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2

_COARSE = XFail(
    "torch rounds the places in a grid to half precision, which moves what is read there",
    dtypes=("float16", "bfloat16"),
    sometimes=True,
)


def _unnormalized(op: Op, x: Value, n: Size, align: bool) -> Value:
    """From -1 ... 1 to the indices of an axis of n elements."""
    length = scalar(op, n, x.onnx_dtype)
    if align:
        return op.Mul(op.Div(op.Add(x, 1), 2), op.Sub(length, 1))
    return op.Div(op.Sub(op.Mul(op.Add(x, 1), length), 1), 2)


def _reflected(op: Op, x: Value, n: Size, align: bool) -> Value:
    """Thrown back at the borders until within; the borders are at the centres where aligned."""
    length = scalar(op, n, x.onnx_dtype)
    low = 0.0 if align else -0.5
    span = op.Sub(length, 1) if align else length
    away = op.Abs(op.Sub(x, low))
    safe = op.Max(span, 1) if align else span
    turns = op.Floor(op.Div(away, safe))
    rest = op.Sub(away, op.Mul(turns, safe))
    odd = op.Sub(turns, op.Mul(op.Floor(op.Div(turns, 2)), 2))
    inside = op.Where(op.Greater(odd, 0.5), op.Add(op.Sub(safe, rest), low), op.Add(rest, low))
    if not align:
        return inside
    # One element alone has no span to be thrown back in.
    return op.Where(op.Greater(span, 0), inside, scalar(op, 0, x.onnx_dtype))


def _clipped(op: Op, x: Value, n: Size) -> Value:
    """Kept within the elements of an axis; NaN becomes zero."""
    last = op.Sub(scalar(op, n, x.onnx_dtype), 1)
    zero = scalar(op, 0, x.onnx_dtype)
    return op.Min(op.Where(op.Greater(x, zero), x, zero), last)


def _padded(op: Op, x: Value, n: Size, mode: int, align: bool) -> Value:
    """An index moved into the image as the padding mode says."""
    if mode == _BORDER:
        return _clipped(op, x, n)
    if mode == _REFLECTION:
        return _clipped(op, _reflected(op, x, n, align), n)
    return x


class _Image:
    """An image as one row of pixels a channel, to be read at places.

    Args:
        op: the operators.
        x: `[N, C, ...]`.
    """

    def __init__(self, op: Op, x: Value) -> None:
        self.op = op
        self.batch, self.channels, *self.spatial = sizes(op, x)
        self.dtype = x.onnx_dtype
        self.pixels = reshape(op, x, [self.batch, self.channels, product(op, self.spatial)])

    def at(self, places: Sequence[Any], check: bool) -> Value:
        """The pixels at places, zero outside.

        Args:
            places: whole numbers for each axis, `[N, points]`.
            check: whether places may be outside.

        Returns:
            `[N, C, points]`.
        """
        op = self.op
        index: Any = None
        inside: Any = None
        for place, n in zip(places, self.spatial, strict=True):
            length = scalar(op, n, self.dtype)
            kept = _clipped(op, place, n)
            if check:
                low = op.GreaterOrEqual(place, scalar(op, 0, self.dtype))
                here = op.And(low, op.Less(place, length))
                inside = here if inside is None else op.And(inside, here)
            whole = op.Cast(kept, to=DType.INT64)
            size = scalar(op, n, DType.INT64)
            index = whole if index is None else op.Add(op.Mul(index, size), whole)
        wide = op.Expand(
            op.Unsqueeze(index, [1]),
            op.Concat(
                *[op.Unsqueeze(scalar(op, n, DType.INT64), [0]) for n in (1, self.channels, 1)],
                axis=0,
            ),
        )
        pixels = op.GatherElements(self.pixels, wide, axis=2)
        if inside is None:
            return pixels
        zero = scalar(op, 0, self.dtype)
        return op.Where(op.Unsqueeze(inside, [1]), pixels, zero)


def _sample(op: Op, x: Value, grid: Any, mode: int, padding: int, align: bool) -> Value:
    """An image read at the places of a grid, by gathers."""
    image = _Image(op, x)
    batch, *shape, _ = sizes(op, grid)
    points = reshape(op, grid, [batch, product(op, shape), len(shape)])
    axes = list(reversed(range(len(shape))))
    places = [
        _unnormalized(op, op.Gather(points, n, axis=2), length, align)
        for n, length in zip(axes, image.spatial, strict=True)
    ]
    if mode == _BICUBIC:
        sampled = _cubic(op, image, places, padding, align)
    else:
        inner = [
            _padded(op, p, n, padding, align) for p, n in zip(places, image.spatial, strict=True)
        ]
        if mode == _NEAREST:
            sampled = image.at([op.Round(p) for p in inner], padding == _ZEROS)
        else:
            sampled = _linear(op, image, inner, padding == _ZEROS)
    return reshape(op, sampled, [batch, image.channels, *shape])


def _linear(op: Op, image: _Image, places: Sequence[Any], check: bool) -> Any:
    lows = [op.Floor(p) for p in places]
    shares = [op.Sub(p, low) for p, low in zip(places, lows, strict=True)]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight: Any = None
        spots = []
        for low, share, high in zip(lows, shares, corner, strict=True):
            spots.append(op.Add(low, 1) if high else low)
            part = share if high else op.Sub(1, share)
            weight = part if weight is None else op.Mul(weight, part)
        # Beyond the last element the weight is zero, so that any element will do.
        term = op.Mul(image.at(spots, check), op.Unsqueeze(weight, [1]))
        total = term if total is None else op.Add(total, term)
    return total


def _cubic(op: Op, image: _Image, places: Sequence[Any], padding: int, align: bool) -> Any:
    lows = [op.Floor(p) for p in places]
    weights = [
        cubic_weights(op, op.Sub(p, low), -0.75) for p, low in zip(places, lows, strict=True)
    ]
    total: Any = None
    for row, column in itertools.product(range(4), repeat=2):
        spots = [
            _padded(op, op.Add(low, k - 1), n, padding, align)
            for low, k, n in zip(lows, (row, column), image.spatial, strict=True)
        ]
        weight = op.Mul(weights[0][row], weights[1][column])
        term = op.Mul(image.at(spots, padding == _ZEROS), op.Unsqueeze(weight, [1]))
        total = term if total is None else op.Add(total, term)
    return total


def _grid_sample(op: Op, x: Value, grid: Any, mode: int, padding: int, align: bool) -> Value:
    if mode == _BICUBIC and x.rank != 4:
        unsupported("cubic interpolation of volumes: torch has none either")
    if _by_node(op, x, mode):
        two = op.version >= 20
        names = ("linear", "nearest", "cubic") if two else ("bilinear", "nearest", "bicubic")
        return op.GridSample(
            x,
            grid,
            mode=names[mode],
            padding_mode=("zeros", "border", "reflection")[padding],
            align_corners=int(align),
        )
    y = in_working_type(op, x)
    return cast(
        op, _sample(op, y, cast(op, grid, y.onnx_dtype), mode, padding, align), x.onnx_dtype
    )


def _by_node(op: Op, x: Value, mode: int) -> bool:
    """Whether GridSample does it."""
    if x.onnx_dtype is not DType.FLOAT or 0 in x.shape:
        return False
    return bool(x.rank == 4 or op.version >= 20)


def _register(test: str, doc: str, *names: str) -> None:
    """Register a way of reading at the places of a grid, between -1 and 1 along each axis."""

    def body(
        op: Op,
        input: Value,
        grid: Value,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
    ) -> Value:
        return _grid_sample(op, input, grid, interpolation_mode, padding_mode, align_corners)

    aten(*names, rule=like("input"), tests=[OpTest(test, xfail=[_COARSE])], doc=doc)(body)


_register(
    "nn.functional.grid_sample", "An image or a volume read at the places of a grid.",
    "aten::grid_sampler",
)  # fmt: skip
_register(
    "grid_sampler_2d", "An image read at the places of a grid.",
    "aten::grid_sampler_2d", "aten::_grid_sampler_2d_cpu_fallback",
)  # fmt: skip
_register("grid_sampler_3d", "A volume read at the places of a grid.", "aten::grid_sampler_3d")
