"""What a captured program assumes about sizes: guards of the user's Python, and ranges.

Torch runs one side of each decision that Python makes by a size, and remembers it as a guard.  The
program computes what the module computes only for sizes that fulfil all guards.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.assumptions.asking import is_strict
from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.declared import is_certain
from onnxwright.exporter.capture.assumptions.demands import is_multiple, refuses_others, user_line
from onnxwright.exporter.capture.assumptions.excluded import Range, excludes_larger, excludes_small
from onnxwright.exporter.capture.assumptions.guard_code import conditions_of, is_demand
from onnxwright.exporter.capture.assumptions.guard_text import guard_text
from onnxwright.exporter.capture.assumptions.size_functions import value_of
from onnxwright.exporter.capture.assumptions.specialization import (
    is_fixed_value,
    is_number_of_chunks,
    is_taken_as_one,
    is_uneven_split,
)
from onnxwright.exporter.capture.assumptions.turning_points import interval_of, moduli_of
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
        small: whether it excludes sizes of 0 and 1 only, which torch never takes for dynamic ones.
        by_operator: whether an operator of torch in C++ asked, mostly for the layout of memory.
    """

    expression: Any
    text: str
    span: Span | None
    demand: bool = False
    small: bool = False
    by_operator: bool = False

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for sizes, by torch's symbols; True where one of them is not known."""
        value = value_of(self.expression, sizes)
        if value is not None:
            return bool(value)
        known = {s: sizes[str(s)] for s in self._symbols() if str(s) in sizes}
        try:
            return not _is_false(self.expression.subs(known))
        except ZeroDivisionError:
            return False  # Python divides by zero at these sizes

    def renamed(self, mapping: Mapping[str, str]) -> SizeGuard:
        """The same with other names in its text."""
        text = re.sub(r"[^\W\d]\w*", lambda m: mapping.get(m[0], m[0]), self.text)
        return dataclasses.replace(self, text=text)

    def about(self, places: Mapping[str, Place]) -> Any:
        """The condition over places instead of symbols, to compare those of two captures."""
        symbols = {s: type(s)(f"{places[str(s)]}", integer=True) for s in self._symbols()}
        return self.expression.subs(symbols)

    def numbers(self) -> list[int]:
        """The integers in the condition."""
        return [int(n) for n in self.expression.atoms() if n.is_Integer and abs(n) < 1 << 20]

    def _symbols(self) -> Iterable[Any]:
        return self.expression.free_symbols  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Sizes:
    """Which sizes a program was captured for.

    Fields:
        names: torch's symbol -> the name to show.
        ranges: symbol -> the smallest and the largest size, both included; None for no bound.
        guards: what has to hold besides.
        places: (flattened input, axis) -> symbol; the axis is None for a number.
        equal: what operators demand to be equal.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    guards: tuple[SizeGuard, ...] = ()
    places: Mapping[Place, str] = field(default_factory=dict)
    equal: tuple[SizeGuard, ...] = ()

    def given(self, values: Sequence[Any]) -> dict[str, int]:
        """The sizes of a call by torch's symbols.

        Args:
            values: for each flattened input of the module something with a `shape`, a number, or
                None where it is not known.

        Returns:
            Torch's symbol -> size.
        """
        found: dict[str, int] = {}
        for (place, axis), symbol in self.places.items():
            value = values[place]
            if value is not None:
                found[symbol] = int(value) if axis is None else int(value.shape[axis])
        return found

    def with_constants(self, constants: Mapping[Place, int], names: Mapping[Place, str]) -> Sizes:
        """The same for a program that has some sizes as constants.

        Args:
            constants: by place.
            names: what to call them.
        """
        symbols = {place: f"size_{place[0]}_{place[1]}" for place in constants}
        ranges = {symbols[place]: (n, n) for place, n in constants.items()}
        return dataclasses.replace(
            self,
            names={**self.names, **{symbols[p]: names[p] for p in constants if p in names}},
            ranges={**self.ranges, **ranges},
            places={**self.places, **symbols},
        )

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
            equal=tuple(g.renamed(mapping) for g in self.equal),
        )

    def check(self, values: Sequence[Any]) -> str:
        """Why the program is not right for inputs; empty if it is.

        Args:
            values: as for `given`.
        """
        return self.violation(self.given(values))

    def decisions(self) -> list[SizeGuard]:
        """The guards where the module computes something else for other sizes."""
        return [g for g in self.guards if not g.demand]

    def notes(self, guard: SizeGuard) -> tuple[str, ...]:
        """What a guard that divides a size says of the size itself, if that is a range.

        Args:
            guard: one of these.
        """
        found = interval_of(guard.expression) if moduli_of(guard.expression) else None
        if found is None:
            return ()
        (symbol,) = guard.expression.free_symbols
        low, high = found
        text = range_text((0 if low <= 1 else low, high))
        return (f"that is `{self.names.get(str(symbol), str(symbol))}` of {text}",)

    def metadata(self) -> dict[str, str]:
        """The assumptions as metadata of a model, as JSON; empty where there are none."""
        ranges = {self.names.get(s, s): list(found) for s, found in sorted(self.ranges.items())}
        found = {RANGES: json.dumps(ranges)} if ranges else {}
        texts = [g.text for g in self.guards]
        return found | ({GUARDS: json.dumps(texts)} if texts else {})

    def violation(self, sizes: Mapping[str, int]) -> str:
        """Why the program is not right for sizes; empty if it is.

        Args:
            sizes: torch's symbol -> size.
        """
        for guard in self.guards:
            if not guard.holds(sizes):
                given = ", ".join(
                    f"`{self.names.get(str(s), str(s))}` is {sizes[str(s)]}"
                    for s in sorted(guard.expression.free_symbols, key=str)
                    if str(s) in sizes
                )
                place = f" ({guard.span.file}:{guard.span.line})" if guard.span else ""
                return f"{given}, the program was captured for `{guard.text}`{place}"
        for symbol, size in sizes.items():
            low, high = self.ranges.get(symbol, (0, None))
            if size < low or (high is not None and size > high):
                name = self.names.get(symbol, symbol)
                return f"`{name}` is {size}, the program was captured for {range_text((low, high))}"
        return ""


def _is_false(value: Any) -> bool:
    """Whether a condition is known not to hold; sympy's False is another object than Python's."""
    return bool(value == False)  # noqa: E712 - as above


def range_text(found: Range) -> str:
    """A range as text.

    Example:
        >>> range_text((6, 64)), range_text((6, None)), range_text((0, 9))
        ('6 to 64', '6 or more', 'at most 9')
    """
    low, high = found
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
    known = frozenset(places.values())
    found = _guards(program, shown, known, declared, decisions, compares=not captured_before)
    if captured_before:
        found += _written_guards(program, shown, found)
    guards = tuple(found)
    ranges = _ranges(program, declared, None if captured_before else guards)
    return Sizes(shown, ranges, guards, places, tuple(_equalities(program, known)))


def places_of(program: ExportedProgram) -> dict[Place, str]:
    """Where the sizes of a program come from.

    Args:
        program: the program.

    Returns:
        (flattened input, axis) -> torch's symbol before it found sizes to be equal or constant.
    """
    found: dict[Place, str] = {}
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    for n, entry in enumerate(users):
        value = entry.node.meta.get("val")
        tensor = isinstance(value, torch.Tensor)
        for axis, size in enumerate(value.shape) if tensor else ((None, value),):
            if isinstance(size, torch.SymInt) and size.node._expr.is_Symbol:
                found[n, axis] = str(size.node._expr)
    return found


def _ranges(
    program: ExportedProgram, declared: Mapping[str, Range], guards: Sequence[SizeGuard] | None
) -> dict[str, Range]:
    """Torch's ranges within those of the user; torch's lower bound of 2 means none.

    Torch narrows ranges for layouts, too; with guards, only bounds that one of them sets count.
    """

    def is_set(symbol: str, beyond: int) -> bool:
        return guards is None or any(not g.holds({symbol: beyond}) for g in guards)

    found: dict[str, Range] = dict(declared)
    for symbol, known in program.range_constraints.items():
        if not getattr(symbol, "is_Symbol", False) or not str(symbol).startswith("s"):
            continue
        low, high = _bound(known.lower), _bound(known.upper)
        own_low, own_high = found.get(str(symbol), (0, None))
        low = low if low is not None and low > 2 and is_set(str(symbol), low - 1) else 0
        high = high if high is not None and is_set(str(symbol), high + 1) else None
        low, highs = max(own_low, low), [h for h in (own_high, high) if h is not None]
        if low > 0 or highs:
            found[str(symbol)] = (low, min(highs) if highs else None)
    return found


def _bound(value: Any) -> int | None:
    """A bound of torch as a number; None for infinity."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if abs(number) < 2**62 else None


