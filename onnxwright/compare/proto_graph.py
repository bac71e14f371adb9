"""A protobuf graph as linked values and nodes, subgraphs included: what two graphs are compared by.

Names are resolved to `ProtoValue` objects by ONNX's scoping; what remains of a name is a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Union

import onnx

Body = Union[onnx.GraphProto, onnx.FunctionProto]


@dataclass(eq=False, repr=False, slots=True)
class ProtoValue:
    """One value: a graph input, an initializer, an output of a node, or a name of nothing.

    Attributes:
        name: its name.
        graph: the graph that defines it; None where nothing does.
        producer: the node that makes it, if one does.
        input_index: its place among the graph's inputs, if it is one.
        tensor: its initializer, dense or sparse, if it has one.
        info: what the graph says of its type.
        uses: the nodes that read it, with the place.
    """

    name: str
    graph: ProtoGraph | None = None
    producer: ProtoNode | None = None
    input_index: int | None = None
    tensor: onnx.TensorProto | onnx.SparseTensorProto | None = None
    info: onnx.ValueInfoProto | None = None
    uses: list[tuple[ProtoNode, int]] = field(default_factory=list)
    is_output: bool = False


@dataclass(eq=False, repr=False, slots=True)
class ProtoNode:
    """One node: its proto, what it reads and makes (None for an absent one), its subgraphs.

    Attributes:
        key: domain (the default one is empty), name and overload of the operator.
    """

    proto: onnx.NodeProto
    graph: ProtoGraph
    number: int
    inputs: list[ProtoValue | None] = field(default_factory=list)
    outputs: list[ProtoValue | None] = field(default_factory=list)
    subgraphs: dict[str, list[ProtoGraph]] = field(default_factory=dict)
    key: tuple[str, str, str] = field(init=False)

    def __post_init__(self) -> None:
        p = self.proto
        self.key = normal_domain(p.domain), p.op_type, p.overload


@dataclass(eq=False, repr=False, slots=True)
class ProtoGraph:
    """One graph or function body."""

    proto: Body
    outer: ProtoGraph | None
    owner: ProtoNode | None
    label: str
    inputs: list[ProtoValue] = field(default_factory=list)
    outputs: list[ProtoValue] = field(default_factory=list)
    nodes: list[ProtoNode] = field(default_factory=list)
    values: dict[str, ProtoValue] = field(default_factory=dict)
    initializers: list[ProtoValue] = field(default_factory=list)

    def find(self, name: str) -> ProtoValue | None:
        """The value a name means here."""
        graph: ProtoGraph | None = self
        while graph is not None:
            entry = graph.values.get(name)
            if entry is not None:
                return entry
            graph = graph.outer
        return None

    def all_nodes(self) -> Iterator[ProtoNode]:
        """Every node, those of subgraphs before the node that has them."""
        for node in self.nodes:
            for graphs in node.subgraphs.values():
                for graph in graphs:
                    yield from graph.all_nodes()
            yield node

    def all_graphs(self) -> Iterator[ProtoGraph]:
        """This graph and every subgraph."""
        yield self
        for node in self.nodes:
            for graphs in node.subgraphs.values():
                for graph in graphs:
                    yield from graph.all_graphs()


def normal_domain(domain: str) -> str:
    """The domain's one name: `ai.onnx` is the default domain."""
    return "" if domain == "ai.onnx" else domain


def trimmed(names: Sequence[str]) -> list[str]:
    """Names without absent ones at the end, which say nothing."""
    kept = list(names)
    while kept and not kept[-1]:
        kept.pop()
    return kept


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
        Its linked form; a name that nothing defines becomes a `ProtoValue` without a graph.

    Example:
        >>> from onnx import parser
        >>> graph = link_graph(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
        >>> graph.outputs[0].producer.key, graph.inputs[0].uses[0][1]
        (('', 'Relu', ''), 0)
    """
    graph = ProtoGraph(proto, outer, owner, label or f"graph `{proto.name}`")
    if isinstance(proto, onnx.GraphProto):
        _declare_graph(graph, proto)
    else:
        for n, name in enumerate(proto.input):
            entry = graph.values[name] = ProtoValue(name, graph, input_index=n)
            graph.inputs.append(entry)
    for node in proto.node:
        for name in node.output:
            if name:  # known before it is made, whatever the order of the nodes
                graph.values.setdefault(name, ProtoValue(name, graph))
    for number, node in enumerate(proto.node):
        _add_node(graph, node, number)
    infos = list(proto.value_info)
    if isinstance(proto, onnx.GraphProto):
        infos += proto.output
        names = [info.name for info in proto.output]
    else:
        names = list(proto.output)
    for info in infos:
        value = graph.values.get(info.name)
        if value is not None and (value.info is None or value.input_index is None):
            value.info = info
    for name in names:
        out = _resolve(graph, name)
        out.is_output = True
        graph.outputs.append(out)
    return graph


def _declare_graph(graph: ProtoGraph, proto: onnx.GraphProto) -> None:
    for n, info in enumerate(proto.input):
        entry = graph.values[info.name] = ProtoValue(info.name, graph, input_index=n, info=info)
        graph.inputs.append(entry)
    tensors: list[tuple[str, onnx.TensorProto | onnx.SparseTensorProto]] = []
    tensors += [(t.name, t) for t in proto.initializer]
    tensors += [(t.values.name, t) for t in proto.sparse_initializer]
    for name, tensor in tensors:
        entry = graph.values.setdefault(name, ProtoValue(name, graph))
        entry.tensor = tensor
        graph.initializers.append(entry)


def _add_node(graph: ProtoGraph, proto: onnx.NodeProto, number: int) -> None:
    node = ProtoNode(proto, graph, number)
    for n, name in enumerate(trimmed(proto.input)):
        value = _resolve(graph, name) if name else None
        node.inputs.append(value)
        if value is not None:
            value.uses.append((node, n))
    for attr in proto.attribute:
        graphs = [attr.g] if attr.type == onnx.AttributeProto.GRAPH else list(attr.graphs)
        if attr.ref_attr_name or not graphs:
            continue
        node.subgraphs[attr.name] = [
            link_graph(g, graph, node, f"`{attr.name}` of {proto.op_type}") for g in graphs
        ]
    for name in trimmed(proto.output):
        entry = None
        if name:
            entry = graph.values.get(name)
            if entry is None or entry.producer is not None or entry.graph is None:
                entry = ProtoValue(name, graph)
                graph.values[name] = entry
            entry.producer = node
        node.outputs.append(entry)
    graph.nodes.append(node)


def _resolve(graph: ProtoGraph, name: str) -> ProtoValue:
    value = graph.find(name)
    if value is None:
        root = graph
        while root.outer is not None:
            root = root.outer
        value = root.values[name] = ProtoValue(name)
    return value
