"""The order of nodes: cycles are refused, and a model whose nodes are not sorted can be sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import onnx

from onnxwright.ir.proto_graphs import subgraphs_of
from onnxwright.ir.validation.damage import Damage, quoted


def check_order(nodes: Sequence[onnx.NodeProto], where: str, *, needed: bool = False) -> bool:
    """Refuse nodes that read each other's outputs in a cycle.

    Args:
        nodes: the nodes of a graph or function; what their subgraphs read counts as theirs.
        where: the graph or function, for the message.
        needed: whether nodes that are not sorted are a fault.

    Returns:
        Whether each node comes after those whose outputs it reads.

    Raises:
        Damage: values are computed from each other, or the order is needed.

    Source:
        The ONNX IR specification: the nodes of a graph are sorted topologically.
    """
    makers = _makers(nodes)
    number = _first_late(nodes, makers)
    if number is None:
        return True
    reads = [_read(node, makers) for node in nodes]
    try:
        TopologicalSorter(dict(enumerate(reads))).prepare()
    except CycleError as error:
        names = " -> ".join(quoted(next(iter(nodes[n].output), "")) for n in error.args[1])
        raise Damage("structure", where, f"values are computed from each other: {names}") from None
    if needed:
        last = max(reads[number])
        place = f"{where}, node {number} ({quoted(nodes[number].op_type)})"
        what = (
            f"it reads an output of node {last} ({quoted(nodes[last].op_type)}), which comes later"
        )
        raise Damage("structure", place, what, "sort the nodes topologically")
    return False


def in_order(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose nodes are sorted, those of subgraphs and functions too.

    Args:
        model: a model without cycles.

    Returns:
        The model itself where its nodes are sorted, else a copy; nodes keep their order where they
        can.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[N] x) => (float[N] y) { y = Relu(a) a = Neg(x) }"
        >>> model = onnx.helper.make_model(parser.parse_graph(text))
        >>> [node.op_type for node in in_order(model).graph.node]
        ['Neg', 'Relu']
    """
    bodies = (model.graph, *model.functions)
    if all(check_order(nodes, "") for body in bodies for nodes in _lists(body.node)):
        return model
    ordered = onnx.ModelProto()
    ordered.CopyFrom(model)
    for body in (ordered.graph, *ordered.functions):
        for nodes in _lists(body.node):
            _sort(nodes)
    return ordered


def check_sorted(model: onnx.ModelProto) -> None:
    """Refuse a model whose nodes are not sorted.

    Raises:
        Damage: a node reads what a later one makes.
    """
    for body, word in ((model.graph, "graph"), *((f, "function") for f in model.functions)):
        for nodes in _lists(body.node):
            check_order(nodes, f"{word} {quoted(body.name)}", needed=True)


def _sort(nodes: Any) -> None:
    """Sort the nodes of one list in place."""
    makers = _makers(nodes)
    order = _stable([_read(node, makers) for node in nodes])
    held = [onnx.NodeProto.FromString(nodes[n].SerializeToString()) for n in order]
    del nodes[:]
    nodes.extend(held)


def _stable(reads: Sequence[set[int]]) -> list[int]:
    """Numbers of nodes in order: each as early as it is now, after what it reads."""
    order: list[int] = []
    done: set[int] = set()
    for start in range(len(reads)):
        stack = [start]
        while stack:
            number = stack[-1]
            waiting = sorted(reads[number] - done, reverse=True)
            if waiting and number not in done:
                stack += waiting
                continue
            stack.pop()
            if number not in done:
                done.add(number)
                order.append(number)
    return order


def _makers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    """The number of the node that makes each value, by the value's name."""
    places: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in node.output:
            if name:
                places.setdefault(name, number)
    return places


def _first_late(nodes: Sequence[onnx.NodeProto], makers: dict[str, int]) -> int | None:
    """The first node that reads its own output or that of a later one; None if all are sorted."""
    for number, node in enumerate(nodes):
        for name in node.input:
            if makers.get(name, -1) >= number:
                return number
        if node.attribute:
            for graph in subgraphs_of(node):
                if any(makers.get(name, -1) >= number for name in _free(graph)):
                    return number
    return None


def _read(node: onnx.NodeProto, makers: dict[str, int]) -> set[int]:
    """The nodes whose outputs a node reads, itself or in its subgraphs."""
    places = {makers[name] for name in node.input if name in makers}
    for graph in subgraphs_of(node):
        places |= {makers[name] for name in _free(graph) if name in makers}
    return places


def _free(graph: onnx.GraphProto) -> set[str]:
    """Names that a subgraph reads and does not define."""
    read = {output.name for output in graph.output}
    own = {value.name for value in graph.input} | {held.name for held in graph.initializer}
    own |= {held.values.name for held in graph.sparse_initializer}
    for node in graph.node:
        read.update(node.input)
        own.update(node.output)
        for inner in subgraphs_of(node):
            read |= _free(inner)
    return read - own


def _lists(nodes: Any) -> Iterator[Any]:
    """A list of nodes and those of all subgraphs, the inner ones first."""
    for node in nodes:
        for graph in subgraphs_of(node):
            yield from _lists(graph.node)
    yield nodes
