"""What a node is told by when two graphs are aligned: its operator, what it reads, who reads it."""

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
        units, back: node of the first -> node of the second, and back.
        marks: node or value of either side -> the number of its pair.
        contents: what the constants of both sides hold.
        names: names of constants that both sides have with one type.
        attributes: attributes of nodes, as far as they were asked for.
    """

    def __init__(self, contents: Mapping[ProtoValue, Content], names: frozenset[str]) -> None:
        self.units: dict[ProtoNode, ProtoNode] = {}
        self.back: dict[ProtoNode, ProtoNode] = {}
        self.marks: dict[Any, int] = {}
        self.contents = contents
        self.names = names
        self.attributes: dict[ProtoNode, Hashable] = {}

    def pair(self, x: ProtoNode, y: ProtoNode) -> None:
        """Match two nodes."""
        self.units[x] = y
        self.back[y] = x
        self.marks[x] = self.marks[y] = len(self.marks)

    def pair_values(self, x: ProtoValue, y: ProtoValue) -> None:
        """Match two values that no node makes."""
        self.marks[x] = self.marks[y] = len(self.marks)


class Fingerprinter:
    """Numbers that are equal where nodes look alike.

    Args:
        matching: what is matched already; a matched node is told by its pair.
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

    def forward(self, scope: ProtoGraph) -> dict[ProtoNode, int]:
        """A number for each node by what it computes from the inputs and from what is matched."""
        found = {}
        for unit in scope.units:
            made = ("f", *self.itself(unit), tuple(self.label(w) for w in unit.inputs))
            found[unit] = self._made[unit] = self._id((*made, self._inside(unit)))
        return found

    def _inside(self, unit: ProtoNode) -> Hashable:
        parts = []
        for name, scopes in unit.graphs.items():
            for scope in scopes:
                held = self.forward(scope)
                outs = tuple(self.label(w) for w in scope.outputs)
                parts.append((name, len(scope.inputs), outs, tuple(sorted(held.values()))))
        return tuple(parts)

    def backward(self, scope: ProtoGraph) -> dict[ProtoNode, int]:
        """A number for each node by what becomes of its results."""
        found: dict[ProtoNode, int] = {}
        places: dict[ProtoValue, list[int]] = {}
        for n, wire in enumerate(scope.outputs):
            places.setdefault(wire, []).append(n)
        for unit in reversed(scope.units):
            made = []
            for out in unit.outputs:
                uses = out.uses if out is not None else ()
                users = sorted(self._user(scope, found, *use) for use in uses)
                made.append((tuple(users), tuple(places.get(out, ())) if out is not None else ()))
            fixed = tuple(self.label(w) if w in self.matching.contents else -2 for w in unit.inputs)
            found[unit] = self._id(("b", *self.itself(unit), fixed, tuple(made)))
            if any(users or outs for users, outs in made):
                self.used.add(unit)
        return found

    def _user(
        self, scope: ProtoGraph, found: Mapping[ProtoNode, int], unit: ProtoNode, place: int
    ) -> int:
        inside = False
        while unit.scope is not scope and unit.scope.owner is not None:
            unit, inside = unit.scope.owner, True
        mark = self.matching.marks.get(unit)
        told: Hashable = ("pair", mark) if mark is not None else found.get(unit, -1)
        return self._id(("u", told, -1 if inside else place))

    def itself(self, unit: ProtoNode) -> tuple[Hashable, ...]:
        """A node without its surroundings: the operator, the attributes, how much it makes."""
        if self.level is Level.SHAPED:
            given: Hashable = tuple(sorted(a.name for a in unit.proto.attribute))
        else:
            given = self.matching.attributes.get(unit)
            if given is None:
                given = tuple(sorted((a.name, repr(_plain(a))) for a in unit.proto.attribute))
                self.matching.attributes[unit] = given
        return (unit.key, given, len(unit.outputs))

    def local(self, unit: ProtoNode) -> Hashable:
        """A node with the constants it reads."""
        return (*self.itself(unit), tuple(
            self.label(w) if w is None or w in self.matching.contents else -2 for w in unit.inputs
        ))  # fmt: skip

    def label(self, wire: ProtoValue | None) -> int:
        """A number for a value."""
        if wire is None:
            return -1
        return self._id(self._key(wire))

    def _key(self, wire: ProtoValue) -> Hashable:
        content = self.matching.contents.get(wire)
        if content is not None:
            return ("constant", self._constant(wire, content))
        mark = self.matching.marks.get(wire)
        if mark is not None:
            return ("value", mark)
        if wire.producer is not None:
            place = wire.producer.outputs.index(wire)
            mark = self.matching.marks.get(wire.producer)
            if mark is not None:
                return ("pair", mark, place)
            return ("of", self._made.get(wire.producer, -1), place)
        if wire.input_index is not None:
            depth = wire.scope.label if wire.scope is not None else ""
            return ("input", depth, wire.input_index)
        return ("name", wire.name)

    def _constant(self, wire: ProtoValue, content: Content) -> Hashable:
        if self.level is Level.EXACT or (self.level is Level.NAMED and content.count <= _FEW):
            return content
        shape = (content.dtype, content.dims)
        if self.level is Level.NAMED and wire.name in self.matching.names:
            return (wire.name, shape)
        return shape if self.level is Level.NAMED else (content.dtype, len(content.dims))


def _plain(given: onnx.AttributeProto) -> Hashable:
    """An attribute's value; graphs are compared by what is in them."""
    kind = attribute_kind(given)
    if given.ref_attr_name:
        return ("ref", kind, given.ref_attr_name)
    if kind == _A.TENSOR:
        return of_tensor(given.t)
    if kind in (_A.GRAPH, _A.GRAPHS):
        return ("graphs",)
    if kind in (_A.FLOAT, _A.INT, _A.STRING):
        return (kind, repr(given.f), given.i, given.s)
    lists = (tuple(map(repr, given.floats)), tuple(given.ints), tuple(given.strings))
    if any(lists):
        return (kind, *lists)
    copy = onnx.AttributeProto()
    copy.CopyFrom(given)
    copy.ClearField("doc_string")
    return (kind, copy.SerializeToString(deterministic=True))


__all__ = ["Fingerprinter", "Level", "Matching"]
