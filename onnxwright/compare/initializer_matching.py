"""Matches the initializers of two graphs: by name, by numbers, by their readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from onnxwright.compare.constant_digests import Content
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue

# Names that exporters count through: they say nothing when a model changes.
_COUNTED = re.compile(r"([\w.]*::)?[A-Za-z_]*\d+")


class Constants:
    """Initializers of two graphs, matched.

    Args:
        a, b: the graphs.
        nodes: matched nodes.
        contents: what the constants hold.

    Fields:
        pairs: initializer of the first -> of the second.
        moved: an initializer of one -> a Constant node of the other, both ways.
    """

    def __init__(
        self,
        a: ProtoGraph,
        b: ProtoGraph,
        nodes: Mapping[ProtoNode, ProtoNode],
        contents: Mapping[ProtoValue, Content],
    ) -> None:
        self.contents = contents
        self.pairs: dict[ProtoValue, ProtoValue] = {}
        self.back: dict[ProtoValue, ProtoValue] = {}
        self.moved: dict[ProtoValue, ProtoValue] = {}
        self.left = list(a.initializers)
        self.right = list(b.initializers)
        ours, theirs = set(self.left), set(self.right)
        read = [(x, y) for x, y in _read_alike(a, nodes) if x in ours and y in theirs]
        self._by_key(lambda w: (w.name, contents.get(w)))
        self._pair(read, self._same)
        self._by_key(contents.get)
        self._pair(read, lambda x, y: self._shape(x) == self._shape(y) and (
            x.name == y.name or bool(_COUNTED.fullmatch(x.name) or _COUNTED.fullmatch(y.name))
        ))  # fmt: skip
        self._by_key(lambda w: (w.name, self._shape(w)))
        self._pair(read, lambda x, y: self._shape(x) == self._shape(y))
        self._by_key(lambda w: None if _COUNTED.fullmatch(w.name) else w.name)
        self._pair(read, lambda _x, _y: True)
        self._move(a, b, nodes)

    def _free(self, value: ProtoValue) -> bool:
        return value.tensor is not None and value not in self.pairs and value not in self.back

    def _same(self, x: ProtoValue, y: ProtoValue) -> bool:
        content = self.contents.get(x)
        return content is not None and content == self.contents.get(y)

    def _shape(self, value: ProtoValue) -> tuple[int, tuple[int, ...]] | None:
        content = self.contents.get(value)
        return None if content is None else (content.dtype, content.dims)

    def _set(self, x: ProtoValue, y: ProtoValue) -> None:
        self.pairs[x] = y
        self.back[y] = x

    def _by_key(self, key: Callable[[ProtoValue], object]) -> None:
        held: dict[object, list[ProtoValue]] = {}
        for value in self.right:
            if self._free(value):
                held.setdefault(key(value), []).append(value)
        for value in self.left:
            matching_key = key(value)
            partners = held.get(matching_key) if matching_key is not None else None
            if partners and self._free(value):
                self._set(value, partners.pop(0))

    def _pair(
        self,
        read: Iterable[tuple[ProtoValue, ProtoValue]],
        fits: Callable[[ProtoValue, ProtoValue], bool],
    ) -> None:
        for x, y in read:
            if self._free(x) and self._free(y) and fits(x, y):
                self._set(x, y)

    def _move(self, a: ProtoGraph, b: ProtoGraph, nodes: Mapping[ProtoNode, ProtoNode]) -> None:
        """Initializers that are Constant nodes on the other side."""
        matched = {*nodes, *nodes.values()}
        for values, graph in ((self.left, b), (self.right, a)):
            held: dict[Content, list[ProtoValue]] = {}
            for node in graph.nodes:
                out = node.outputs[0] if node.outputs else None
                content = self.contents.get(out) if out is not None else None
                if out is not None and content is not None and node not in matched:
                    held.setdefault(content, []).append(out)
            for value in values:
                content = self.contents.get(value)
                others = held.get(content) if content is not None and self._free(value) else None
                if others:
                    other = next((w for w in others if w.name == value.name), others[0])
                    others.remove(other)
                    self.moved[value], self.moved[other] = other, value


def _read_alike(
    a: ProtoGraph, nodes: Mapping[ProtoNode, ProtoNode]
) -> Iterator[tuple[ProtoValue, ProtoValue]]:
    """What matched nodes read in the same place."""
    for node in a.all_nodes():
        partner = nodes.get(node)
        if partner is not None:
            for x, y in zip(node.inputs, partner.inputs, strict=False):
                if x is not None and y is not None:
                    yield x, y
