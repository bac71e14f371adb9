"""Attention and rotary position embedding."""

from __future__ import annotations

from onnxwright.operators.flops import per_input
from onnxwright.operators.record import NEVER, Change, OperatorFacts

FACTS = (
    OperatorFacts(
        "Attention",
        heavy=True,
        changes={
            24: Change(
                "causal masks beside a cache and the scores as an output were specified anew",
                only_with=("is_causal", "qk_matmul_output_mode", "softmax_precision"),
            )
        },
    ),
    OperatorFacts("LinearAttention", heavy=True),
    OperatorFacts("RotaryEmbedding", flops=per_input(3)),
    OperatorFacts("FlexAttention", domain="ai.onnx.preview", heavy=True, folding=NEVER),
)

__all__ = ["FACTS"]
