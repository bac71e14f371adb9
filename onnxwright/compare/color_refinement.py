"""Colours of nodes and values: equal where nothing about the surroundings tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx
from onnx import numpy_helper

from onnxwright.compare.equality import attribute_kind
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue

_ROUNDS = 24
_SMALL = 256


@dataclass(frozen=True)
class Features:
    """What refine_colors may look at: only what is compared."""

    io_names: bool
    initializer_names: bool
    attributes: bool
    symmetric: frozenset[str]


def refine_colors(a: ProtoGraph, b: ProtoGraph, features: Features) -> dict[Any, int]:
    """A color for each node and value of two graphs, refined until no class splits.

    One round goes through a graph forwards and backwards, so a chain of any length needs one.

    Args:
        a, b: the graphs.
        features: what may be looked at.

    Returns:
        Node or value -> color; equal refine_colors across the two graphs may be matched.
    """
    refiner = _Refiner(features)
    for scope in (a, b):
        refiner.label(scope)
    classes = 0
    for _ in range(_ROUNDS):
        for scope in (a, b):
            refiner.forward(scope)
        for scope in (a, b):
            refiner.backward(scope)
        found = len(set(refiner.color.values()))
        if found == classes:
            break
        classes = found
    return refiner.color


class _Refiner:
    def __init__(self, features: Features) -> None:
        self.features = features
        self.color: dict[Any, int] = {}
        self._ids: dict[Any, int] = {}

    def _id(self, key: Any) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def label(self, scope: ProtoGraph) -> None:
        """Colours from what things are by themselves."""
        top = scope.owner is None
        places: dict[ProtoValue, list[int]] = {}
        for n, wire in enumerate(scope.outputs):
            places.setdefault(wire, []).append(n)
        for name, wire in scope.wires.items():
            named = wire.scope is None or (top and wire.tensor is None and wire.producer is None)
            named = named and (wire.scope is None or self.features.io_names)
            named = named or (wire.tensor is not None and self.features.initializer_names)
            outs = tuple(places.get(wire, ()))
            self.color[wire] = self._id(
                ("value", name if named else "", wire.input_index, outs, wire.tensor is not None)
            )
        for unit in scope.units:
            given: list[Any] = []
            if self.features.attributes:
                given = sorted((x.name, repr(_plain(x))) for x in unit.proto.attribute)
            self.color[unit] = self._id(("node", unit.key, tuple(given), len(unit.outputs)))
            for scopes in unit.graphs.values():
                for inner in scopes:
                    self.label(inner)

    def _unordered(self, unit: ProtoNode) -> bool:
        return unit.key[0] == "" and unit.key[1] in self.features.symmetric

    def forward(self, scope: ProtoGraph) -> None:
        """Nodes take in what they read, and give it to what they make."""
        color = self.color
        if scope.owner is not None:
            above = color.get(scope.owner, 0)
            for wire in scope.inputs:
                color[wire] = self._id(("in", color[wire], above, scope.label))
        for unit in scope.units:
            inner: list[Any] = []
            for name, scopes in unit.graphs.items():
                for body in scopes:
                    self.forward(body)
                    inner.append((name, tuple(self._of(w) for w in body.outputs),
                                  tuple(sorted(color[u] for u in body.units))))  # fmt: skip
            read = [self._of(w) if w is not None else -1 for w in unit.inputs]
            if self._unordered(unit):
                read.sort()
            color[unit] = self._id(("f", color[unit], tuple(read), tuple(inner)))
            for n, made in enumerate(unit.outputs):
                if made is not None:
                    color[made] = self._id(("o", color[unit], n, color[made]))

    def backward(self, scope: ProtoGraph) -> None:
        """Values take in who reads them, and give it to the node that makes them."""
        color = self.color
        for unit in reversed(scope.units):
            if scope.owner is not None:
                color[unit] = self._id(("w", color[unit], color.get(scope.owner, 0)))
            for wire in unit.outputs:
                if wire is not None:
                    self._read(wire)
            made = tuple(color[w] if w is not None else -1 for w in unit.outputs)
            color[unit] = self._id(("b", color[unit], made))
            for scopes in unit.graphs.values():
                for body in scopes:
                    self.backward(body)
        for wire in scope.wires.values():
            if wire.producer is None:
                self._read(wire)

    def _of(self, wire: ProtoValue) -> int:
        """The color of a value; one of a graph that is not looked at goes by its name."""
        found = self.color.get(wire)
        return found if found is not None else self._id(("outside", wire.name))

    def _read(self, wire: ProtoValue) -> None:
        users = [
            (self.color.get(user, 0), -1 if self._unordered(user) else place)
            for user, place in wire.uses
        ]
        self.color[wire] = self._id(("u", self.color[wire], tuple(sorted(users))))


def _plain(attr: onnx.AttributeProto) -> Any:
    """The value of a small attribute; graphs and large tensors are compared when matching."""
    kind = attribute_kind(attr)
    if attr.ref_attr_name:
        return ("ref", kind, attr.ref_attr_name)
    if kind == onnx.AttributeProto.TENSOR:
        t = attr.t
        held: Any = None
        if t.data_type != onnx.TensorProto.STRING and sum(t.dims) <= _SMALL:
            if t.data_location != onnx.TensorProto.EXTERNAL:
                held = numpy_helper.to_array(t).tobytes()[:_SMALL]
        return ("tensor", t.data_type, tuple(t.dims), held)
    return (
        "plain", kind, repr(attr.f), attr.i, attr.s, tuple(map(repr, attr.floats)),
        tuple(attr.ints), tuple(attr.strings),
    )  # fmt: skip


__all__ = ["Features", "refine_colors"]
