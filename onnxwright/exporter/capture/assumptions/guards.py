"""What a captured program assumes about sizes: guards of the user's Python, and ranges.

Torch runs one side of each decision that Python makes by a size, and remembers it as a guard.  The
program computes what the module computes only for sizes that fulfil all guards.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.assumptions.asking import is_strict
from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.examples import value_of
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.guard_code import conditions_of, is_demand
from onnxwright.exporter.capture.assumptions.guard_text import (
    by_names,
    divided_interval,
    guard_text,
    size_text,
)
from onnxwright.exporter.capture.assumptions.polynomials import Range
from onnxwright.exporter.capture.assumptions.settled import refuses_others, user_line
from onnxwright.exporter.capture.assumptions.specialization import (
    is_fixed_value,
    is_taken_as_one,
    is_uneven_split,
)
from onnxwright.exporter.dimensions import dimensions_of, shape_environment
from onnxwright.exporter.places import frames_of, is_of_user, line_of
from onnxwright.exporter.signature import inputs_of

# Names in a model's metadata.
RANGES = "onnxwright.size_ranges"
GUARDS = "onnxwright.size_guards"

Place = tuple[int, "int | None"]


@dataclass(frozen=True)
class SizeGuard:
    """One condition on sizes that held for the example inputs and decided what was captured.

    Fields:
        expression: the condition over torch's symbols; a sympy expression.
        text: the condition with the user's names.
        span: the line of Python that asked; None where torch kept none.
        demand: whether the module itself refuses other sizes there (`assert`, `raise`,
            `torch._check`), so that nothing else could have been captured.
    """

    expression: Any
    text: str
    span: Span | None
    demand: bool = False

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for sizes, by torch's symbols; True where one of them is not known."""
        value = value_of(self.expression, sizes)
        if value is not None:
            return bool(value)
        size_by_symbol = {s: sizes[str(s)] for s in self.expression.free_symbols if str(s) in sizes}
        try:
            return not _is_false(self.expression.subs(size_by_symbol))
        except ZeroDivisionError:
            return False  # Python divides by zero at these sizes

    def renamed(self, mapping: Mapping[str, str]) -> SizeGuard:
        """The same with other names in its text."""
        text = re.sub(r"[^\W\d]\w*", lambda m: mapping.get(m[0], m[0]), self.text)
        return dataclasses.replace(self, text=text)


