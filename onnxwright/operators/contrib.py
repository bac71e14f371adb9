"""Operators of ONNX Runtime's domain com.microsoft: those that something here asks about."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (OperatorFacts("MatMulNBits", domain="com.microsoft", heavy=True, folding=NEVER),)

__all__ = ["FACTS"]
