"""Operators that draw random numbers, Dropout among them."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.record import NEVER, Change, OperatorFacts

FACTS = (
    OperatorFacts("Bernoulli", random=True, folding=NEVER, infer=first_input),
    OperatorFacts(
        "Dropout",
        random=True,
        training="with training_mode (before 7, without is_test) it drops elements at random",
        folding=NEVER,
        flops=free,
        changes={7: Change("never drops; before, it did without is_test")},
    ),
    OperatorFacts("Multinomial", random=True, folding=NEVER),
    OperatorFacts("RandomNormal", random=True, folding=NEVER),
    OperatorFacts("RandomNormalLike", random=True, folding=NEVER, infer=first_input),
    OperatorFacts("RandomUniform", random=True, folding=NEVER),
    OperatorFacts("RandomUniformLike", random=True, folding=NEVER, infer=first_input),
)

__all__ = ["FACTS"]
