"""Losses."""

from __future__ import annotations

from onnxwright.operators.record import OperatorFacts

FACTS = (
    OperatorFacts("NegativeLogLikelihoodLoss"),
    OperatorFacts("SoftmaxCrossEntropyLoss"),
)
