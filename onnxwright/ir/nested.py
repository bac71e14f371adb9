"""The graphs inside nodes, nodes at any depth, and names of the nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx_ir as ir

_GRAPH = ir.AttributeType.GRAPH
_GRAPHS = ir.AttributeType.GRAPHS


def subgraphs(node: ir.Node) -> list[ir.Graph]:
    """The graphs in the attributes of a node."""
    # Most nodes have few attributes or none: `data` is the dict in the `UserDict`.
    held = node.attributes.data
    graphs: list[ir.Graph] = []
    if held:
        for attr in held.values():
            kind = attr.type
            if kind is _GRAPH and not attr.is_ref():
                graphs.append(attr.as_graph())
            elif kind is _GRAPHS and not attr.is_ref():
                graphs.extend(attr.as_graphs())
    return graphs


def all_nodes(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Nodes and, after each, those of its subgraphs, at any depth."""
    stack = [iter(nodes)]
    while stack:
        for node in stack[-1]:
            yield node
            inner = node.attributes.data and subgraphs(node)
            if inner:
                stack += [iter(graph) for graph in reversed(inner)]
                break
        else:
            stack.pop()


def all_graphs(graph: ir.Graph) -> Iterator[ir.Graph]:
    """A graph and the graphs inside its nodes, at any depth."""
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        yield one
        inner: list[ir.Graph] = []
        for node in one:
            if node.attributes.data:
                inner += subgraphs(node)
        waiting += reversed(inner)


def name_nodes(nodes: Iterable[ir.Node]) -> None:
    """Give nodes that will be one graph names of their own; runtimes refuse a name that is twice.

    Nodes without a name get those that a graph of onnx_ir would give them, unless another node has
    the name; of nodes with the same name, the first one keeps it.

    Example:
        >>> x = ir.Value(name="x")
        >>> nodes = [ir.Node("", "Relu", [x]), ir.Node("", "Abs", [x], name="node_Relu_0")]
        >>> name_nodes(nodes)
        >>> [n.name for n in nodes]
        ['node_Relu_1', 'node_Relu_0']
    """
    taken: set[str] = set()
    unnamed: list[ir.Node] = []
    for node in nodes:
        if node.name is None or (node.name and node.name in taken):
            unnamed.append(node)
        else:
            taken.add(node.name)
    if not taken:
        return
    count = 0
    for node in unnamed:
        while (name := f"node_{node.op_type}_{count}") in taken:
            count += 1
        count += 1
        node.name = name
