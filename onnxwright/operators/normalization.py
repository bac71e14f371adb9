"""Normalizations."""

from __future__ import annotations

from onnxwright.operators.broadcasting import broadcast_to, first_input
from onnxwright.operators.flops import per_input
from onnxwright.operators.op_call import (
    ContradictionError,
    OpCall,
    UnknownError,
    axis_in,
    listed,
    same_shape,
)
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts
from onnxwright.types.shapes import Shape


def _layer_norm_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    for n in range(1, len(call.types)):
        if call.has(n):
            broadcast_to(call.shape(n), shape[axis:], call.signature.inputs[n].name)
    if call.count != 1:
        raise UnknownError
    return shape


def _batch_norm_shape(call: OpCall) -> Shape:
    x = call.shape(0)
    _check_channels(call, x)
    if call.count != 1:
        raise UnknownError
    return x


def _channel_norm_shape(call: OpCall) -> Shape:
    x = call.shape(0)
    _check_channels(call, x)
    return x


def _group_norm_shape(call: OpCall) -> Shape:
    x, groups = call.shape(0), call.attr("num_groups")
    if not groups:
        raise UnknownError
    _check_channels(call, x, None if call.since >= 21 else groups)
    if type(x[1]) is int and groups > 0 and x[1] % groups:
        raise ContradictionError(f"channels in {groups} equal groups", x[1])
    return x


def _check_channels(call: OpCall, x: Shape, count: int | None = None) -> None:
    """Check that each further input has one number for each channel, or `count` numbers."""
    if len(x) < 2:
        raise ContradictionError("at least 2 axes (batch, channels)", listed(x))
    for n in range(1, len(call.types)):
        same_shape(
            (x[1] if count is None else count,), call.shape(n), call.signature.inputs[n].name
        )


FACTS = (
    OperatorFacts(
        "BatchNormalization",
        training="with training_mode (before 14, with several outputs) it normalizes by the batch",
        infer=_batch_norm_shape,
        flops=per_input(2),
        changes={
            7: Change("is_test was removed: the number of outputs says whether it trains"),
            14: Change(
                "training_mode says whether it trains; before, the number of outputs",
                one_output_is_same=True,
            ),
        },
    ),
    OperatorFacts(
        "GroupNormalization",
        infer=_group_norm_shape,
        flops=per_input(8),
        changes={21: Change("scale and bias have an element a channel; before, a group")},
    ),
    OperatorFacts("InstanceNormalization", infer=_channel_norm_shape, flops=per_input(8)),
    OperatorFacts("LRN", flops=per_input(8)),
    OperatorFacts(
        "LayerNormalization",
        droppable_outputs=True,
        infer=_layer_norm_shape,
        folding=ALWAYS,
        flops=per_input(8),
    ),
    OperatorFacts("LpNormalization", infer=first_input, flops=per_input(2)),
    OperatorFacts("MeanVarianceNormalization", infer=first_input, flops=per_input(8)),
    OperatorFacts("RMSNormalization", infer=_layer_norm_shape, flops=per_input(6)),
)