def _guards(
    program: ExportedProgram,
    names: Mapping[str, str],
    known: frozenset[str],
    ranges: Mapping[str, Range],
    decisions: Iterable[Decision],
    *,
    compares: bool,
) -> list[SizeGuard]:
    """Guards with a line of Python, and those of operators that a module is compared for."""
    environment = shape_environment(program)
    found: dict[str, SizeGuard] = {}
    files: list[str] | None = None
    decisions = tuple(decisions)
    of_operators = {(d.file, d.line) for d in decisions if d.by_operator}
    of_one: set[Any] = set()
    of_operators -= {(d.file, d.line) for d in decisions if not d.by_operator}
    for guard in environment.guards if environment is not None else ():
        symbols = {str(s) for s in getattr(guard.expr, "free_symbols", ())}
        if not symbols or not symbols <= known or _is_one_name(guard.expr, names):
            continue
        frame, user = guard.sloc.framework_loc, guard.sloc.maybe_user_loc
        file = str(getattr(frame, "filename", ""))
        span: Span | None
        if is_of_user(file):
            span = line_of(file, int(frame.lineno))
        elif is_strict(file) and user:
            files = _files(program) if files is None else files
            span = user_line(str(user), files)
        elif owner_of(file) is Owner.ONNXWRIGHT and is_fixed_value(guard):
            span = None  # a loop of rewritten Python that is unrolled, for example
        elif compares and is_taken_as_one(guard.expr):
            # An operator took a number that follows from sizes as 1, and torch goes on with that.
            span = None
            of_one.add(guard.expr)
        elif compares and (is_number_of_chunks(guard) or is_uneven_split(guard)):
            files = _files(program) if files is None else files
            span = user_line(str(user), files)
        else:
            continue
        if is_certain(guard.expr, names, ranges):
            continue
        text = guard_text(guard.expr, names)
        inner = guard.expr in of_one
        inner = inner or (span is not None and (span.file, span.line) in of_operators)
        one = SizeGuard(guard.expr, text, span, refuses_others(span), by_operator=inner)
        found.setdefault(text, one)
    demands = [d for d in _equalities(program, known, larger=True) if not is_multiple(d)]
    for decision in decisions:
        expression = decision.expression
        span = line_of(decision.file, decision.line) if decision.file else None
        text = guard_text(expression, names)
        if not {str(s) for s in expression.free_symbols} <= known or text in found:
            continue
        if is_certain(expression, names, ranges):
            continue
        asked = span if decision.asked is None else line_of(*decision.asked)
        demand = decision.demand or refuses_others(asked)
        one = SizeGuard(expression, text, span, demand, by_operator=decision.by_operator)
        others = list(found.values())
        if excludes_larger(one, ranges, [*others, *demands]):
            found[text] = one
        elif decision.by_operator or decision.demand:
            continue  # what an operator asks of sizes of 1 is about the layout of its result
        elif excludes_small(one, ranges, others):
            found[text] = dataclasses.replace(one, small=True)
    return list(found.values())


