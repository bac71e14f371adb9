"""Operators of the domain ai.onnx.preview.training."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (
    OperatorFacts("Adagrad", domain="ai.onnx.preview.training", folding=NEVER),
    OperatorFacts("Adam", domain="ai.onnx.preview.training", folding=NEVER),
    OperatorFacts("Gradient", domain="ai.onnx.preview.training", folding=NEVER),
    OperatorFacts("Momentum", domain="ai.onnx.preview.training", folding=NEVER),
)
