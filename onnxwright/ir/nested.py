"""The graphs inside nodes: those in attributes, and nodes at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx_ir as ir

_GRAPH = ir.AttributeType.GRAPH
_GRAPHS = ir.AttributeType.GRAPHS


def subgraphs(node: ir.Node) -> list[ir.Graph]:
    """The graphs in the attributes of a node."""
    # Most nodes have few attributes or none: `data` is the dict in the `UserDict`.
    held = node.attributes.data
    found: list[ir.Graph] = []
    if held:
        for attr in held.values():
            kind = attr.type
            if kind is _GRAPH and not attr.is_ref():
                found.append(attr.as_graph())
            elif kind is _GRAPHS and not attr.is_ref():
                found.extend(attr.as_graphs())
    return found


def all_nodes(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Nodes and, after each, those of its subgraphs, at any depth."""
    stack = [iter(nodes)]
    while stack:
        for node in stack[-1]:
            yield node
            inner = subgraphs(node)
            if inner:
                stack += [iter(graph) for graph in reversed(inner)]
                break
        else:
            stack.pop()


def all_graphs(graph: ir.Graph) -> Iterator[ir.Graph]:
    """A graph and the graphs inside its nodes, at any depth."""
    yield graph
    for node in all_nodes(graph):
        yield from subgraphs(node)
