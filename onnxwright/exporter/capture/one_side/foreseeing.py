"""Whether a capture on chosen sides will end, as its sizes are of another side: without tracing.

Captures on other sides, and the first one without a choice, ask the same in the same order until
one is answered otherwise.  What they asked is evaluated at the sizes that the next one is to have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.proving import Prover
from onnxwright.exporter.capture.one_side.class_sizes import holds
from onnxwright.exporter.capture.one_side.sides import Place


@dataclass(frozen=True)
class Asked:
    """A condition that a capture asked.

    Fields:
        condition: the condition; a sympy expression of torch's symbols.
        place: the line that asked.
        answer: whether it was true in that capture.
        by_operator: whether an operator of torch asked, mostly for the layout of memory.
    """

    condition: Any
    place: Place
    answer: bool
    by_operator: bool = False

    @property
    def held(self) -> Any:
        """The condition that held."""
        return self.condition if self.answer else sympy.Not(self.condition)


@dataclass(frozen=True)
class OtherSide:
    """What a capture would end with.

    Fields:
        contrary: the condition that does not hold at its sizes.
        conditions: those that held on the sides that it took before, and this one.
    """

    contrary: Any
    conditions: Sequence[Any]


def asked_by(decisions: Iterable[Decision]) -> list[Asked]:
    """What a capture without a choice of sides asked.

    Args:
        decisions: what was recorded.
    """
    return [
        Asked(
            d.expression if d.answer else sympy.Not(d.expression),
            (d.file, d.line),
            d.answer,
            d.by_operator,
        )
        for d in decisions
    ]


def foreseen(
    asked: Iterable[Asked],
    answers: Mapping[Place, bool | None],
    sizes: Mapping[str, int],
    prover: Prover,
) -> OtherSide | None:
    """What a capture would end with.

    Args:
        asked: what an earlier capture asked, in order.
        answers: to the decisions of some lines; None for what holds at most sizes.
        sizes: of the capture, by symbol.
        prover: knows what holds at all sizes.

    Returns:
        The condition that does not hold; None where the capture goes on to the end of what was
        asked, or to where it takes another side than the earlier one.

    Example:
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> earlier = [Asked(n > 8, ("model.py", 3), False)]
        >>> foreseen(earlier, {("model.py", 3): True}, {"n": 5}, Prover()).contrary
        n > 8
        >>> foreseen(earlier, {("model.py", 3): True}, {"n": 9}, Prover()) is None
        True
    """
    of_sides: dict[tuple[Place, bool], dict[Any, None]] = {}
    of_operators: dict[Place, dict[Any, None]] = {}
    for one in asked:
        if prover.answer(one.condition) is not None:
            continue
        now = holds(one.condition, sizes)
        if now is None:
            return None
        if one.place in answers:
            answer = answers[one.place]
            if answer is None:
                answer = prover.holds_mostly(one.condition)
            held = one.condition if answer else sympy.Not(one.condition)
            of_sides.setdefault((one.place, answer), {}).setdefault(held)
            if now != answer:
                groups = (*of_sides.values(), *of_operators.values())
                return OtherSide(held, list(dict.fromkeys(c for group in groups for c in group)))
        elif one.by_operator:
            of_operators.setdefault(one.place, {}).setdefault(one.held)
        if now != one.answer:
            return None
    return None
