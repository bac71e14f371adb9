"""Which node of one graph stands for which of another that is not quite the same.

First what is surely the same (equal surroundings), then what kept its name or its outputs' names,
then what lies between matched neighbours in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from difflib import SequenceMatcher

from onnxwright.ir.colours import Features, colours
from onnxwright.ir.wiring import Scope, Unit, Wire

_FEATURES = Features(io_names=True, initializer_names=True, attributes=True, symmetric=frozenset())


def align(a: Scope, b: Scope) -> dict[Unit, Unit]:
    """Match the nodes of two graphs, subgraphs aside.

    Args:
        a, b: the graphs.

    Returns:
        Node of the first -> node of the second; each stands once.
    """
    found = _Alignment(a.units, b.units)
    painted = colours(a, b, _FEATURES)
    found.by_key(lambda u: painted[u])
    found.by_key(lambda u: (u.proto.name, u.key) if u.proto.name else None)
    found.by_key(lambda u: (tuple(u.proto.output), u.key) if any(u.proto.output) else None)
    forward = _Forward(found)
    for _ in range(3):
        before = len(found.pairs)
        found.by_key(forward.left, forward.right)
        if len(found.pairs) == before:
            break
    found.in_order(lambda u: (u.key, tuple(sorted(x.name for x in u.proto.attribute))))
    found.in_order(lambda u: u.key)
    return found.pairs


class _Alignment:
    def __init__(self, left: Iterable[Unit], right: Iterable[Unit]) -> None:
        self.left, self.right = list(left), list(right)
        self.pairs: dict[Unit, Unit] = {}
        self.back: dict[Unit, Unit] = {}

    def pair(self, x: Unit, y: Unit) -> None:
        self.pairs[x] = y
        self.back[y] = x

    def by_key(
        self,
        key: Callable[[Unit], Hashable],
        other: Callable[[Unit], Hashable] | None = None,
    ) -> None:
        """Match what has the same key, in order, where both sides have as many of it."""
        ones: dict[Hashable, list[Unit]] = {}
        others: dict[Hashable, list[Unit]] = {}
        for units, matched, held, function in (
            (self.left, self.pairs, ones, key),
            (self.right, self.back, others, other or key),
        ):
            for unit in units:
                made = None if unit in matched else function(unit)
                if made is not None:
                    held.setdefault(made, []).append(unit)
        for made, units in ones.items():
            partners = others.get(made, [])
            if len(units) == len(partners):
                for x, y in zip(units, partners, strict=True):
                    self.pair(x, y)

    def in_order(self, key: Callable[[Unit], Hashable]) -> None:
        """Match what is left over by the longest common order of keys."""
        ones = [u for u in self.left if u not in self.pairs]
        others = [u for u in self.right if u not in self.back]
        if len(ones) * len(others) > 4_000_000:
            return
        matcher = SequenceMatcher(None, [key(u) for u in ones], [key(u) for u in others], False)
        for block in matcher.get_matching_blocks():
            for n in range(block.size):
                self.pair(ones[block.a + n], others[block.b + n])


class _Forward:
    """A key of a node by what it reads, in terms of what is matched already."""

    def __init__(self, found: _Alignment) -> None:
        self.found = found

    def left(self, unit: Unit) -> Hashable:
        return self._key(unit, lambda u: u if u in self.found.pairs else None)

    def right(self, unit: Unit) -> Hashable:
        return self._key(unit, self.found.back.get)

    def _key(self, unit: Unit, known: Callable[[Unit], Unit | None]) -> Hashable:
        parts = [self._wire(wire, known) for wire in unit.inputs]
        if all(p is None for p in parts):
            return None
        return (unit.key, tuple(parts))

    @staticmethod
    def _wire(wire: Wire | None, known: Callable[[Unit], Unit | None]) -> Hashable:
        if wire is None:
            return None
        if wire.producer is None:
            return wire.name
        partner = known(wire.producer)
        if partner is None:
            return None
        return (id(partner), wire.producer.outputs.index(wire))


__all__ = ["align"]
