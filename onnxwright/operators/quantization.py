"""Quantizing and dequantizing tensors."""

from __future__ import annotations

from onnxwright.operators.flops import per_output
from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (
    OperatorFacts("DequantizeLinear", folding=NEVER, flops=per_output(2)),
    OperatorFacts("DynamicQuantizeLinear", exact_on_integers=True, folding=NEVER),
    OperatorFacts("QuantizeLinear", folding=NEVER, flops=per_output(2)),
)
