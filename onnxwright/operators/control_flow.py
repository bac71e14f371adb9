"""Operators with bodies: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, OperatorFacts

FACTS = (
    OperatorFacts("If", has_bodies=True, folding=NEVER),
    OperatorFacts("Loop", has_bodies=True, folding=NEVER),
    OperatorFacts("Scan", has_bodies=True, folding=NEVER),
    OperatorFacts("SequenceMap", has_bodies=True, folding=NEVER),
)
