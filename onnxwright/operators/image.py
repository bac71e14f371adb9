"""Images: resizing, sampling, decoding and boxes."""

from __future__ import annotations

import math

from onnxwright.operators.op_call import ContradictionError, OpCall, UnknownError, axis_in
from onnxwright.operators.record import NEVER, Change, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape


def _resize_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    if call.since < 11:
        raise UnknownError
    if call.attr("keep_aspect_ratio_policy", "stretch") not in ("stretch", b"stretch"):
        raise UnknownError
    axes_given = call.attr("axes", None)
    axes = [axis_in(a, len(shape)) for a in axes_given] if axes_given else list(range(len(shape)))
    result = list(shape)
    if call.has(3):
        sizes = call.dims(3)
        if len(sizes) != len(axes):
            raise ContradictionError(f"{len(axes)} sizes, one for each axis", len(sizes))
        for axis, size in zip(axes, sizes):
            result[axis] = size if dims.at_least(size, 0) else None
        return tuple(result)
    scales = call.arrays[2] if call.has(2) else None
    if scales is None or scales.size == 0:
        raise UnknownError
    if scales.size != len(axes):
        raise ContradictionError(f"{len(axes)} scales, one for each axis", scales.size)
    for axis, scale in zip(axes, scales.tolist()):
        result[axis] = _scaled(result[axis], scale)
    return tuple(result)


def _scaled(dim: Dim, scale: float) -> Dim:
    if type(dim) is int:
        return math.floor(dim * scale)
    if scale <= 0 or not math.isfinite(scale):
        raise UnknownError
    if scale == int(scale):
        return dims.mul(dim, int(scale))
    numerator, denominator = scale.as_integer_ratio()
    # Exact for powers of two; other factors are rounded in ways that runtimes differ in.
    return dims.floordiv(dims.mul(dim, numerator), denominator) if denominator <= 1024 else None


FACTS = (
    OperatorFacts("AffineGrid"),
    OperatorFacts(
        "GridSample",
        least_ranks=(3, 3),
        changes={20: Change("the modes bilinear and bicubic are called linear and cubic")},
    ),
    OperatorFacts("ImageDecoder", folding=NEVER),
    OperatorFacts("NonMaxSuppression"),
    OperatorFacts(
        "Resize",
        takes_sizes=True,
        infer=_resize_shape,
        folding=NEVER,
        changes={
            11: Change(
                "roi is an input before scales; half_pixel is the default; before, asymmetric"
            ),
            13: Change(
                "tf_half_pixel_for_nn was removed", only_with=("coordinate_transformation_mode",)
            ),
        },
    ),
    OperatorFacts(
        "Upsample",
        copies=True,
        folding=NEVER,
        changes={10: Change("deprecated: Resize takes its place")},
    ),
)
