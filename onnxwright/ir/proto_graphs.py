"""The graphs inside the nodes of protos, and nodes at any depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx

_A = onnx.AttributeProto
# Models older than the field do not say the type.
_GRAPHS = (_A.GRAPH, _A.GRAPHS, _A.UNDEFINED)


def subgraphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in the attributes of a node."""
    for attr in node.attribute:
        if attr.type in _GRAPHS:
            if attr.HasField("g"):
                yield attr.g
            yield from attr.graphs


def graphs_in(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    """The graphs inside nodes, at any depth: each before those inside it."""
    for node in nodes:
        for graph in subgraphs_of(node):
            yield graph
            yield from graphs_in(graph.node)


def nodes_of(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, and those of subgraphs.

    Args:
        nodes: the nodes of a graph or function.
    """
    stack = [nodes]
    while stack:
        for node in stack.pop():
            yield node
            stack += [graph.node for graph in subgraphs_of(node)]


def nodes_of_model(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of a model: of its graph, of subgraphs, of its functions."""
    yield from nodes_of(model.graph.node)
    for function in model.functions:
        yield from nodes_of(function.node)
