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
        target: the runtime the model is for; None where the rules say it.
        version: the opset version that is built.
        keep: names of values that stay as they are.
        asked: rules that the caller named.
    """

    level: str
    assume: frozenset[str]
    target: str | None
    version: int
    keep: frozenset[str] = frozenset()
    asked: frozenset[Rule] = frozenset()

    def allows(self, rule: Rule) -> bool:
        """Whether a rule may be used."""
        return self.reason_against(rule) is None

    def reason_against(self, rule: Rule) -> str | None:
        """Why a rule may not be used; None where it may."""
        if rule.level == "rounding" and self.level == "exact":
            return '`level="exact"` leaves it out: results may differ by rounding'
        if self.target is not None and rule.target not in ("any", self.target):
            return f'it is for `target="{rule.target}"`'
        if self.target in rule.avoid:
            return f"it makes a model slower in {self.target}"
        if rule.avoid and self.target == "any" and rule not in self.asked:
            return (
                f"it makes a model slower in {', '.join(sorted(rule.avoid))}: name it in `rules=`"
            )
        if not rule.since <= self.version <= rule.until:
            bound = f"{rule.since} or newer" if self.version < rule.since else f"up to {rule.until}"
            return f"the model has opset {self.version}; the rule is for opset {bound}"
        missing = sorted(rule.assume - self.assume)
        return f"it needs `assume={missing!r}`" if missing else None
