"""Operators that read the shape of a tensor, or make a tensor of a given shape."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.record import OperatorFacts

FACTS = (
    OperatorFacts("Constant", cheap=True, flops=free),
    OperatorFacts("ConstantOfShape", cheap=True, flops=free),
    OperatorFacts("EyeLike", cheap=True, infer=first_input, flops=free),
    OperatorFacts("Range", cheap=True, flops=free),
    OperatorFacts("Shape", cheap=True, flops=free),
    OperatorFacts("Size", cheap=True, flops=free),
)

__all__ = ["FACTS"]
