"""Convolutions."""

from __future__ import annotations

from onnxwright.operators.record import Change, OperatorFacts

FACTS = (
    OperatorFacts("CausalConvWithState", heavy=True),
    OperatorFacts("Col2Im"),
    OperatorFacts("Conv", heavy=True),
    OperatorFacts("ConvInteger", heavy=True),
    OperatorFacts(
        "ConvTranspose",
        heavy=True,
        changes={
            11: Change(
                "which side gets more padding where it is odd",
                only_with=("auto_pad", "output_shape"),
            )
        },
    ),
    OperatorFacts("DeformConv", heavy=True),
    OperatorFacts("QLinearConv", heavy=True),
)

__all__ = ["FACTS"]
