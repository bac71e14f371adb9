"""Operators on strings."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (
    OperatorFacts("RegexFullMatch", folding=NEVER, needs_input_types=True),
    OperatorFacts("StringConcat", folding=NEVER),
    OperatorFacts("StringNormalizer", folding=NEVER),
    OperatorFacts("StringSplit", folding=NEVER),
    OperatorFacts("TfIdfVectorizer", folding=NEVER),
)
