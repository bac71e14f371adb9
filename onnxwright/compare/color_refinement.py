"""Color refinement (Weisfeiler-Leman): nodes in equal surroundings get equal colors."""

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
        features: what may be looked at.

    Returns:
        Node or value -> color; equal refine_colors across the two graphs may be matched.
    """
    refiner = _Refiner(features)
    for graph in (a, b):
        refiner.label(graph)
    classes = 0
    for _ in range(_ROUNDS):
        for graph in (a, b):
            refiner.forward(graph)
        for graph in (a, b):
            refiner.backward(graph)
        count = len(set(refiner.color.values()))
        if count == classes:
            break
        classes = count
    return refiner.color


class _Refiner:
    def __init__(self, features: Features) -> None:
        self.features = features
        self.color: dict[Any, int] = {}
        self._ids: dict[Any, int] = {}

    def _id(self, key: Any) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def label(self, graph: ProtoGraph) -> None:
        """Colors from what things are by themselves."""
        top = graph.owner is None
        places: dict[ProtoValue, list[int]] = {}
        for n, value in enumerate(graph.outputs):
            places.setdefault(value, []).append(n)
        for name, value in graph.values.items():
            named = value.graph is None or (top and value.tensor is None and value.producer is None)
            named = named and (value.graph is None or self.features.io_names)
            named = named or (value.tensor is not None and self.features.initializer_names)
            outs = tuple(places.get(value, ()))
            self.color[value] = self._id(
                ("value", name if named else "", value.input_index, outs, value.tensor is not None)
            )
        for node in graph.nodes:
            colors: list[Any] = []
            if self.features.attributes:
                colors = sorted((x.name, repr(_plain(x))) for x in node.proto.attribute)
            self.color[node] = self._id(("node", node.key, tuple(colors), len(node.outputs)))
            for graphs in node.subgraphs.values():
                for inner in graphs:
                    self.label(inner)

    def _unordered(self, node: ProtoNode) -> bool:
        return node.key[0] == "" and node.key[1] in self.features.symmetric

    def forward(self, graph: ProtoGraph) -> None:
        """Nodes take in what they read, and give it to what they make."""
        color = self.color
        if graph.owner is not None:
            above = color.get(graph.owner, 0)
            for value in graph.inputs:
                color[value] = self._id(("in", color[value], above, graph.label))
        for node in graph.nodes:
            inner: list[Any] = []
            for name, graphs in node.subgraphs.items():
                for body in graphs:
                    self.forward(body)
                    inner.append((name, tuple(self._of(w) for w in body.outputs),
                                  tuple(sorted(color[u] for u in body.nodes))))  # fmt: skip
            read = [self._of(w) if w is not None else -1 for w in node.inputs]
            if self._unordered(node):
                read.sort()
            color[node] = self._id(("f", color[node], tuple(read), tuple(inner)))
            for n, output in enumerate(node.outputs):
                if output is not None:
                    color[output] = self._id(("o", color[node], n, color[output]))

    def backward(self, graph: ProtoGraph) -> None:
        """Values take in who reads them, and give it to the node that makes them."""
        color = self.color
        for node in reversed(graph.nodes):
            if graph.owner is not None:
                color[node] = self._id(("w", color[node], color.get(graph.owner, 0)))
            for value in node.outputs:
                if value is not None:
                    self._read(value)
            key = tuple(color[w] if w is not None else -1 for w in node.outputs)
            color[node] = self._id(("b", color[node], key))
            for graphs in node.subgraphs.values():
                for body in graphs:
                    self.backward(body)
        for value in graph.values.values():
            if value.producer is None:
                self._read(value)

    def _of(self, value: ProtoValue) -> int:
        """The color of a value; one of a graph that is not looked at goes by its name."""
        color = self.color.get(value)
        return color if color is not None else self._id(("outside", value.name))

    def _read(self, value: ProtoValue) -> None:
        users = [
            (self.color.get(user, 0), -1 if self._unordered(user) else place)
            for user, place in value.uses
        ]
        self.color[value] = self._id(("u", self.color[value], tuple(sorted(users))))


_NO_NUMBERS = (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING)


def _plain(attr: onnx.AttributeProto) -> Any:
    """The value of a small attribute; graphs and large tensors are compared when matching."""
    kind = attribute_kind(attr)
    if attr.ref_attr_name:
        return ("ref", kind, attr.ref_attr_name)
    if kind == onnx.AttributeProto.TENSOR:
        t = attr.t
        held: Any = None
        if t.data_type not in _NO_NUMBERS and sum(t.dims) <= _SMALL:
            if t.data_location != onnx.TensorProto.EXTERNAL:
                held = numpy_helper.to_array(t).tobytes()[:_SMALL]
        return ("tensor", t.data_type, tuple(t.dims), held)
    return (
        "plain", kind, repr(attr.f), attr.i, attr.s, tuple(map(repr, attr.floats)),
        tuple(attr.ints), tuple(attr.strings),
    )  # fmt: skip
