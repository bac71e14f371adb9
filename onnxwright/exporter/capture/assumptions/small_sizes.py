"""Sizes of 0 and 1 that torch excludes, and at which the program is right all the same.

Torch takes dynamic sizes for 2 or more, so that a decision such as `if n != 1` is made by that
alone.  What was captured is compared with the module at the very sizes that are excluded; where
both are equal, the decision makes no difference and excludes nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.branches import resized, size_at
from onnxwright.exporter.capture.assumptions.comparing import Compared, Comparison, compared
from onnxwright.exporter.capture.assumptions.drawn_values import Draw
from onnxwright.exporter.capture.assumptions.fitting import fitting
from onnxwright.exporter.capture.assumptions.guard_text import guard_text
from onnxwright.exporter.capture.assumptions.guards import Place, SizeGuard, Sizes
from onnxwright.exporter.capture.assumptions.squeezes import keep_squeezed
from onnxwright.exporter.capture.inputs.related_sizes import related
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.torch_internals import FakeTensor, pytree

# At how many sizes a program is compared where what an operator asked does not hold.
_OF_OPERATORS = 4
_FEW_DRAWS = (Draw.GIVEN, Draw.SIGNED, Draw.TIED)


def without_harmless(
    module: torch.nn.Module, program: ExportedProgram, wanted: Wanted, sizes: Sizes
) -> Sizes:
    """Sizes without the guards that exclude a size at which the program is right.

    Args:
        module: the module.
        program: what was captured of it.
        wanted: the example inputs.
        sizes: what the program assumes about sizes.

    Returns:
        The guards that matter.  One that matters for a size of 0 alone is `n >= 1`; it is a demand
        where the module itself refuses inputs without elements.
    """
    small = [g for g in sizes.guards if (g.small or g.by_operator) and not g.demand]
    weights = [*module.parameters(), *module.buffers()]
    if not small or any(isinstance(w, FakeTensor) for w in weights):
        return sizes
    flat, spec = pytree.tree_flatten((wanted.args, wanted.kwargs))
    with compared(module, program, flat) as comparison:
        keep_squeezed(comparison.captured)
        trial = _Trial(comparison, flat, spec, sizes)
        kept = {g.text: trial.judged(g) for g in small}
    guards = [kept.get(g.text, g) if g in small else g for g in sizes.guards]
    unique = {g.text: g for g in guards if g is not None}
    return dataclasses.replace(sizes, guards=tuple(unique.values()))


class _Trial:
    """Comparisons at sizes of 0 and 1, one for each size."""

    def __init__(
        self, comparison: Comparison, flat: Sequence[Any], spec: Any, sizes: Sizes
    ) -> None:
        self.comparison, self.flat, self.spec, self.sizes = comparison, flat, spec, sizes
        self.groups = groups_of(sizes)
        self.now = {head: size_at(flat, places[0]) for head, places in self.groups.items()}
        self.results: dict[tuple[str, int], Compared] = {}

    def judged(self, guard: SizeGuard) -> SizeGuard | None:
        """The guard, a weaker one, or None where it excludes nothing that matters."""
        if not guard.small:
            return self.of_operator(guard)
        symbols = sorted(map(str, guard.expression.free_symbols))
        excluded = [
            (symbol, size)
            for symbol in symbols
            for size in (1, 0)
            if not guard.holds({symbol: size})
            and size >= self.sizes.ranges.get(symbol, (0, None))[0]
        ]
        found = {one: self.at(*one) for one in excluded}
        wrong = [one for one, result in found.items() if result is not Compared.EQUAL]
        if not wrong:
            return None
        if len(symbols) > 1 or any(size == 1 for _, size in wrong):
            return guard
        (symbol,) = guard.expression.free_symbols
        least = sympy.Ge(symbol, 1, evaluate=False)
        refused = all(found[one] is Compared.REFUSED for one in wrong)
        text = guard_text(least, self.sizes.names)
        return dataclasses.replace(guard, expression=least, text=text, demand=refused)

    def of_operator(self, guard: SizeGuard) -> SizeGuard | None:
        """What is left of a guard that an operator of torch asked for.

        The operator computes the same at all sizes; the comparison is about what it was made of.
        None where the program is right at sizes at which it does not hold; a demand where the
        module refuses them.
        """
        head_of = {s: h for h, places in self.groups.items() for p in places
                   if (s := self.sizes.places[p])}  # fmt: skip
        renamed = {
            s: sympy.Symbol(head_of[str(s)], integer=True, nonnegative=True)
            for s in guard.expression.free_symbols
            if str(s) in head_of
        }
        contrary = sympy.Not(guard.expression.xreplace(renamed))
        results: list[Compared] = []
        for sizes in itertools.islice(self._sizes_of(contrary), _OF_OPERATORS):
            by_place = {p: sizes[h] for h, places in self.groups.items() for p in places}
            values = resized(self.flat, by_place)
            results.append(self.comparison.run(values, self.spec, _FEW_DRAWS, guard.text))
        if not results or Compared.DIFFERENT in results:
            return guard
        if Compared.EQUAL in results:
            return None
        return dataclasses.replace(guard, demand=True)

    def _sizes_of(self, condition: Any) -> Iterator[Mapping[str, int]]:
        """Sizes at which a condition holds: of each size alone, and of all together."""
        ranges = {self.sizes.names.get(s, s): r for s, r in self.sizes.ranges.items()}
        names = sorted(map(str, condition.free_symbols))
        for changed in (*((n,) for n in names), *([tuple(names)] if len(names) > 1 else [])):
            others = {n: self.now[n] for n in names if n not in changed}
            part = condition.xreplace({
                s: sympy.Integer(others[str(s)])
                for s in condition.free_symbols if str(s) in others
            })  # fmt: skip
            found = fitting([part], self.now, ranges) if part.free_symbols else None
            if found is not None:
                yield found

    def at(self, symbol: str, size: int) -> Compared:
        """What the comparison gives where a size is 0 or 1, and others follow if they have to."""
        if (symbol, size) not in self.results:
            self.results[symbol, size] = self._compared(symbol, size)
        return self.results[symbol, size]

    def _compared(self, symbol: str, size: int) -> Compared:
        head = next((h for h, p in self.groups.items() if self._is_in(symbol, p)), None)
        if head is None:
            return Compared.REFUSED
        result = Compared.REFUSED
        for sizes in self._candidates(head, size):
            by_place = {p: sizes[h] for h, places in self.groups.items() for p in places}
            values = resized(self.flat, by_place)
            result = self.comparison.run(values, self.spec, tuple(Draw), f"{head} is {size}")
            if result is not Compared.REFUSED:
                break
        return result

    def _is_in(self, symbol: str, places: Sequence[Place]) -> bool:
        return any(self.sizes.places[p] == symbol for p in places)

    def _candidates(self, head: str, size: int) -> Iterator[Mapping[str, int]]:
        first = {**self.now, head: size}
        following = related(self.now, {head: size})
        yield first
        if following != first:
            yield following


def groups_of(sizes: Sizes) -> dict[str, list[Place]]:
    """The places of sizes that are one: of one symbol, of one name, or equal by a demand.

    Args:
        sizes: what a program assumes about sizes.

    Returns:
        The name of each size -> where it is in the inputs.
    """
    same: dict[str, str] = {}
    for guard in (*sizes.equal, *(g for g in sizes.guards if g.demand)):
        sides = guard.expression.args
        if isinstance(guard.expression, sympy.Eq) and all(side.is_Symbol for side in sides):
            same[str(sides[1])] = str(sides[0])
    found: dict[str, list[Place]] = {}
    for place, symbol in sizes.places.items():
        head, seen = symbol, {symbol}
        while head in same and same[head] not in seen:
            head = same[head]
            seen.add(head)
        found.setdefault(sizes.names.get(head, head), []).append(place)
    return found


__all__ = ["groups_of", "without_harmless"]
