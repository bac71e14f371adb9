"""`Scope`: which rules a call of the optimizer may use."""

from __future__ import annotations

from dataclasses import dataclass

from onnxwright.optimizer.rules import Rule


@dataclass(frozen=True)
class Scope:
    """Which rules may be used.

    Fields:
        level: "exact" or "rounding".
        assume: what the caller promises of all inputs.
        target: the runtime the model is for.
        version: the opset version that is built.
        keep: names of values that stay as they are.
    """

    level: str
    assume: frozenset[str]
    target: str
    version: int
    keep: frozenset[str] = frozenset()

    def allows(self, rule: Rule) -> bool:
        """Whether a rule may be used."""
        if rule.level == "rounding" and self.level == "exact":
            return False
        if rule.target not in ("any", self.target) or self.target in rule.avoid:
            return False
        return rule.since <= self.version <= rule.until and rule.assume <= self.assume
