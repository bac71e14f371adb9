"""Matches the nodes of two graphs that are similar but not the same.

First what is surely the same: it computes the same from the same, or the same becomes of it.  Then
what reads the same weights, then nodes in the same order between matched ones, each time
spreading from what is matched to its neighbours; constants are looked at less closely step by step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping

from onnxwright.compare.node_fingerprints import Fingerprinter, Level, Matching
from onnxwright.compare.node_origin import module_of
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode
from onnxwright.compare.subsequences import common, rising

_LARGE = 8  # a constant of more elements is a weight, by which its reader is known


def align(a: ProtoGraph, b: ProtoGraph, matching: Matching) -> None:
    """Match the nodes of two graphs, subgraphs aside.

    Args:
        matching: what is matched already; the pairs are added to it.
    """
    work = _Work(a, b, matching)
    work.both_ways()
    work.spread(Level.EXACT)
    work.by_weights()
    work.spread(Level.EXACT)
    work.spread(Level.NAMED)
    exact, named, shaped = (work.fingerprinter(level) for level in Level)
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
    def __init__(self, a: ProtoGraph, b: ProtoGraph, matching: Matching) -> None:
        self.a, self.b, self.matching = a, b, matching

    def fingerprinter(self, level: Level) -> Fingerprinter:
        return Fingerprinter(self.matching, level, {})

    def left(self) -> list[ProtoNode]:
        """The nodes of the first that are not matched."""
        return [u for u in self.a.nodes if u not in self.matching.nodes]

    def right(self) -> list[ProtoNode]:
        """The nodes of the second that are not matched."""
        return [u for u in self.b.nodes if u not in self.matching.back]

    def done(self) -> bool:
        """Whether one side has nothing left to match."""
        return not self.left() or not self.right()

    def both_ways(self) -> None:
        """Match what is the same up to the inputs and down to the outputs.

        In order of depth from the inputs: what distinguishes equal nodes is matched before them.
        """
        fingerprinter = self.fingerprinter(Level.EXACT)
        up = {**fingerprinter.forward(self.a), **fingerprinter.forward(self.b)}
        down = {**fingerprinter.backward(self.a), **fingerprinter.backward(self.b)}
        ones, others = _by_depth(self.a), _by_depth(self.b)
        for x, y in zip(ones, others, strict=False):
            self.group(
                x, y, lambda u: (up[u], down[u], tuple(fingerprinter.label(w) for w in u.inputs))
            )  # fmt: skip

    def spread(self, level: Level) -> None:
        """Match what computes the same from what is matched, then what becomes the same of it."""
        if self.done():
            return
        fingerprinter = self.fingerprinter(level)
        up = {**fingerprinter.forward(self.a), **fingerprinter.forward(self.b)}
        if level is Level.SHAPED:  # a constant alone identifies nothing at this level
            up = {u: n for u, n in up.items() if u.inputs or u.subgraphs}
        self.group(self.left(), self.right(), up.get, unequal=level is Level.EXACT)
        fingerprinter = self.fingerprinter(level)
        down = {**fingerprinter.backward(self.a), **fingerprinter.backward(self.b)}
        down = {u: n for u, n in down.items() if u in fingerprinter.used}
        self.group(self.left(), self.right(), down.get)

    def by_weights(self) -> None:
        """Match what alone reads the same weights."""
        fingerprinter = self.fingerprinter(Level.EXACT)

        def token(node: ProtoNode) -> Hashable:
            held = [self.matching.contents.get(w) for w in node.inputs if w is not None]
            large = any(c is not None and c.count > _LARGE for c in held)
            return fingerprinter.local(node) if large else None

        ones, others = _held(self.left(), token), _held(self.right(), token)
        for key, nodes in ones.items():
            partners = others.get(key, [])
            if len(nodes) == len(partners) == 1:
                self.matching.pair(nodes[0], partners[0])

    def group(
        self,
        ones: Iterable[ProtoNode],
        others: Iterable[ProtoNode],
        key: Callable[[ProtoNode], Hashable],
        *,
        unequal: bool = False,
    ) -> None:
        """Match what has the same key, in order, where both sides have as many of it.

        Args:
            key: None matches nothing.
            unequal: match as many as there are, by the names of their results first.
        """
        left, right = _held(ones, key), _held(others, key)
        for group_key, nodes in left.items():
            partners = right.get(group_key, [])
            if len(nodes) != len(partners) and not unequal:
                continue
            if len(nodes) > 1 or len(partners) > 1:
                nodes, partners = self._named_first(nodes, partners)
            for x, y in zip(nodes, partners, strict=False):
                self.matching.pair(x, y)

    def _named_first(
        self, ones: list[ProtoNode], others: list[ProtoNode]
    ) -> tuple[list[ProtoNode], list[ProtoNode]]:
        by_name = {tuple(u.proto.output): u for u in others}
        for node in ones:
            partner = by_name.pop(tuple(node.proto.output), None)
            if partner is not None:
                self.matching.pair(node, partner)
        return (
            [u for u in ones if u not in self.matching.nodes],
            [u for u in others if u not in self.matching.back],
        )

    def in_gaps(self, token: Callable[[ProtoNode], Hashable], *, sure: bool) -> None:
        """Match equal tokens in the same order between matched nodes.

        Args:
            sure: whether equal tokens in one place are enough; else a neighbour or a name has to
                agree too.
        """
        pairs = [(x.number, self.matching.nodes[x].number) for x in self.a.nodes
                 if x in self.matching.nodes]  # fmt: skip
        edges = [(-1, -1), *rising(pairs), (len(self.a.nodes), len(self.b.nodes))]
        for (i, k), (j, m) in itertools.pairwise(edges):
            ones = [u for u in self.a.nodes[i + 1 : j] if u not in self.matching.nodes]
            others = [u for u in self.b.nodes[k + 1 : m] if u not in self.matching.back]
            if not ones or not others:
                continue
            for n, o in common([token(u) for u in ones], [token(u) for u in others]):
                if sure or self.agrees(ones[n], others[o]):
                    self.matching.pair(ones[n], others[o])

    def agrees(self, x: ProtoNode, y: ProtoNode) -> bool:
        """Whether something beside the operator says that two nodes belong together."""
        if x.proto.name and x.proto.name == y.proto.name:
            return True
        if any(name and name in y.proto.output for name in x.proto.output):
            return True
        fingerprinter = self.fingerprinter(Level.EXACT)
        for one, other in zip(x.inputs, y.inputs, strict=False):
            if one is not None and other is not None and self._matched(fingerprinter, one, other):
                return True
        ones, others = ({self.matching.marks.get(u) for w in side.outputs if w is not None
                         for u, _ in w.uses} for side in (x, y))  # fmt: skip
        return bool((ones & others) - {None})

    def _matched(self, fingerprinter: Fingerprinter, one: object, other: object) -> bool:
        marked = [w for w in (one, other) if w in self.matching.marks
                  or getattr(w, "producer", None) in self.matching.marks]  # fmt: skip
        return len(marked) == 2 and fingerprinter.label(one) == fingerprinter.label(other)  # type: ignore[arg-type]  # both are values

    def by_names(self) -> None:
        """Match what is left by its own name, or by the names of what it makes."""
        self.group(self.left(), self.right(), lambda u: (u.proto.name, u.key)
                   if u.proto.name and u.inputs else None)  # fmt: skip
        self.group(self.left(), self.right(), lambda u: (tuple(u.proto.output), u.key))


def _held(
    nodes: Iterable[ProtoNode], key: Callable[[ProtoNode], Hashable]
) -> Mapping[Hashable, list[ProtoNode]]:
    nodes_by_key: dict[Hashable, list[ProtoNode]] = {}
    for node in nodes:
        matching_key = key(node)
        if matching_key is not None:
            nodes_by_key.setdefault(matching_key, []).append(node)
    return nodes_by_key


def _by_depth(graph: ProtoGraph) -> list[list[ProtoNode]]:
    """The nodes by the longest way from an input."""
    depths: dict[ProtoNode, int] = {}
    levels: list[list[ProtoNode]] = []
    for node in graph.nodes:
        read = list(node.inputs)
        for graphs in node.subgraphs.values():
            for body in graphs:
                read += [w for inner in body.all_nodes() for w in inner.inputs]
        above = [depths.get(w.producer, -1) for w in read if w is not None and w.producer]
        depth = depths[node] = max(above, default=-1) + 1
        if depth == len(levels):
            levels.append([])
        levels[depth].append(node)
    return levels
