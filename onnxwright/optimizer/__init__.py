"""The optimizer: models in a normal form, rewritten in place where rules match."""

from __future__ import annotations

from onnxwright.optimizer.finding import Found, NearMiss, find
from onnxwright.optimizer.optimize import optimize
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.report import OptimizeReport
from onnxwright.optimizer.rewriting import rewrite
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.optimizer.value_facts import ValueFacts, facts

__all__ = [
    "Attr",
    "Attrs",
    "Const",
    "Found",
    "NearMiss",
    "OptimizeReport",
    "Rule",
    "ValueFacts",
    "facts",
    "find",
    "optimize",
    "rewrite",
    "rule",
]
