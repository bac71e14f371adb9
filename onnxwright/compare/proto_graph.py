"""A protobuf graph as linked values and nodes, subgraphs included: what two graphs are compared by.

Names are resolved to `ProtoValue` objects by ONNX's scoping; what remains of a name is a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Union

import onnx

Body = Union[onnx.GraphProto, onnx.FunctionProto]


@dataclass(eq=False, repr=False)
class ProtoValue:
    """One value: a graph input, an initializer, an output of a node, or a name of nothing.

    Attributes:
        name: its name.
        scope: the graph that defines it; None where nothing does.
        producer: the node that makes it, if one does.
        input_index: its place among the graph's inputs, if it is one.
        tensor: its initializer, dense or sparse, if it has one.
        info: what the graph says of its type.
        uses: the nodes that read it, with the place.
    """

    name: str
    scope: ProtoGraph | None = None
    producer: ProtoNode | None = None
    input_index: int | None = None
    tensor: onnx.TensorProto | onnx.SparseTensorProto | None = None
    info: onnx.ValueInfoProto | None = None
    uses: list[tuple[ProtoNode, int]] = field(default_factory=list)
    is_output: bool = False


@dataclass(eq=False, repr=False)
class ProtoNode:
    """One node: its proto, what it reads and makes (None for an absent one), its subgraphs."""

    proto: onnx.NodeProto
    scope: ProtoGraph
    number: int
    inputs: list[ProtoValue | None] = field(default_factory=list)
    outputs: list[ProtoValue | None] = field(default_factory=list)
    graphs: dict[str, list[ProtoGraph]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Domain (the default one is empty), name and overload of the operator."""
        return normal_domain(self.proto.domain), self.proto.op_type, self.proto.overload


@dataclass(eq=False, repr=False)
class ProtoGraph:
    """One graph or function body."""

    proto: Body
    outer: ProtoGraph | None
    owner: ProtoNode | None
    label: str
    inputs: list[ProtoValue] = field(default_factory=list)
    outputs: list[ProtoValue] = field(default_factory=list)
    units: list[ProtoNode] = field(default_factory=list)
    wires: dict[str, ProtoValue] = field(default_factory=dict)
    initializers: list[ProtoValue] = field(default_factory=list)

    def find(self, name: str) -> ProtoValue | None:
        """The value a name means here."""
        scope: ProtoGraph | None = self
        while scope is not None:
            found = scope.wires.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def all_units(self) -> Iterator[ProtoNode]:
        """Every node, those of subgraphs before the node that has them."""
        for unit in self.units:
            for scopes in unit.graphs.values():
                for scope in scopes:
                    yield from scope.all_units()
            yield unit

    def all_scopes(self) -> Iterator[ProtoGraph]:
        """This graph and every subgraph."""
        yield self
        for unit in self.units:
            for scopes in unit.graphs.values():
                for scope in scopes:
                    yield from scope.all_scopes()


def normal_domain(domain: str) -> str:
    """The domain's one name: `ai.onnx` is the default domain."""
    return "" if domain == "ai.onnx" else domain


def trimmed(names: Sequence[str]) -> list[str]:
    """Names without absent ones at the end, which say nothing."""
    last = len(names)
    while last and not names[last - 1]:
        last -= 1
    return list(names[:last])


def link_graph(
    proto: Body, outer: ProtoGraph | None = None, owner: ProtoNode | None = None, label: str = ""
) -> ProtoGraph:
    """The linked form of a graph or function.

    Args:
        proto: the graph or function.
        outer: the graph around it, if it is a subgraph.
        owner: the node it belongs to, if it is a subgraph.
        label: what messages call it.

    Returns:
        Its scope; a name that nothing defines becomes a `ProtoValue` without a scope.

    Example:
        >>> from onnx import parser
        >>> scope = link_graph(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
        >>> scope.outputs[0].producer.key, scope.inputs[0].uses[0][1]
        (('', 'Relu', ''), 0)
    """
    scope = ProtoGraph(proto, outer, owner, label or f"graph `{proto.name}`")
    if isinstance(proto, onnx.GraphProto):
        _declare_graph(scope, proto)
    else:
        for n, name in enumerate(proto.input):
            made = scope.wires[name] = ProtoValue(name, scope, input_index=n)
            scope.inputs.append(made)
    for node in proto.node:
        for name in node.output:
            if name:  # known before it is made, whatever the order of the nodes
                scope.wires.setdefault(name, ProtoValue(name, scope))
    for number, node in enumerate(proto.node):
        _add_unit(scope, node, number)
    infos = list(proto.value_info)
    if isinstance(proto, onnx.GraphProto):
        infos += proto.output
        names = [info.name for info in proto.output]
    else:
        names = list(proto.output)
    for info in infos:
        found = scope.wires.get(info.name)
        if found is not None and (found.info is None or found.input_index is None):
            found.info = info
    for name in names:
        out = _resolve(scope, name)
        out.is_output = True
        scope.outputs.append(out)
    return scope


def _declare_graph(scope: ProtoGraph, graph: onnx.GraphProto) -> None:
    for n, info in enumerate(graph.input):
        made = scope.wires[info.name] = ProtoValue(info.name, scope, input_index=n, info=info)
        scope.inputs.append(made)
    tensors: list[tuple[str, onnx.TensorProto | onnx.SparseTensorProto]] = []
    tensors += [(t.name, t) for t in graph.initializer]
    tensors += [(t.values.name, t) for t in graph.sparse_initializer]
    for name, tensor in tensors:
        made = scope.wires.setdefault(name, ProtoValue(name, scope))
        made.tensor = tensor
        scope.initializers.append(made)


def _add_unit(scope: ProtoGraph, node: onnx.NodeProto, number: int) -> None:
    unit = ProtoNode(node, scope, number)
    for n, name in enumerate(trimmed(node.input)):
        value = _resolve(scope, name) if name else None
        unit.inputs.append(value)
        if value is not None:
            value.uses.append((unit, n))
    for attr in node.attribute:
        graphs = [attr.g] if attr.type == onnx.AttributeProto.GRAPH else list(attr.graphs)
        if attr.ref_attr_name or not graphs:
            continue
        unit.graphs[attr.name] = [
            link_graph(g, scope, unit, f"`{attr.name}` of {node.op_type}") for g in graphs
        ]
    for name in trimmed(node.output):
        made = None
        if name:
            made = scope.wires.get(name)
            if made is None or made.producer is not None or made.scope is None:
                made = ProtoValue(name, scope)
                scope.wires[name] = made
            made.producer = unit
        unit.outputs.append(made)
    scope.units.append(unit)


def _resolve(scope: ProtoGraph, name: str) -> ProtoValue:
    found = scope.find(name)
    if found is None:
        root = scope
        while root.outer is not None:
            root = root.outer
        found = root.wires[name] = ProtoValue(name)
    return found


__all__ = [
    "Body",
    "ProtoGraph",
    "ProtoNode",
    "ProtoValue",
    "link_graph",
    "normal_domain",
    "trimmed",
]
