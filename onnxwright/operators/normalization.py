"""Normalizations."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import per_input
from onnxwright.operators.op_call import OpCall, UnknownError, axis_in, same
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts
from onnxwright.types.shapes import Shape


def _layer_norm_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis_in(call.attr("axis"), len(shape))
    if call.count != 1:
        raise UnknownError
    return shape


def _batch_norm_shape(call: OpCall) -> Shape:
    x = call.shape(0)
    if call.count != 1 or len(x) < 2:
        raise UnknownError
    for n in range(1, len(call.types)):
        shape = call.shape(n)
        if len(shape) != 1:
            raise UnknownError
        same(x[1], shape[0])
    return x


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
        infer=first_input,
        flops=per_input(8),
        changes={21: Change("scale and bias have an element a channel; before, a group")},
    ),
    OperatorFacts("InstanceNormalization", infer=first_input, flops=per_input(8)),
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

__all__ = ["FACTS"]
