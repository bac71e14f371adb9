"""Newer versions of operators over windows and grids: Upsample, Resize, GridSample."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import KEEP, Call, Refused, up


@up(9, "Upsample")
def scales_become_an_input(op: Ops, call: Call) -> Any:
    """`scales` is an input.  Source: ONNX Upsample 9."""
    scales = op.constant(np.array(call.attr("scales"), dtype=np.float32))
    return call.same(op, [call.input(0), scales], call.without("scales"))


@up(11, "Resize")
def resize_names_its_coordinates(op: Ops, call: Call) -> Any:
    """Version 10 divides coordinates by the scale (asymmetric).

    Where it makes an axis longer, `nearest` takes the element below; where it makes one shorter,
    the element above, as the tests of ONNX and the kernel of ONNX Runtime for version 10 have it.

    Source: ONNX Resize 10 and 11, test_resize_downsample_nearest of opset 10.
    """
    x, scales = call.input(0), call.input(1)
    empty = op.constant(np.zeros(0, dtype=np.float32))
    nearest = call.attr("mode", "nearest") == "nearest"
    scales_array = call.constants(1)

    def made(value: Any, factors: Any, rounding: str) -> Any:
        attributes = call.without(coordinate_transformation_mode="asymmetric")
        if nearest:
            attributes["nearest_mode"] = rounding
        return call.same(op, [value, empty, factors], attributes)

    if not nearest or scales_array is None or (scales_array >= 1).all():
        return made(x, scales, "floor")
    if (scales_array <= 1).all():
        return made(x, scales, "ceil")
    wider = made(x, op.constant(np.maximum(scales_array, 1).astype(np.float32)), "floor")
    return made(wider[0], op.constant(np.minimum(scales_array, 1).astype(np.float32)), "ceil")


@up(13, "Resize")
def resize_without_odd_coordinates(op: Ops, call: Call) -> Any:
    """`tf_half_pixel_for_nn` was removed.  Source: ONNX Resize 11 and 13."""
    del op
    if call.attr("coordinate_transformation_mode", "half_pixel") == "tf_half_pixel_for_nn":
        raise Refused("newer versions have no `tf_half_pixel_for_nn`")
    return KEEP


_MODES = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}


@up(20, "GridSample")
def grid_modes_have_new_names(op: Ops, call: Call) -> Any:
    """`bilinear` is `linear`, `bicubic` is `cubic`.  Source: ONNX GridSample 20."""
    mode = call.attr("mode", "bilinear")
    return call.same(op, None, call.without(mode=_MODES.get(mode, mode)))
