"""Both sides of decisions by sizes: the module is captured again on the other side of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.assumptions.excluded import Range
from onnxwright.exporter.capture.assumptions.guards import Place, SizeGuard, Sizes
from onnxwright.exporter.capture.assumptions.turning_points import tried_classes

# How often a module is captured at most.
_LIMIT = 8
_SMALL = range(1, 13)


@dataclass(frozen=True)
class Leaf:
    """A program for one side of all decisions.

    Fields:
        program: what was captured.
        names: torch's symbols by the names the user wrote.
        sizes: for which sizes it is right.
        example: the sizes it was captured with, where they are not those of the example inputs.
    """

    program: ExportedProgram
    names: Mapping[str, str]
    sizes: Sizes
    example: Mapping[Place, int] = field(default_factory=dict)

    def leaf(self, values: Sequence[Any]) -> Leaf:
        """The program for a call."""
        return self


@dataclass(frozen=True)
class Fork:
    """A decision with both its sides.

    Fields:
        guard: the condition.
        places: torch's symbol in the condition -> a place among the inputs.
        holds, fails: what is computed where it holds, and where it does not.
    """

    guard: SizeGuard
    places: Mapping[str, Place]
    holds: Tree
    fails: Tree

    def leaf(self, values: Sequence[Any]) -> Leaf:
        """The program for a call.

        Args:
            values: for each flattened input something with a `shape`, or a number.
        """
        sizes = {s: size_at(values, place) for s, place in self.places.items()}
        return (self.holds if self.guard.holds(sizes) else self.fails).leaf(values)


Tree = Leaf | Fork
Recapture = Callable[[Mapping[Place, int]], Leaf]


@dataclass(frozen=True)
class BranchedSizes:
    """Which sizes a program with several sides is right for; as `Sizes` has it.

    Fields:
        tree: the sides.
        names: torch's symbol -> the name to show.
        ranges: what the user declared.
    """

    tree: Tree
    names: Mapping[str, str]
    ranges: Mapping[str, Range]

    def check(self, values: Sequence[Any]) -> str:
        """Why the program is not right for inputs; empty if it is."""
        return self.tree.leaf(values).sizes.check(values)

    def decisions(self) -> list[SizeGuard]:
        """The guards of which one side is exported."""
        return [
            guard
            for leaf in leaves(self.tree)
            for guard in leaf.sizes.decisions()
            if not is_decided(self.tree, leaf, guard)
        ]

    def renamed(self, mapping: Mapping[str, str]) -> BranchedSizes:
        """The same under other names; the sides keep theirs, which only errors of calls show."""
        symbols = {s for leaf in leaves(self.tree) for s in leaf.sizes.places.values()}
        names = {s: self.names.get(s, s) for s in symbols | set(self.names)}
        return BranchedSizes(
            self.tree, {s: mapping.get(n, n) for s, n in names.items()}, self.ranges
        )

    def metadata(self) -> dict[str, str]:
        """What is assumed, as metadata of a model."""
        return Sizes(self.names, self.ranges, tuple(self.decisions())).metadata()


def resized(flat: Sequence[Any], sizes: Mapping[Place, int]) -> list[Any]:
    """Flattened inputs with other sizes; elements are repeated.

    Args:
        flat: the inputs.
        sizes: by place.

    Returns:
        The inputs.
    """
    values = list(flat)
    for (n, axis), size in sizes.items():
        if axis is None:
            values[n] = size
        elif values[n].shape[axis] not in (0, size):
            rows = torch.arange(size, device=values[n].device) % values[n].shape[axis]
            values[n] = values[n].detach().index_select(axis, rows)
    return values


def size_at(values: Sequence[Any], place: Place) -> int:
    """The size at a place among flattened inputs."""
    n, axis = place
    return int(values[n]) if axis is None else int(values[n].shape[axis])


def grown(
    first: Leaf,
    now: Mapping[Place, int],
    ranges: Mapping[Place, tuple[int, int | None]],
    again: Recapture,
) -> Tree:
    """The tree of all decisions of a module by sizes.

    Args:
        first: the module captured with its example inputs.
        now: the sizes of these.
        ranges: what the user declared about sizes.
        again: captures the module with other sizes.

    Returns:
        The tree; a decision whose other side has no sizes stays a guard of its leaf.

    Raises:
        ExportError: there are too many sides, or one cannot be captured (OW835).
    """
    count = itertools.count(1)

    def grow(leaf: Leaf, path: list[_Condition]) -> Tree:
        for guard in leaf.sizes.decisions():
            condition = _Condition(guard, _places(guard, leaf.sizes), True)
            if any(condition.same(known) for known in path):
                continue
            demands = [
                _Condition(g, _places(g, leaf.sizes), True) for g in leaf.sizes.guards if g.demand
            ]
            other = condition.negated()
            sizes = _sizes_for([*path, *demands, other], now, ranges)
            if sizes is None:
                continue
            if next(count) >= _LIMIT:
                _raise_not_joined(guard, f"there are more than {_LIMIT} sides")
            try:
                found = again(sizes)
            except ExportError as error:
                reason = "the module cannot be captured on the other side"
                try:
                    _raise_not_joined(guard, reason)
                except ExportError as failure:
                    raise failure from error
            return Fork(
                guard,
                condition.places,
                grow(leaf, [*path, condition]),
                grow(found, [*path, other]),
            )
        return leaf

    return grow(first, [])


@dataclass(frozen=True)
class _Condition:
    """A guard and whether it holds, about places among the inputs instead of symbols."""

    guard: SizeGuard
    places: Mapping[str, Place]
    wanted: bool

    def holds(self, sizes: Mapping[Place, int]) -> bool:
        given = {s: sizes[p] for s, p in self.places.items()}
        return self.guard.holds(given) == self.wanted

    def turning(self, place: Place, now: Mapping[Place, int]) -> list[int]:
        """The sizes at a place beside which it has another answer."""
        sizes = {s: now[p] for s, p in self.places.items()}
        symbols = [s for s, p in self.places.items() if p == place]
        return [n for s in symbols for n in tried_classes([self.guard.expression], s, sizes)]

    def negated(self) -> _Condition:
        return _Condition(self.guard, self.places, not self.wanted)

    def same(self, other: _Condition) -> bool:
        """Whether another condition says the same, or the opposite, of the same places."""
        if set(self.places.values()) != set(other.places.values()):
            return False
        mine = self.guard.about(self.places)
        theirs = other.guard.about(other.places)
        return bool(mine in (theirs, ~theirs))


def _places(guard: SizeGuard, sizes: Sizes) -> dict[str, Place]:
    """A place for each symbol of a guard."""
    wanted = {str(s) for s in guard.expression.free_symbols}
    found: dict[str, Place] = {}
    for place, symbol in sizes.places.items():
        if symbol in wanted:
            found.setdefault(symbol, place)
    return found


def _sizes_for(
    conditions: Sequence[_Condition],
    now: Mapping[Place, int],
    ranges: Mapping[Place, tuple[int, int | None]],
) -> dict[Place, int] | None:
    """Sizes that fulfil all conditions, near those of the example inputs; None if none is found."""
    involved = sorted({p for c in conditions for p in c.places.values()}, key=str)
    constants = {n for c in conditions for n in c.guard.numbers()}
    near = {n + d for n in constants for d in (-1, 0, 1)} | {2 * n for n in constants}
    positive = [n for n in sorted(near) if n > 0]
    turning = {p: [n for c in conditions for n in c.turning(p, now)] for p in involved}
    options = [
        [
            n
            for n in dict.fromkeys(
                (now[p], *_SMALL[1:], *positive, *now.values(), *turning[p], 1, 0)
            )
            if 0 <= n <= 1 << 20 and _is_in(n, ranges.get(p))
        ]
        for p in involved
    ]
    for chosen in itertools.islice(itertools.product(*options), 20000):
        sizes = {**now, **dict(zip(involved, chosen, strict=True))}
        if all(c.holds(sizes) for c in conditions):
            return sizes
    return None


def _is_in(size: int, found: tuple[int, int | None] | None) -> bool:
    low, high = found or (0, None)
    return size >= low and (high is None or size <= high)


def leaves(tree: Tree) -> Iterator[Leaf]:
    """The programs of a tree, the one of the example inputs first."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from leaves(tree.holds)
        yield from leaves(tree.fails)


def is_decided(tree: Tree, leaf: Leaf, guard: SizeGuard) -> bool:
    """Whether a tree decides by a guard of one of its leaves, above that leaf.

    Args:
        tree: the tree.
        leaf: one of its leaves.
        guard: a guard of the leaf.
    """
    if isinstance(tree, Leaf):
        return False
    mine = _Condition(guard, _places(guard, leaf.sizes), True)
    if any(one is leaf for one in leaves(tree)):
        if mine.same(_Condition(tree.guard, tree.places, True)):
            return True
    return any(
        is_decided(side, leaf, guard)
        for side in (tree.holds, tree.fails)
        if any(one is leaf for one in leaves(side))
    )


def _raise_not_joined(guard: SizeGuard, reason: str) -> NoReturn:
    fail(
        messages.SizeBranchesDiffer(
            guard=guard.text,
            reason=reason,
            hint="without `size_branches` the side of the example inputs is exported, and "
            "`program(...)` refuses the other sizes",
            span=guard.span or user_span(),
        )
    )
