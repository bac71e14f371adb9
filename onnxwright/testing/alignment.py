"""Which node of one graph stands for which of another that is not quite the same.

First what is surely the same: it computes the same from the same, or the same becomes of it.  Then
what reads the same weights, then what stands in the same order between matched nodes, each time
spreading from what is matched to its neighbours; constants are looked at less closely step by step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping

from onnxwright.ir.wiring import Scope, Unit
from onnxwright.testing.places import module_of
from onnxwright.testing.sequences import common, rising
from onnxwright.testing.tokens import Known, Level, Painter

_LARGE = 8  # a constant of more elements is a weight, by which its reader is known


def align(a: Scope, b: Scope, known: Known) -> None:
    """Match the nodes of two graphs, subgraphs aside.

    Args:
        a, b: the graphs.
        known: what is matched already; the pairs are added to it.
    """
    work = _Work(a, b, known)
    work.both_ways()
    work.spread(Level.EXACT)
    work.by_weights()
    work.spread(Level.EXACT)
    work.spread(Level.NAMED)
    exact, named, shaped = (work.painter(level) for level in Level)
    for level, token in (
        (Level.NAMED, lambda u: (exact.local(u), module_of(u.proto))),
        (Level.NAMED, exact.local),
        (Level.NAMED, named.local),
        (Level.SHAPED, lambda u: (shaped.local(u), module_of(u.proto))),
        (Level.SHAPED, shaped.local),
        (Level.SHAPED, lambda u: u.key),
    ):
        if work.done():
            return
        work.in_gaps(token, sure=level is Level.NAMED)
        work.spread(level)
    work.by_names()
    work.spread(Level.SHAPED)


class _Work:
    def __init__(self, a: Scope, b: Scope, known: Known) -> None:
        self.a, self.b, self.known = a, b, known

    def painter(self, level: Level) -> Painter:
        return Painter(self.known, level, {})

    def left(self) -> list[Unit]:
        """The nodes of the first that are not matched."""
        return [u for u in self.a.units if u not in self.known.units]

    def right(self) -> list[Unit]:
        """The nodes of the second that are not matched."""
        return [u for u in self.b.units if u not in self.known.back]

    def done(self) -> bool:
        """Whether one side has nothing left to match."""
        return not self.left() or not self.right()

    def both_ways(self) -> None:
        """Match what is the same up to the inputs and down to the outputs.

        From the inputs on, a step of the longest way at a time: what tells twins apart is then
        matched before them.
        """
        painter = self.painter(Level.EXACT)
        up = {**painter.forward(self.a), **painter.forward(self.b)}
        down = {**painter.backward(self.a), **painter.backward(self.b)}
        ones, others = _by_depth(self.a), _by_depth(self.b)
        for x, y in zip(ones, others, strict=False):
            self.group(
                x, y, lambda u: (up[u], down[u], tuple(painter.label(w) for w in u.inputs))
            )  # fmt: skip

    def spread(self, level: Level) -> None:
        """Match what computes the same from what is matched, then what becomes the same of it."""
        if self.done():
            return
        painter = self.painter(level)
        up = {**painter.forward(self.a), **painter.forward(self.b)}
        if level is Level.SHAPED:  # a constant by itself says nothing at this level
            up = {u: n for u, n in up.items() if u.inputs or u.graphs}
        self.group(self.left(), self.right(), up.get, unequal=level is Level.EXACT)
        painter = self.painter(level)
        down = {**painter.backward(self.a), **painter.backward(self.b)}
        down = {u: n for u, n in down.items() if u in painter.used}
        self.group(self.left(), self.right(), down.get)

    def by_weights(self) -> None:
        """Match what alone reads the same weights."""
        painter = self.painter(Level.EXACT)

        def token(unit: Unit) -> Hashable:
            held = [self.known.contents.get(w) for w in unit.inputs if w is not None]
            large = any(c is not None and c.count > _LARGE for c in held)
            return painter.local(unit) if large else None

        ones, others = _held(self.left(), token), _held(self.right(), token)
        for key, units in ones.items():
            partners = others.get(key, [])
            if len(units) == len(partners) == 1:
                self.known.pair(units[0], partners[0])

    def group(
        self,
        ones: Iterable[Unit],
        others: Iterable[Unit],
        key: Callable[[Unit], Hashable],
        *,
        unequal: bool = False,
    ) -> None:
        """Match what has the same key, in order, where both sides have as many of it.

        Args:
            ones, others: nodes of each side.
            key: None matches nothing.
            unequal: match as many as there are, by the names of their results first.
        """
        left, right = _held(ones, key), _held(others, key)
        for made, units in left.items():
            partners = right.get(made, [])
            if len(units) != len(partners) and not unequal:
                continue
            if len(units) > 1 or len(partners) > 1:
                units, partners = self._named_first(units, partners)
            for x, y in zip(units, partners, strict=False):
                self.known.pair(x, y)

    def _named_first(self, ones: list[Unit], others: list[Unit]) -> tuple[list[Unit], list[Unit]]:
        by_name = {tuple(u.proto.output): u for u in others}
        for unit in ones:
            partner = by_name.pop(tuple(unit.proto.output), None)
            if partner is not None:
                self.known.pair(unit, partner)
        return (
            [u for u in ones if u not in self.known.units],
            [u for u in others if u not in self.known.back],
        )

    def in_gaps(self, token: Callable[[Unit], Hashable], *, sure: bool) -> None:
        """Match equal tokens in the same order between matched nodes.

        Args:
            token: what a node is told by.
            sure: whether equal tokens in one place are enough; else a neighbour or a name has to
                agree too.
        """
        pairs = [(x.number, self.known.units[x].number) for x in self.a.units
                 if x in self.known.units]  # fmt: skip
        edges = [(-1, -1), *rising(pairs), (len(self.a.units), len(self.b.units))]
        for (i, k), (j, m) in itertools.pairwise(edges):
            ones = [u for u in self.a.units[i + 1 : j] if u not in self.known.units]
            others = [u for u in self.b.units[k + 1 : m] if u not in self.known.back]
            if not ones or not others:
                continue
            for n, o in common([token(u) for u in ones], [token(u) for u in others]):
                if sure or self.agrees(ones[n], others[o]):
                    self.known.pair(ones[n], others[o])

    def agrees(self, x: Unit, y: Unit) -> bool:
        """Whether something beside the operator says that two nodes belong together."""
        if x.proto.name and x.proto.name == y.proto.name:
            return True
        if any(name and name in y.proto.output for name in x.proto.output):
            return True
        painter = self.painter(Level.EXACT)
        for one, other in zip(x.inputs, y.inputs, strict=False):
            if one is not None and other is not None and self._matched(painter, one, other):
                return True
        ones, others = ({self.known.marks.get(u) for w in side.outputs if w is not None
                         for u, _ in w.uses} for side in (x, y))  # fmt: skip
        return bool((ones & others) - {None})

    def _matched(self, painter: Painter, one: object, other: object) -> bool:
        marked = [w for w in (one, other) if w in self.known.marks
                  or getattr(w, "producer", None) in self.known.marks]  # fmt: skip
        return len(marked) == 2 and painter.label(one) == painter.label(other)  # type: ignore[arg-type]  # both are values

    def by_names(self) -> None:
        """Match what is left by its own name, or by the names of what it makes."""
        self.group(self.left(), self.right(), lambda u: (u.proto.name, u.key)
                   if u.proto.name and u.inputs else None)  # fmt: skip
        self.group(self.left(), self.right(), lambda u: (tuple(u.proto.output), u.key))


def _held(units: Iterable[Unit], key: Callable[[Unit], Hashable]) -> Mapping[Hashable, list[Unit]]:
    found: dict[Hashable, list[Unit]] = {}
    for unit in units:
        made = key(unit)
        if made is not None:
            found.setdefault(made, []).append(unit)
    return found


def _by_depth(scope: Scope) -> list[list[Unit]]:
    """The nodes by the longest way from an input."""
    depths: dict[Unit, int] = {}
    levels: list[list[Unit]] = []
    for unit in scope.units:
        read = list(unit.inputs)
        for scopes in unit.graphs.values():
            for body in scopes:
                read += [w for inner in body.all_units() for w in inner.inputs]
        above = [depths.get(w.producer, -1) for w in read if w is not None and w.producer]
        depth = depths[unit] = max(above, default=-1) + 1
        if depth == len(levels):
            levels.append([])
        levels[depth].append(unit)
    return levels


__all__ = ["align"]
