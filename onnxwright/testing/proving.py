"""`prove(rule)`: the pattern of a rule run as a model, with and without its replacement.

Inputs are drawn at random: element types, ranks, sizes 0, 1 and more, NaN, infinities and -0.0,
attributes that the pattern captures, operands in both orders, dimensions as numbers, as names or
unknown.  ONNX Runtime's own optimizations are off.  A rule that is never used proves nothing, and
fails.  The proof says what was varied among the models in which the rule was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from onnxwright.diagnostics.shown_text import ShownText
from onnxwright.optimizer.rules import Rule
from onnxwright.testing.rule_inputs import PRODUCERS
from onnxwright.testing.rule_trials import Trial, run_plainly

TRIES = 48
_SHOWN = 8
# In fewer models of tensors that are not empty, a rule is tried after operators, too.
_ENOUGH = 4


@dataclass(frozen=True)
class Proof(ShownText):
    """What a proof has seen.

    Fields:
        rule: the rule's name.
        tries: how many models were drawn.
        refused: how many of them the runtime refuses as they are.
        fired: how often the rule was used in the others.
        varied: what was drawn for the models in which the rule was used: element types, ranks,
            sizes, opsets, how dimensions are declared, and each attribute that the pattern
            captures.  What has one value alone was not varied.
    """

    rule: str
    tries: int
    refused: int
    fired: int
    varied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fixed(self) -> dict[str, str]:
        """What had one value alone: the rule is not proven for others."""
        return {name: values[0] for name, values in self.varied.items() if len(values) == 1}

    def __str__(self) -> str:
        lines = [f"rule `{self.rule}`: used {self.fired} times in {self.tries} models"]
        if self.refused:
            lines[0] += f" ({self.refused} refused by the runtime)"
        for name, values in self.varied.items():
            shown = "; ".join(values[:_SHOWN])
            more = f"; {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
            alone = " (not varied)" if len(values) == 1 else ""
            lines.append(f"  {name}: {shown}{more}{alone}")
        return "\n".join(lines)


def prove(rule: Rule, *, tries: int = TRIES, seed: int = 0) -> Proof:
    """Run the pattern of a rule as a model against its replacement.

    Args:
        rule: the rule; its `cases` draws inputs that it matches, where any would rarely do.
        tries: how many models are drawn.
        seed: what they are drawn from.

    Returns:
        What was seen.

    Raises:
        AssertionError: the results differ, their types do, or the rule was never used.

    Example:
        >>> from onnxwright.optimizer import rule
        >>> @rule
        ... def abs_of_neg(op, x):
        ...     return op.Abs(op.Neg(x))
        >>> @abs_of_neg.to
        ... def _(op, x):
        ...     return op.Abs(x)
        >>> proof = prove(abs_of_neg)
        >>> proof.fired > 0, proof.varied["ranks"]
        (True, ('0', '1', '2', '3', '4'))
    """
    count = _Count()
    count.run(rule, tries, [seed], produced=False)
    if count.used < _ENOUGH and count.matched:
        # Facts of what makes the inputs may be what the replacement asks for.
        count.run(rule, tries, [seed, 1], produced=True)
    if not count.used:
        raise AssertionError(count.unused(rule))
    varied = {name: tuple(sorted(values)) for name, values in count.varied.items()}
    return Proof(rule.name, count.tries, count.refused, count.fired, varied)


class _Count:
    """What the trials of a rule have seen."""

    def __init__(self) -> None:
        self.tries = self.refused = self.fired = self.matched = self.used = 0
        self.varied: dict[str, set[str]] = {}

    def run(self, rule: Rule, tries: int, seed: list[int], *, produced: bool) -> None:
        """Draw models and run them; `produced` puts an operator before each input."""
        for n in range(tries):
            rng = np.random.default_rng([*seed, n])
            trial = Trial(
                rule,
                rule.patterns[n % len(rule.patterns)],
                rng,
                PRODUCERS[n % len(PRODUCERS)] if produced else None,
            )
            outcome = trial.run()
            self.tries += 1
            self.refused += outcome is None
            self.fired += outcome or 0
            self.matched += trial.matched
            self.used += bool(outcome) and trial.is_telling
            if outcome:
                for name, value in trial.drawn().items():
                    self.varied.setdefault(name, set()).add(value)

    def unused(self, rule: Rule) -> str:
        """Why nothing is proven."""
        text = f"rule `{rule.name}` was never used in {self.tries} tries, so nothing is proven: "
        if self.matched:
            text += (
                f"its pattern matched in {self.matched} of them, and its replacement declined "
                "or had another type, or all its results were empty"
            )
        else:
            text += "its pattern never matched"
        refused = f" ({self.refused} models were refused by the runtime)" if self.refused else ""
        return f"{text}{refused}. Give it inputs that it is used for with `cases=`"


__all__ = ["TRIES", "Proof", "prove", "run_plainly"]
