"""Operators that read or write elements at indices: Gather, Scatter, OneHot, NonZero."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts

FACTS = (
    OperatorFacts("Gather", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("GatherElements", moves_data=True, cheap=True, flops=free),
    OperatorFacts("GatherND", moves_data=True, cheap=True, flops=free),
    OperatorFacts("NonZero", flops=free),
    OperatorFacts(
        "OneHot",
        flops=free,
        changes={
            11: Change(
                "indices from -depth to -1 count from the end; before, they gave off_value only"
            )
        },
    ),
    OperatorFacts(
        "Scatter",
        infer=first_input,
        flops=free,
        changes={11: Change("deprecated: ScatterElements takes its place")},
    ),
    OperatorFacts("ScatterElements", infer=first_input, flops=free),
    OperatorFacts("ScatterND", infer=first_input, flops=free),
    OperatorFacts("TensorScatter", flops=free),
)

__all__ = ["FACTS"]
