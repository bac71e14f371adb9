"""Newer versions of normalizations, Dropout and other layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import BY_BODY, KEEP, Call, Refused, up


@up(9, "BatchNormalization")
def batch_norm_per_channel(op: Ops, call: Call) -> Any:
    """Statistics are per channel; those per element are written out.

    Source: ONNX BatchNormalization 7 (`spatial`) and 9.
    """
    if call.attr("spatial", 1) == 1:
        return call.same(op, None, call.without("spatial"))
    if any(call.used[1:]):
        raise Refused("training statistics per element (`spatial=0`) have no newer equivalent")
    x, scale, bias, mean, var = (call.input(n) for n in range(5))
    epsilon = op.constant(np.array(call.attr("epsilon", 1e-5), dtype=call.dtype(0).numpy))
    normalized = op.Div(op.Sub(x, mean), op.Sqrt(op.Add(var, epsilon)))
    return [op.Add(op.Mul(normalized, scale), bias)]


@up(14, "BatchNormalization")
def batch_norm_says_training(op: Ops, call: Call) -> Any:
    """Training is an attribute; before, more outputs than one meant it.

    Source: ONNX BatchNormalization 9 and 14.
    """
    if not any(call.used[1:]):
        results = op.backend.emit(op.opset["BatchNormalization"], call.inputs, call.attributes, 1)
        return [results[0]]
    if any(call.used[3:]):
        raise Refused("its outputs `saved_mean` and `saved_var` have no newer equivalent")
    attributes = call.without(training_mode=1)
    return op.backend.emit(op.opset["BatchNormalization"], call.inputs, attributes, 3)


@up(13, "Erf")
@up(28, "ReduceLogSum", "ReduceLogSumExp")
def floats_only(op: Ops, call: Call) -> Any:
    """Integers are not allowed any more.  Source: ONNX Erf 13, ReduceLogSum 28."""
    del op
    dtype = call.input(0).dtype
    if dtype is not None and not dtype.is_float:
        raise Refused(f"newer versions take no {dtype.name}", "cast its input to FLOAT")
    return KEEP


@up(10, "Dropout")
def dropout_mask_is_bool(op: Ops, call: Call) -> Any:
    """The mask is BOOL; before, it had the type of the data.  Source: ONNX Dropout 7 and 10."""
    if not any(call.used[1:]):
        return KEEP
    results = call.same(op)
    return [results[0], op.Cast(results[1], to=int(call.dtype(0)))]


@up(12, "Dropout")
def dropout_ratio_is_an_input(op: Ops, call: Call) -> Any:
    """`ratio` is an input.  Source: ONNX Dropout 12; version 10 is that of inference."""
    ratio = call.attr("ratio", 0.5)
    ratio_input = op.constant(np.array(ratio, dtype=np.float32))
    return call.same(op, [call.input(0), ratio_input], call.without("ratio"))


@up(21, "GroupNormalization")
def group_norm_scales_channels(op: Ops, call: Call) -> Any:
    """`scale` and `bias` are per channel; before, per group.

    Source: ONNX GroupNormalization 18 and 21.
    """
    groups = call.attr("num_groups")
    x = call.input(0)
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    if isinstance(channels, int):
        sizes = call.int64(op, [groups, channels // groups])
    else:
        each = op.Div(op.Slice(op.Shape(x), [1], [2]), call.int64(op, [groups]))
        sizes = op.Concat(call.int64(op, [groups]), each, axis=0)

    def spread(value: Any) -> Any:
        column = op.Reshape(value, call.int64(op, [groups, 1]))
        return op.Reshape(op.Expand(column, sizes), call.int64(op, [-1]))

    return call.same(op, [x, spread(call.input(1)), spread(call.input(2))])


def meant_otherwise(call: Call) -> bool:
    """Whether an Attention means something else in version 23 than in 24."""
    return bool((call.attr("is_causal", 0) and call.has(4)) or (call.count > 3 and call.used[3]))


@up(24, "Attention")
def attention_with_newer_masks(op: Ops, call: Call) -> Any:
    """Causal masks beside a cache start elsewhere.  Source: ONNX Attention 23 and 24."""
    del op
    return BY_BODY if meant_otherwise(call) else KEEP
