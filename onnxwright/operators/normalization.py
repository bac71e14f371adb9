"""Normalizations."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import per_input
from onnxwright.operators.record import Change, OperatorFacts

FACTS = (
    OperatorFacts(
        "BatchNormalization",
        training="with training_mode (before 14, with several outputs) it normalizes by the batch",
        flops=per_input(2),
        changes={
            7: Change("is_test is gone: the number of outputs says whether it trains"),
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
    OperatorFacts("LayerNormalization", flops=per_input(8)),
    OperatorFacts("LpNormalization", infer=first_input, flops=per_input(2)),
    OperatorFacts("MeanVarianceNormalization", infer=first_input, flops=per_input(8)),
    OperatorFacts("RMSNormalization", flops=per_input(6)),
)

__all__ = ["FACTS"]
