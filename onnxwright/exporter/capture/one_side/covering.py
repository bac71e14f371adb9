"""Decisions by sizes of which one side is right at all sizes: that side is captured, unguarded.

"Pad if it does not fit" is the usual one: the side that pads pads by 0 where nothing is missing.
Sides are tried: the module is captured on one of them (`steering`), and what was captured is
compared with the module at sizes of both sides.  Only what agrees at all of them is taken.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.branches import resized, size_at
from onnxwright.exporter.capture.assumptions.guard_text import guard_text
from onnxwright.exporter.capture.assumptions.guards import (
    Place,
    SizeGuard,
    Sizes,
    places_of,
    sizes_of,
)
from onnxwright.exporter.capture.assumptions.proving import Prover
from onnxwright.exporter.capture.assumptions.specialization import fixed_values
from onnxwright.exporter.capture.attempt import Capture, attempted
from onnxwright.exporter.capture.inputs import captured_sizes, shapes
from onnxwright.exporter.capture.one_side import class_sizes
from onnxwright.exporter.capture.one_side.class_sizes import fitting, holds, may_fit, to_compare
from onnxwright.exporter.capture.one_side.comparing import Compared, compared
from onnxwright.exporter.capture.one_side.drawn_values import Draw
from onnxwright.exporter.capture.one_side.foreseeing import OtherSide, asked_by, foreseen
from onnxwright.exporter.capture.one_side.sides import Place as Line
from onnxwright.exporter.capture.one_side.sides import is_decision, preferred
from onnxwright.exporter.capture.one_side.steering import Steered
from onnxwright.exporter.capture.outcomes import Outcome
from onnxwright.exporter.torch_internals import pytree

# How many captures are tried: at most, of a large program, and nodes of all of them.
_CAPTURES, _OF_LARGE, _NODES = 12, 3, 6_000
# Up to which multiple of the example, and some more, sizes are compared.
_TIMES, _LARGEST = 4, 4096
# How often one that ends at a decision of the other side is tried again with other sizes.
_OTHERS = 8

Answers = Mapping[Line, "bool | None"]


@dataclass(frozen=True)
class CoveredDecision:
    """A decision by sizes of which one side is right at all sizes.

    Fields:
        file, line: where the user's code decides.
        text: the condition of the side that was captured.
        sizes: at which it was compared with the module, as text.
    """

    file: str
    line: int
    text: str
    sizes: str


@dataclass(frozen=True)
class Covered:
    """A capture without guards for decisions of which one side is right at all sizes.

    Fields:
        capture: the program, and how it was captured.
        wanted: the example inputs and dynamic dimensions it was captured with.
        decisions: the decisions that need no guard.
        examples: sizes of both sides, by place, at which the program agrees with the module.
    """

    capture: Capture
    wanted: shapes.Wanted
    decisions: tuple[CoveredDecision, ...]
    examples: tuple[Mapping[Place, int], ...]


def covered(
    module: torch.nn.Module,
    first: Capture,
    wanted: shapes.Wanted,
    outcomes: list[Outcome],
) -> Covered | None:
    """A capture that is right on both sides of decisions by sizes.

    Args:
        module: the module.
        first: what was captured with the example inputs.
        wanted: the example inputs, and which dimensions are dynamic.
        outcomes: the captures that are tried are added here.

    Returns:
        The capture, with the decisions that it covers; None if no side is right at all sizes, or
        nothing is decided by sizes.
    """
    if first.way is None or not any(wanted.axes):
        return None
    search = _Search(module, first, wanted, outcomes, _limit(first.program))
    lines = search.lines(search.first)
    if not lines:
        return None
    repeated = search.lines(search.first, repeated=True)
    if repeated and len(repeated) < len(lines):
        answers = {line: preferred(line) for line in repeated}
        found = search.closed(answers, repeated=True)
        if found is not None:
            return search.one_by_one([n for n in lines if n not in answers], answers, found)
    else:
        found = search.closed({line: preferred(line) for line in lines})
        if found is not None or (len(lines) == 1 and search.is_over()):
            return found
    return search.one_by_one(lines)


def _limit(program: ExportedProgram) -> int:
    """How many captures are tried: the same on every machine, fast or slow."""
    return min(max(_NODES // max(len(program.graph.nodes), 1), _OF_LARGE), _CAPTURES)


@dataclass
class _Try:
    """A capture on chosen sides, and what is known of its sizes."""

    capture: Capture
    wanted: shapes.Wanted
    steered: Steered
    sizes: Sizes

    def decisions(self) -> list[SizeGuard]:
        return [g for g in self.sizes.decisions() if not g.small]


@dataclass
class _Search:
    """The search for sides of one module that are right at all sizes."""

    module: torch.nn.Module
    given: Capture
    wanted: shapes.Wanted
    outcomes: list[Outcome]
    limit: int
    captures: int = 0
    prover: Prover = field(default_factory=Prover)

    def __post_init__(self) -> None:
        self.flat, self.spec = pytree.tree_flatten((self.wanted.args, self.wanted.kwargs))
        self.first = self._known(self.given, self.wanted, Steered({}, self.prover))
        self.places = self.first.sizes.places
        self.now = {place: size_at(self.flat, place) for place in self.places}
        self.ranges = captured_sizes.written_ranges(self.wanted)
        self.groups = self._groups()
        self.values = {s: self.now[places[0]] for s, places in self.groups.items()}
        # What captures asked, the newest one first.
        self.traces = [asked_by(self.given.decisions)]
        self.bounds = {
            s: self.ranges[p] for s, places in self.groups.items() for p in places
            if p in self.ranges
        }  # fmt: skip

    def is_over(self) -> bool:
        return self.captures >= self.limit

    def lines(self, found: _Try, *, repeated: bool = False) -> list[Line]:
        """The lines of decisions with two sides; only of those by remainders, if asked for."""
        guards = [g for g in found.decisions() if not repeated or self.repeats(g)]
        spans = [g.span for g in guards if g.span is not None]
        lines = dict.fromkeys((span.file, span.line) for span in spans)
        return [line for line in lines if is_decision(line)]

    def repeats(self, guard: SizeGuard) -> bool:
        """Whether larger sizes are of both sides, as with `n % 4 != 0`."""
        return self.prover.repeats(guard.expression)

    def closed(self, answers: Answers, *, repeated: bool = False) -> Covered | None:
        """A capture with answers, and with those to the decisions that it makes besides."""
        answers = dict(answers)
        while not self.is_over():
            found = self.attempt(answers)
            if found is None:
                return None
            new = [n for n in self.lines(found, repeated=repeated) if n not in answers]
            known = self.lines(self.first)
            if all(line in known for line in new):
                return self.proven(found)
            answers |= {line: preferred(line) for line in new if line not in known}
        return None

    def one_by_one(
        self, lines: Sequence[Line], answers: Answers | None = None, best: Covered | None = None
    ) -> Covered | None:
        """A capture with the answers that do by themselves, beside those that are known to."""
        chosen = dict(answers or {})
        for line in lines:
            liked = preferred(line)
            options = [liked, *(a for a in (True, False) if a is not liked)]
            for answer in options[1:] if len(lines) == 1 and not answers else options:
                if self.is_over():
                    return best
                found = self.closed({**chosen, line: answer})
                if found is not None:
                    chosen[line], best = answer, found
                    break
        return best

    def attempt(self, answers: Answers) -> _Try | None:
        """A capture with answers, with inputs whose sizes are of the sides that they lead to."""
        conditions: list[Any] = []
        sizes = self.sizes_for(self.expected(answers)) or dict(self.now)
        others = 0
        for relaxed in (False, True) if not self.given.relaxed else (True,):
            inputs = self.wanted.relaxed() if relaxed else self.wanted
            while inputs is not None and not self.is_over() and others <= _OTHERS:
                expected = self.other_side(answers, sizes)
                if expected is not None:
                    conditions += [expected.contrary, *expected.conditions]
                    other = self.sizes_for(conditions)
                    if other is None:
                        return None
                    sizes, others = other, others + 1
                    continue
                steered = Steered(answers, self.prover)
                args, kwargs = pytree.tree_unflatten(resized(self.flat, sizes), self.spec)
                given = dataclasses.replace(inputs, args=args, kwargs=kwargs, given=None)
                found = self._captured(steered, given, relaxed)
                if found is not None:
                    return found
                if steered.contrary is None:
                    break
                conditions += [steered.contrary, *steered.conditions()]
                other = self.sizes_for(conditions)
                if other is None:
                    return None
                sizes, others = other, others + 1
        return None

    def other_side(self, answers: Answers, sizes: Mapping[Place, int]) -> OtherSide | None:
        """What a capture at sizes would end with, by what earlier ones asked."""
        by_symbol = {symbol: sizes[place] for place, symbol in self.places.items()}
        found = (foreseen(t, answers, by_symbol, self.prover) for t in self.traces)
        return next((f for f in found if f is not None), None)

    def expected(self, answers: Answers) -> list[Any]:
        """The conditions that lead to answers, as far as the first capture asked for them."""
        found: list[Any] = []
        for decision in self.given.decisions:
            answer = answers.get((decision.file, decision.line))
            if answer is not None and self.prover.repeats(decision.expression):
                held = decision.answer is answer
                found.append(decision.expression if held else sympy.Not(decision.expression))
        return found

    def sizes_for(self, conditions: Sequence[Any]) -> dict[Place, int] | None:
        """Sizes by place at which conditions hold."""
        found = fitting(self.about_groups(conditions), self.values, self.bounds)
        return None if found is None else self.by_place(found)

    def _captured(self, steered: Steered, given: shapes.Wanted, relaxed: bool) -> _Try | None:
        assert self.given.way is not None
        name = "one side for all sizes"
        way = self.given.way._replace(name=name, inputs=given, relaxed=relaxed)
        with steered.steering():
            tried = attempted(way, self.module, must_work=False)
        outcome = tried.outcome()
        if steered.contrary is not None:
            outcome = dataclasses.replace(outcome, error="the sizes are of another side", output="")
        else:
            self.captures += 1
        self.outcomes.append(outcome)
        self.traces.insert(0, steered.trace)
        if tried.error is not None or not isinstance(tried.program, ExportedProgram):
            return None
        return self._known(tried.capture(), given, steered)

    def _known(self, found: Capture, given: shapes.Wanted, steered: Steered) -> _Try:
        decisions = tuple(
            d for d in found.decisions
            if (d.file, d.line) not in steered.answers and d.expression not in steered.settled
        )  # fmt: skip
        found = dataclasses.replace(found, decisions=decisions)
        names = captured_sizes.written_names(given, places_of(found.program))
        ranges = captured_sizes.declared_ranges(found.program, self.wanted)
        sizes = sizes_of(found.program, names, ranges, names, found.decisions)
        return _Try(found, given, steered, sizes)

    # -- proof -------------------------------------------------------------------------------------

    def proven(self, found: _Try) -> Covered | None:
        """What was captured, if it agrees with the module at sizes of both sides."""
        if not found.steered.asked or self.is_worse(found):
            return None
        conditions = self.about_groups(found.steered.conditions())
        if not all(c.free_symbols for c in conditions):
            return None  # a decision about whether sizes are equal that are equal here
        agreed: list[Mapping[str, int]] = []
        others = itertools.cycle(draw for draw in Draw if draw is not Draw.GIVEN)
        with compared(self.module, found.capture.program, self.flat) as comparison:
            for sizes in self._to_compare(conditions, found):
                values = resized(self.flat, self.by_place(sizes))
                label = str(sorted(sizes.items()))
                result = comparison.run(values, self.spec, (Draw.GIVEN, next(others)), label)
                if result is Compared.DIFFERENT:
                    return None
                if result is Compared.EQUAL:
                    agreed.append(sizes)
        left = self.about_groups(g.expression for g in found.decisions())
        if not _both_sides_ran(conditions, agreed, self.values, self.bounds, left):
            return None
        decisions = tuple(
            CoveredDecision(*line, self._text(held), self._sizes_text(agreed))
            for (line, _), held in found.steered.asked.items()
        )
        examples = tuple(map(self.by_place, agreed))
        wanted = dataclasses.replace(found.wanted, args=self.wanted.args, kwargs=self.wanted.kwargs)
        return Covered(found.capture, wanted, decisions, examples)

    def _to_compare(self, conditions: Sequence[Any], found: _Try) -> Iterator[Mapping[str, int]]:
        """Sizes of all classes; larger ones of the same class where a capture is not for small."""
        seen: list[Mapping[str, int]] = []
        for sizes in to_compare(conditions, self.values, self.bounds):
            larger = class_sizes.raised(sizes, conditions, self.values)
            for tried in (sizes, larger):
                if tried in seen:
                    break
                if self.is_possible(tried) and not self.refuses(found, tried):
                    seen.append(tried)
                    yield tried
                    break

    def refuses(self, found: _Try, sizes: Mapping[str, int]) -> bool:
        """Whether a capture is not right for sizes."""
        by_place = self.by_place(sizes)
        places = found.sizes.places
        return bool(
            found.sizes.violation({s: by_place[p] for p, s in places.items() if p in by_place})
        )

    def is_possible(self, sizes: Mapping[str, int]) -> bool:
        """Whether inputs of sizes fit into memory, as those of the example do."""
        return all(n <= _TIMES * self.values[s] + _LARGEST for s, n in sizes.items())

    def _text(self, conditions: Iterable[Any]) -> str:
        names = self.first.sizes.names
        return " and ".join(dict.fromkeys(guard_text(c, names) for c in conditions))

    def _sizes_text(self, agreed: Sequence[Mapping[str, int]]) -> str:
        names = self.first.sizes.names
        return "; ".join(
            ", ".join(f"{names.get(s, s)} = {n}" for s, n in sizes.items()) for sizes in agreed
        )

    def is_worse(self, found: _Try) -> bool:
        """Whether a capture is right for fewer sizes, but for the decisions that are answered."""
        guards = [*self.first.sizes.guards, *found.sizes.guards]
        conditions = self.about_groups(g.expression for g in guards)
        for sizes in (self.values, *to_compare(conditions, self.values, self.bounds)):
            for tried in (sizes, class_sizes.raised(sizes, conditions, self.values)):
                if self.refuses(found, tried) and not self.refuses(self.first, tried):
                    return True
        old, new = self.given.program, found.capture.program
        if len(fixed_values(new)) > len(fixed_values(old)):
            return True
        before_axes = captured_sizes.fixed_axes(old, self.wanted)
        return any(a not in before_axes for a in captured_sizes.fixed_axes(new, found.wanted))

    # -- sizes -------------------------------------------------------------------------------------

    def _groups(self) -> dict[str, list[Place]]:
        """The places of each size: of one symbol, of one name, or of sizes that must be equal."""
        found: dict[str, list[Place]] = {}
        of_name: dict[tuple[str, int], str] = {}
        same = {}
        for guard in (*self.first.sizes.equal, *self.first.sizes.guards):
            symbols = sorted(map(str, guard.expression.free_symbols))
            span = guard.span
            decided = span is not None and is_decision((span.file, span.line))
            if isinstance(guard.expression, sympy.Eq) and len(symbols) == 2 and not decided:
                if all(side.is_Symbol for side in guard.expression.args):
                    same[symbols[1]] = symbols[0]
        for place, symbol in self.places.items():
            head, name = symbol, self.first.sizes.names.get(symbol)
            if name is not None:
                head = of_name.setdefault((name, self.now[place]), head)
            while head in same:
                head = same[head]
            found.setdefault(head, []).append(place)
        return found

    def about_groups(self, conditions: Iterable[Any]) -> list[Any]:
        """Conditions over the symbols that stand for groups."""
        head_of = {self.places[p]: head for head, places in self.groups.items() for p in places}
        return [
            c.xreplace({
                s: sympy.Symbol(head_of[str(s)], integer=True, positive=True)
                for s in c.free_symbols if str(s) in head_of
            })
            for c in conditions
        ]  # fmt: skip

    def by_place(self, sizes: Mapping[str, int]) -> dict[Place, int]:
        """Sizes of groups as those of their places."""
        return {p: sizes[s] for s, places in self.groups.items() for p in places}


def _both_sides_ran(
    conditions: Sequence[Any],
    agreed: Sequence[Mapping[str, int]],
    now: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int | None]],
    left: Sequence[Any],
) -> bool:
    """Whether each condition was tried where it holds, and where it does not, if `left` hold."""
    for condition in conditions:
        answers = {holds(condition, sizes) for sizes in agreed}
        if answers >= {True, False}:
            continue
        for wanted in (True, False):
            if wanted not in answers:
                other = condition if wanted else ~condition
                if may_fit([other, *left], now, bounds):
                    return False
    return bool(agreed)
