"""Signal processing: Fourier transforms and windows."""

from __future__ import annotations

from onnxwright.operators.record import Change, OperatorFacts

FACTS = (
    OperatorFacts("BlackmanWindow"),
    OperatorFacts(
        "DFT",
        changes={
            20: Change("the axis is an input, -2 by default; before, an attribute, 1 by default")
        },
    ),
    OperatorFacts("HammingWindow"),
    OperatorFacts("HannWindow"),
    OperatorFacts("MelWeightMatrix"),
    OperatorFacts("STFT"),
)

__all__ = ["FACTS"]
