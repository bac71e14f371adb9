"""Operators that change the element type."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.record import ALWAYS, OperatorFacts

FACTS = (
    OperatorFacts("BitCast", elementwise=True, cheap=True, flops=free),
    OperatorFacts(
        "Cast", elementwise=True, cheap=True, folding=ALWAYS, infer=first_input, flops=free
    ),
    OperatorFacts("CastLike", elementwise=True, cheap=True, infer=first_input, flops=free),
)

__all__ = ["FACTS"]
