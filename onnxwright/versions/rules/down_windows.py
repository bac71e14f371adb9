"""Older versions of operators over windows and grids: Resize, Upsample, GridSample."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import KEEP, Call, Refused, down

_NEW_MODES = ("half_pixel_symmetric",)


@down(19, "Resize")
def resize_without_new_modes(op: Ops, call: Call) -> Any:
    """No `half_pixel_symmetric`.  Source: ONNX Resize 18 and 19."""
    del op
    if call.attr("coordinate_transformation_mode") in _NEW_MODES:
        raise Refused("`half_pixel_symmetric` came with opset 19")
    return KEEP


@down(18, "Resize")
def resize_all_axes(op: Ops, call: Call) -> Any:
    """Without `axes`, sizes and scales are of all axes; no `antialias`.

    Source: ONNX Resize 13 and 18.
    """
    if call.attr("antialias", 0) and not _only_grows(call):
        raise Refused("`antialias` came with opset 18")
    if call.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Refused("`keep_aspect_ratio_policy` came with opset 18")
    attributes = call.without("antialias", "axes", "keep_aspect_ratio_policy")
    axes = call.attr("axes")
    if not axes:
        return call.same(op, None, attributes)
    rank = call.rank(0)
    axes = [a + rank if a < 0 else a for a in axes]
    x = call.input(0)
    where = [axes.index(n) if n in axes else len(axes) + n for n in range(rank)]

    def spread(n: int, others: Any) -> Any:
        arrays = call.constants(n)
        if arrays is not None and isinstance(others, np.ndarray):
            return op.constant(np.concatenate([arrays, others])[where])
        rest = op.constant(others) if isinstance(others, np.ndarray) else others
        return op.Gather(op.Concat(call.input(n), rest, axis=0), call.int64(op, where))

    shape = call.shape(0)
    fixed = all(isinstance(d, int) for d in shape)
    roi = call.get(1)
    if roi is not None and call.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise Refused("a region of some axes came with opset 18")
    sizes = scales = None
    if _there(call, 3):
        sizes = spread(3, np.array(shape, np.int64) if fixed else op.Shape(x))
    else:
        scales = spread(2, np.ones(rank, np.float32))
    return call.same(op, [x, None, scales, sizes], attributes)


def _only_grows(call: Call) -> bool:
    scales_array = call.constants(2) if _there(call, 2) else None
    return scales_array is not None and bool((scales_array >= 1).all())


def _there(call: Call, n: int) -> bool:
    """Whether an optional input is there and not empty."""
    if not call.has(n):
        return False
    shape = call.input(n).shape
    return shape != (0,)


@down(13, "Resize")
def resize_gives_all_inputs(op: Ops, call: Call) -> Any:
    """`roi` and `scales` are required; empty ones mean absent ones.

    Source: ONNX Resize 11.
    """
    empty = op.constant(np.zeros(0, dtype=np.float32))
    required = [empty if v is None else v for v in (call.get(1), call.get(2))]
    inputs = [call.input(0), *required, call.get(3)]
    return call.same(op, inputs)


@down(11, "Resize")
def resize_by_scales(op: Ops, call: Call) -> Any:
    """Version 10 knows scales, and coordinates divided by them.  Source: ONNX Resize 10."""
    mode = call.attr("mode", "nearest")
    coordinates = call.attr("coordinate_transformation_mode", "half_pixel")
    scales = _scales(call)
    if scales is None:
        raise Refused("version 10 takes scales, and these sizes give none that are known")
    if mode == "cubic":
        raise Refused("`mode` cubic came with opset 11")
    whole = bool((scales == np.round(scales)).all() and (scales >= 1).all())
    if mode == "nearest":
        rounding = call.attr("nearest_mode", "round_prefer_floor")
        same = (
            coordinates == "asymmetric" and rounding == "floor" and bool((scales >= 1).all())
        ) or (coordinates == "asymmetric" and rounding == "ceil" and bool((scales <= 1).all()))
        # Half a pixel is less than rounding takes back, where each element is repeated.
        repeated = whole and coordinates in ("half_pixel", "pytorch_half_pixel") and (
            rounding in ("round_prefer_floor", "round_prefer_ceil")
        )  # fmt: skip
        if not (same or repeated):
            raise Refused(
                f"version 10 has no `nearest` with {coordinates} coordinates and {rounding}"
            )
    elif coordinates != "asymmetric" and not bool((scales == 1).all()):
        raise Refused(f"version 10 has no {coordinates} coordinates")
    scales_input = op.constant(scales.astype(np.float32))
    return call.same(op, [call.input(0), scales_input], {"mode": mode})


def _scales(call: Call) -> Any:
    if _there(call, 3):
        sizes, shape = call.ints(3), call.shape(0)
        if sizes is None or any(not isinstance(d, int) or d == 0 for d in shape):
            return None
        before = np.array(shape, dtype=np.int64)
        scales = (np.array(sizes) / before).astype(np.float32)
        back = np.floor(scales * before).astype(np.int64).tolist()
        return scales if back == sizes else None
    return call.constant(2)


@down(10, "Resize")
def resize_is_upsample(op: Ops, call: Call) -> Any:
    """Scales of at least 1 are those of Upsample.  Source: ONNX Upsample 9."""
    scales = call.constant(1)
    if scales is None or not (scales >= 1).all():
        raise Refused("Upsample 9 makes no axis shorter")
    return call.same(op, name="Upsample")


@down(9, "Upsample")
def scales_become_an_attribute(op: Ops, call: Call) -> Any:
    """`scales` is an attribute.  Source: ONNX Upsample 7."""
    scales = call.constant(1)
    assert scales is not None
    return call.same(op, [call.input(0)], call.without(scales=[float(s) for s in scales]))


@down(16, "RoiAlign")
def roi_align_without_half_pixels(op: Ops, call: Call) -> Any:
    """Version 10 does not shift by half a pixel.  Source: ONNX RoiAlign 16."""
    if call.attr("coordinate_transformation_mode", "half_pixel") != "output_half_pixel":
        raise Refused("half-pixel coordinates came with opset 16")
    return call.same(op, None, call.without("coordinate_transformation_mode"))


_MODES = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


@down(20, "GridSample")
def grid_modes_have_old_names(op: Ops, call: Call) -> Any:
    """`linear` is `bilinear`, `cubic` is `bicubic`.  Source: ONNX GridSample 16."""
    if call.input(0).rank not in (None, 4):
        raise Refused("grids of volumes came with opset 20")
    return call.same(op, None, call.without(mode=_MODES[call.attr("mode", "linear")]))


@down(11, "DepthToSpace")
def depth_in_columns(op: Ops, call: Call) -> Any:
    """`mode` CRD is Reshape, Transpose, Reshape.  Source: ONNX DepthToSpace 11."""
    if call.attr("mode", "DCR") == "DCR":
        return call.same(op, None, call.without("mode"))
    b, (n, c, h, w) = call.attr("blocksize"), call.shape(0)
    if not all(isinstance(d, int) for d in (c, h, w)):
        raise Refused("`mode` CRD came with opset 11, and the sizes are not known")
    assert isinstance(c, int) and isinstance(h, int) and isinstance(w, int)  # noqa: PT018
    del n
    split = op.Reshape(call.input(0), call.int64(op, [0, c // b**2, b, b, h, w]))
    moved = op.Transpose(split, perm=[0, 1, 4, 2, 5, 3])
    return [op.Reshape(moved, call.int64(op, [0, c // b**2, h * b, w * b]))]


@down(28, "SpaceToDepth")
def space_in_columns(op: Ops, call: Call) -> Any:
    """`mode` CRD is Reshape, Transpose, Reshape.  Source: ONNX SpaceToDepth 28."""
    if call.attr("mode", "DCR") == "DCR":
        return call.same(op, None, call.without("mode"))
    b, (_, c, h, w) = call.attr("blocksize"), call.shape(0)
    if not all(isinstance(d, int) for d in (c, h, w)):
        raise Refused("`mode` CRD came with opset 28, and the sizes are not known")
    assert isinstance(c, int) and isinstance(h, int) and isinstance(w, int)  # noqa: PT018
    split = op.Reshape(call.input(0), call.int64(op, [0, c, h // b, b, w // b, b]))
    moved = op.Transpose(split, perm=[0, 1, 3, 5, 2, 4])
    return [op.Reshape(moved, call.int64(op, [0, c * b**2, h // b, w // b]))]