def _is_one_name(expression: Any, names: Mapping[str, str]) -> bool:
    """Whether a condition says that two sizes of one name are equal, which is checked anyway."""
    sides = [str(side) for side in expression.args]
    return (
        type(expression).__name__ == "Equality"
        and all(side in names for side in sides)
        and len({names[side] for side in sides}) == 1
    )


def _written_guards(
    program: ExportedProgram, names: Mapping[str, str], others: Sequence[SizeGuard]
) -> list[SizeGuard]:
    """The guards that a program keeps as text, beside those with a line of Python."""
    found = list(others)
    known = {g.text for g in others}
    for condition in conditions_of(program):
        text = guard_text(condition, names)
        one = SizeGuard(condition, text, None, is_demand(condition))
        # The others are about layouts, and that torch takes sizes for 2 or more.
        if text not in known and excludes_larger(one, {}, ()):
            found.append(one)
    return found[len(others) :]


def _equalities(
    program: ExportedProgram, known: frozenset[str], *, larger: bool = False
) -> Iterable[SizeGuard]:
    """What operators of torch demand to be equal, such as sizes of operands.

    Args:
        program, known: as above.
        larger: also those of more or fewer than two sizes.
    """
    environment = shape_environment(program)
    for guard in environment.guards if environment is not None else ():
        symbols = {str(s) for s in getattr(guard.expr, "free_symbols", ())}
        file = str(getattr(guard.sloc.framework_loc, "filename", ""))
        if type(guard.expr).__name__ == "Equality" and symbols and symbols <= known:
            if len(symbols) != 2 and not larger:
                continue
            if not is_of_user(file):
                yield SizeGuard(guard.expr, str(guard.expr), None, demand=True)


def _files(program: ExportedProgram) -> list[str]:
    """The files of Python that nodes of a program come from."""
    frames = (frame for node in program.graph.nodes for frame in frames_of(node))
    return list(dict.fromkeys(file for file, _ in frames if is_of_user(file)))
