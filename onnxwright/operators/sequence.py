"""Sequences and optional values."""

from __future__ import annotations

from onnxwright.operators.flops import free
from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (
    OperatorFacts("ConcatFromSequence", folding=NEVER, flops=free),
    OperatorFacts("Optional", folding=NEVER, flops=free),
    OperatorFacts("OptionalGetElement", folding=NEVER, flops=free),
    OperatorFacts("OptionalHasElement", folding=NEVER, flops=free),
    OperatorFacts("SequenceAt", folding=NEVER, flops=free),
    OperatorFacts("SequenceConstruct", folding=NEVER, flops=free),
    OperatorFacts("SequenceEmpty", folding=NEVER, flops=free),
    OperatorFacts("SequenceErase", folding=NEVER, flops=free),
    OperatorFacts("SequenceInsert", folding=NEVER, flops=free),
    OperatorFacts("SequenceLength", folding=NEVER, flops=free),
    OperatorFacts("SplitToSequence", folding=NEVER, flops=free),
)
