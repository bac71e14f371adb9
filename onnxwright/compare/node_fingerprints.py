"""Fingerprints of nodes for aligning two graphs: the operator, what it reads, who reads it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

import onnx

from onnxwright.compare.constant_digests import Content, of_tensor
from onnxwright.compare.equality import attribute_kind
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue

_FEW = 8  # elements of a constant that is an axis, a shape or the like
_A = onnx.AttributeProto


class Level(Enum):
    """How closely nodes are looked at: numbers of constants, their names, or their shapes only."""

    EXACT = 0
    NAMED = 1
    SHAPED = 2


class Matching:
    """What is matched so far: nodes and values of both sides, with a number for each pair.

    Fields:
        nodes, back: node of the first -> node of the second, and back.
        marks: node or value of either side -> the number of its pair.
        contents: what the constants of both sides hold.
        names: names of constants that both sides have with one type.
        attributes: attributes of nodes, cached.
    """

    def __init__(self, contents: Mapping[ProtoValue, Content], names: frozenset[str]) -> None:
        self.nodes: dict[ProtoNode, ProtoNode] = {}
        self.back: dict[ProtoNode, ProtoNode] = {}
        self.marks: dict[Any, int] = {}
        self.contents = contents
        self.names = names
        self.attributes: dict[ProtoNode, Hashable] = {}

    def pair(self, x: ProtoNode, y: ProtoNode) -> None:
        """Match two nodes."""
        self.nodes[x] = y
        self.back[y] = x
        self.marks[x] = self.marks[y] = len(self.marks)

    def pair_values(self, x: ProtoValue, y: ProtoValue) -> None:
        """Match two values that no node makes."""
        self.marks[x] = self.marks[y] = len(self.marks)


class Fingerprinter:
    """Numbers that are equal where nodes look alike.

    Args:
        matching: what is matched already; a matched node is identified by its pair.
        level: how closely to look.
        ids: shared by the fingerprinters whose numbers are compared.

    Fields:
        used: the nodes of which `backward` knows what becomes; of others it says nothing.
    """

    def __init__(self, matching: Matching, level: Level, ids: dict[Hashable, int]) -> None:
        self.matching, self.level = matching, level
        self._ids = ids
        self._made: dict[Any, int] = {}
        self.used: set[ProtoNode] = set()

    def _id(self, key: Hashable) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def forward(self, graph: ProtoGraph) -> dict[ProtoNode, int]:
        """A number for each node by what it computes from the inputs and from what is matched."""
        labels = {}
        for node in graph.nodes:
            fingerprint = ("f", *self.itself(node), tuple(self.label(w) for w in node.inputs))
            labels[node] = self._made[node] = self._id((*fingerprint, self._inside(node)))
        return labels

    def _inside(self, node: ProtoNode) -> Hashable:
        parts = []
        for name, graphs in node.subgraphs.items():
            for graph in graphs:
                held = self.forward(graph)
                outs = tuple(self.label(w) for w in graph.outputs)
                parts.append((name, len(graph.inputs), outs, tuple(sorted(held.values()))))
        return tuple(parts)

    def backward(self, graph: ProtoGraph) -> dict[ProtoNode, int]:
        """A number for each node by what becomes of its results."""
        labels: dict[ProtoNode, int] = {}
        places: dict[ProtoValue, list[int]] = {}
        for n, value in enumerate(graph.outputs):
            places.setdefault(value, []).append(n)
        for node in reversed(graph.nodes):
            readers = []
            for out in node.outputs:
                uses = out.uses if out is not None else ()
                users = sorted(self._user(graph, labels, *use) for use in uses)
                readers.append(
                    (tuple(users), tuple(places.get(out, ())) if out is not None else ())
                )
            fixed = tuple(self.label(w) if w in self.matching.contents else -2 for w in node.inputs)
            labels[node] = self._id(("b", *self.itself(node), fixed, tuple(readers)))
            if any(users or outs for users, outs in readers):
                self.used.add(node)
        return labels

    def _user(
        self, graph: ProtoGraph, fingerprints: Mapping[ProtoNode, int], node: ProtoNode, place: int
    ) -> int:
        inside = False
        while node.graph is not graph and node.graph.owner is not None:
            node, inside = node.graph.owner, True
        mark = self.matching.marks.get(node)
        user: Hashable = ("pair", mark) if mark is not None else fingerprints.get(node, -1)
        return self._id(("u", user, -1 if inside else place))

    def itself(self, node: ProtoNode) -> tuple[Hashable, ...]:
        """A node without its surroundings: the operator, the attributes, how much it makes."""
        if self.level is Level.SHAPED:
            names: Hashable = tuple(sorted(a.name for a in node.proto.attribute))
        else:
            names = self.matching.attributes.get(node)
            if names is None:
                names = tuple(sorted((a.name, repr(_plain(a))) for a in node.proto.attribute))
                self.matching.attributes[node] = names
        return (node.key, names, len(node.outputs))

    def local(self, node: ProtoNode) -> Hashable:
        """A node with the constants it reads."""
        return (*self.itself(node), tuple(
            self.label(w) if w is None or w in self.matching.contents else -2 for w in node.inputs
        ))  # fmt: skip

    def label(self, value: ProtoValue | None) -> int:
        """A number for a value."""
        if value is None:
            return -1
        return self._id(self._key(value))

    def _key(self, value: ProtoValue) -> Hashable:
        content = self.matching.contents.get(value)
        if content is not None:
            return ("constant", self._constant(value, content))
        mark = self.matching.marks.get(value)
        if mark is not None:
            return ("value", mark)
        if value.producer is not None:
            place = value.producer.outputs.index(value)
            mark = self.matching.marks.get(value.producer)
            if mark is not None:
                return ("pair", mark, place)
            return ("of", self._made.get(value.producer, -1), place)
        if value.input_index is not None:
            depth = value.graph.label if value.graph is not None else ""
            return ("input", depth, value.input_index)
        return ("name", value.name)

    def _constant(self, value: ProtoValue, content: Content) -> Hashable:
        if self.level is Level.EXACT or (self.level is Level.NAMED and content.count <= _FEW):
            return content
        shape = (content.dtype, content.dims)
        if self.level is Level.NAMED and value.name in self.matching.names:
            return (value.name, shape)
        return shape if self.level is Level.NAMED else (content.dtype, len(content.dims))


def _plain(attribute: onnx.AttributeProto) -> Hashable:
    """An attribute's value; graphs are compared by what is in them."""
    kind = attribute_kind(attribute)
    if attribute.ref_attr_name:
        return ("ref", kind, attribute.ref_attr_name)
    if kind == _A.TENSOR:
        return of_tensor(attribute.t)
    if kind in (_A.GRAPH, _A.GRAPHS):
        return ("graphs",)
    if kind in (_A.FLOAT, _A.INT, _A.STRING):
        return (kind, repr(attribute.f), attribute.i, attribute.s)
    lists = (tuple(map(repr, attribute.floats)), tuple(attribute.ints), tuple(attribute.strings))
    if any(lists):
        return (kind, *lists)
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.ClearField("doc_string")
    return (kind, copy.SerializeToString(deterministic=True))