@dataclass(frozen=True)
class Sizes:
    """Which sizes a program was captured for.

    Fields:
        names: torch's symbol -> the name to show.
        ranges: symbol -> the smallest and the largest size, both included; None for no bound.
        guards: what has to hold besides.
        places: (flattened input, axis) -> symbol; the axis is None for a number.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    guards: tuple[SizeGuard, ...] = ()
    places: Mapping[Place, str] = field(default_factory=dict)

    def by_symbol(self, values: Sequence[Any]) -> dict[str, int]:
        """The sizes of a call by torch's symbols.

        Args:
            values: for each flattened input of the module something with a `shape`, a number, or
                None where it is not known.

        Returns:
            Torch's symbol -> size.
        """
        size_by_symbol: dict[str, int] = {}
        for (place, axis), symbol in self.places.items():
            value = values[place]
            if value is not None:
                size_by_symbol[symbol] = int(value) if axis is None else int(value.shape[axis])
        return size_by_symbol

    def renamed(self, mapping: Mapping[str, str]) -> Sizes:
        """The same under other names.

        Args:
            mapping: the old name of a dimension -> the new one.
        """
        shown = {s for place, s in self.places.items()} | set(self.ranges) | set(self.names)
        names = {s: self.names.get(s, s) for s in shown}
        return dataclasses.replace(
            self,
            names={s: mapping.get(name, name) for s, name in names.items()},
            guards=tuple(g.renamed(mapping) for g in self.guards),
        )

    def check(self, values: Sequence[Any]) -> str:
        """Why the program is not right for inputs; empty if it is.

        Args:
            values: as for `given`.
        """
        return self.violation(self.by_symbol(values))

    def decisions(self) -> list[SizeGuard]:
        """The guards where the module computes something else for other sizes."""
        return [g for g in self.guards if not g.demand]

    def notes(self, guard: SizeGuard) -> tuple[str, ...]:
        """What a guard says of sizes themselves, and how an example without it looks.

        Args:
            guard: one of these.
        """
        notes: list[str] = []
        interval = divided_interval(guard.expression)
        if interval is not None:
            (symbol,) = guard.expression.free_symbols
            low, high = interval
            text = range_text((0 if low <= 1 else low, high))
            notes.append(f"that is `{self.names.get(str(symbol), str(symbol))}` of {text}")
        if guard.span is None and is_taken_as_one(guard.expression):
            number = size_text(guard.expression.lhs, self.names)
            notes.append(
                f"`{number}` is 1 in the example, which PyTorch takes for a constant: with example "
                "inputs for which it is 2 or more, it follows from the sizes"
            )
        return tuple(notes)

    def metadata(self) -> dict[str, str]:
        """The assumptions as metadata of a model, as JSON; empty where there are none."""
        ranges = {
            self.names.get(s, s): list(size_range) for s, size_range in sorted(self.ranges.items())
        }
        entries = {RANGES: json.dumps(ranges)} if ranges else {}
        texts = [g.text for g in self.guards]
        return entries | ({GUARDS: json.dumps(texts)} if texts else {})

    def violation(self, sizes: Mapping[str, int]) -> str:
        """Why the program is not right for sizes; empty if it is.

        Args:
            sizes: torch's symbol -> size.
        """
        for guard in self.guards:
            if not guard.holds(sizes):
                shown_sizes = ", ".join(
                    f"`{self.names.get(str(s), str(s))}` is {sizes[str(s)]}"
                    for s in sorted(guard.expression.free_symbols, key=str)
                    if str(s) in sizes
                )
                place = f" ({guard.span.file}:{guard.span.line})" if guard.span else ""
                return f"{shown_sizes}, the program was captured for `{guard.text}`{place}"
        for symbol, size in sizes.items():
            low, high = self.ranges.get(symbol, (0, None))
            if size < low or (high is not None and size > high):
                name = self.names.get(symbol, symbol)
                return f"`{name}` is {size}, the program was captured for {range_text((low, high))}"
        return ""


def _is_false(value: Any) -> bool:
    """Whether a condition is known not to hold; sympy's False is another object than Python's."""
    return bool(value == False)  # noqa: E712 - as above


def range_text(size_range: Range) -> str:
    """A range as text.

    Example:
        >>> range_text((6, 64)), range_text((6, None)), range_text((0, 9))
        ('6 to 64', '6 or more', 'at most 9')
    """
    low, high = size_range
    if high is None:
        return f"{low} or more"
    return f"at most {high}" if low == 0 else f"{low} to {high}"


def sizes_of(
    program: ExportedProgram,
    names: Mapping[str, str],
    declared: Mapping[str, Range],
    written: Mapping[str, str],
    decisions: Iterable[Decision] = (),
    *,
    captured_before: bool = False,
) -> Sizes:
    """What a captured program assumes about its sizes.

    Args:
        program: the program.
        names: torch's symbol -> the name the user wrote.
        declared: symbol -> the range of the user's `Dim`.
        written: symbol -> name, also for sizes that torch found to be equal to others.
        decisions: decisions of Python that torch made by its assumption that sizes are at least 2.
        captured_before: take torch's ranges as they are: those that the user declared are among
            them.

    Returns:
        Ranges and guards.

    Source:
        ExportedProgram.range_constraints, ShapeEnv.guards.
    """
    # A name written for two symbols names the first one only: torch knows them as different.
    own = {s: n for s, n in written.items() if list(written.values()).count(n) == 1}
    shown = {**written, **dimensions_of(program, dict(names)).names, **own}
    places = places_of(program)
    collector = _Guards(program, shown, frozenset(places.values()), declared)
    collector.add_guards_of_torch(compares=not captured_before)
    for decision in decisions:
        collector.add(decision)
    # The others are about layouts, and that torch takes sizes for 2 or more.
    for condition in conditions_of(program) if captured_before else ():
        one = SizeGuard(condition, guard_text(condition, shown), None, is_demand(condition))
        if not Facts(least=2).proves(condition):
            collector.by_text.setdefault(one.text, one)
    guards = tuple(collector.by_text.values())
    return Sizes(shown, _ranges(program, declared, None if captured_before else guards), guards,
                 places)  # fmt: skip


def places_of(program: ExportedProgram) -> dict[Place, str]:
    """Where the sizes of a program come from.

    Args:
        program: the program.

    Returns:
        (flattened input, axis) -> torch's symbol before it found sizes to be equal or constant.
    """
    places: dict[Place, str] = {}
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    for n, entry in enumerate(users):
        value = entry.node.meta.get("val")
        tensor = isinstance(value, torch.Tensor)
        for axis, size in enumerate(value.shape) if tensor else ((None, value),):
            if isinstance(size, torch.SymInt) and size.node._expr.is_Symbol:
                places[n, axis] = str(size.node._expr)
    return places


def _ranges(
    program: ExportedProgram, declared: Mapping[str, Range], guards: Sequence[SizeGuard] | None
) -> dict[str, Range]:
    """Torch's ranges within those of the user.

    Torch narrows ranges for layouts, too; with guards, only bounds that one of them sets count.
    """

    def is_set(symbol: str, beyond: int) -> bool:
        return guards is None or any(not g.holds({symbol: beyond}) for g in guards)

    ranges: dict[str, Range] = dict(declared)
    for name, torch_range in program.range_constraints.items():
        symbol = str(name)
        if not getattr(name, "is_Symbol", False) or not symbol.startswith("s"):
            continue
        low, high = range_of_torch(torch_range)
        own_low, own_high = ranges.get(symbol, (0, None))
        low = max(own_low, low if low and is_set(symbol, low - 1) else 0)
        if high is not None and is_set(symbol, high + 1):
            own_high = high if own_high is None else min(high, own_high)
        if low > 0 or own_high is not None:
            ranges[symbol] = (low, own_high)
    return ranges


def range_of_torch(torch_range: Any) -> Range:
    """Torch's range of a size; its lower bound of 2 means none.

    Args:
        torch_range: a range of torch; None for no bounds.
    """
    bounds = [] if torch_range is None else [torch_range.lower, torch_range.upper]
    low, high = (int(b) if b.is_Integer and abs(b) < 2**62 else None for b in bounds or [_ZERO] * 2)
    return (low or 0 if (low or 0) > 2 else 0), high if bounds else None


_ZERO = sympy.Integer(0)


class _Guards:
    """The guards of a program, by their texts.

    Args:
        program: the program.
        names: torch's symbol -> the name to show.
        symbols: the symbols of sizes of inputs.
        ranges: symbol -> the declared range.
    """

    def __init__(
        self,
        program: ExportedProgram,
        names: Mapping[str, str],
        symbols: frozenset[str],
        ranges: Mapping[str, Range],
    ) -> None:
        self.program, self.names, self.symbols, self.ranges = program, names, symbols, ranges
        environment = shape_environment(program)
        guards = () if environment is None else environment.guards
        self.of_torch = [g for g in guards if self._is_of_inputs(g.expr)]
        self.by_text: dict[str, SizeGuard] = {}
        by_name: dict[str, Range] = {}
        for symbol, (low, high) in ranges.items():
            name = names.get(symbol, symbol)
            before = by_name.get(name, (0, None))
            highs = [h for h in (before[1], high) if h is not None]
            by_name[name] = max(low, before[0]), min(highs, default=None)
        self.facts = Facts(least=0).within(by_name)

    def _is_of_inputs(self, expression: Any) -> bool:
        symbols = {str(s) for s in getattr(expression, "free_symbols", ())}
        return bool(symbols) and symbols <= self.symbols

    def add_guards_of_torch(self, *, compares: bool) -> None:
        """Add those with a line of Python, and of operators that a module is compared for.

        Args:
            compares: whether there is a module.
        """
        for guard in self.of_torch:
            file, user = _file(guard), guard.sloc.maybe_user_loc
            of_user = is_of_user(file)
            of_one = not of_user and compares and is_taken_as_one(guard.expr)
            span: Span | None = None
            if of_user:
                span = line_of(file, int(guard.sloc.framework_loc.lineno))
            elif is_strict(file) and user:
                span = user_line(str(user), self.files)
            elif is_fixed_value(guard):
                pass  # a loop that is unrolled, for example
            elif compares and is_uneven_split(guard) and not of_one:
                span = user_line(str(user), self.files)
            elif not of_one:
                continue
            if not self._is_certain(guard.expr):
                text = guard_text(guard.expr, self.names)
                one = SizeGuard(guard.expr, text, span, refuses_others(span))
                self.by_text.setdefault(text, one)

    def add(self, decision: Decision) -> None:
        """Add a decision that excludes sizes that the others do not."""
        expression = decision.expression
        text = guard_text(expression, self.names)
        if not self._is_of_inputs(expression) or text in self.by_text:
            return
        span = line_of(decision.file, decision.line) if decision.file else None
        asked = span if decision.asked is None else line_of(*decision.asked)
        demand = decision.demand or refuses_others(asked)
        # What an operator asks of sizes of 1 is about the layout of its result.
        least = 2 if decision.by_operator or decision.demand else 0
        if not self._is_certain(expression, least, self.by_text.values()):
            self.by_text[text] = SizeGuard(expression, text, span, demand)

    @functools.cached_property
    def files(self) -> list[str]:
        """The files of Python that nodes of the program come from."""
        frames = (frame for node in self.program.graph.nodes for frame in frames_of(node))
        return list(dict.fromkeys(file for file, _ in frames if is_of_user(file)))

    def _is_certain(self, condition: Any, least: int = 0, others: Iterable[SizeGuard] = ()) -> bool:
        """Whether a condition holds at all sizes that calls may have, by names and ranges.

        Args:
            condition: of torch's symbols.
            least: the smallest size that is looked at.
            others: what has to hold, too.
        """
        conditions = [one.expression for one in others]
        near = [one for one in conditions if one.free_symbols & condition.free_symbols]
        facts = self.facts.given(*(by_names(one, self.names) for one in near))
        return dataclasses.replace(facts, least=least).proves(by_names(condition, self.names))


def _file(guard: Any) -> str:
    """The file that asked for a guard of torch."""
    return str(getattr(guard.sloc.framework_loc, "filename", ""))
