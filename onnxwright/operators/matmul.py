"""Matrix products: MatMul, Gemm, Einsum and their quantized forms."""

from __future__ import annotations

from onnxwright.operators.record import ALWAYS, OperatorFacts

FACTS = (
    OperatorFacts("Det"),
    OperatorFacts("Einsum", heavy=True),
    OperatorFacts("Gemm", heavy=True, folding=ALWAYS),
    OperatorFacts("MatMul", heavy=True, symbol="@", folding=ALWAYS),
    OperatorFacts("MatMulInteger", heavy=True),
    OperatorFacts("QLinearMatMul", heavy=True),
)

__all__ = ["FACTS"]
