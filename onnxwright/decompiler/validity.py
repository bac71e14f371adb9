"""Models that contradict themselves: what is wrong is told before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx

from onnxwright.types.dtypes import DType

_GRAPH, _GRAPHS = onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS
_KNOWN = {int(d) for d in DType} | {0}


def problem_of(proto: onnx.ModelProto | onnx.FunctionProto) -> str | None:
    """Why a model is none, in words.

    Args:
        proto: a model or a function.

    Returns:
        The first contradiction that is found; None where there is none.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[N] x) => (float[N] y) { y = Relu(x) y = Neg(x) }"
        >>> problem_of(onnx.ModelProto(graph=parser.parse_graph(text)))
        '`y` is made twice in graph `g`'
    """
    return next(_problems(proto), None)


def _problems(proto: onnx.ModelProto | onnx.FunctionProto) -> Iterator[str]:
    functions = list(proto.functions) if isinstance(proto, onnx.ModelProto) else [proto]
    if isinstance(proto, onnx.ModelProto):
        yield from _graph(proto.graph, f"graph `{proto.graph.name}`", set())
    for function in functions:
        where = f"function `{function.name}`"
        yield from _body(list(function.input), function.node, list(function.output), where, set())
    yield from _recursion(functions)


def _graph(graph: onnx.GraphProto, where: str, outside: set[str]) -> Iterator[str]:
    held = [t.name for t in graph.initializer]
    held += [t.values.name for t in graph.sparse_initializer]
    for tensor in graph.initializer:
        yield from _tensor(tensor, where)
    inputs = [v.name for v in graph.input]
    outputs = [v.name for v in graph.output]
    yield from _body(inputs, graph.node, outputs, where, outside | set(held))


def _tensor(tensor: onnx.TensorProto, where: str) -> Iterator[str]:
    if tensor.data_type not in _KNOWN:
        yield f"`{tensor.name}` in {where} is of the unknown element type {tensor.data_type}"
    if any(d < 0 for d in tensor.dims):
        yield f"`{tensor.name}` in {where} has a negative dimension"


def _body(
    inputs: list[str],
    nodes: Sequence[onnx.NodeProto],
    outputs: list[str],
    where: str,
    outside: set[str],
) -> Iterator[str]:
    made = Counter(n for n in (*inputs, *(o for node in nodes for o in node.output)) if n)
    for name, count in made.items():
        if count > 1:
            yield f"`{name}` is made twice in {where}"
    inside = outside | set(made)
    for node in nodes:
        for name in node.input:
            if name and name not in inside:
                yield f"`{name}` is read by {node.op_type} in {where}, and nothing makes it"
        yield from _attributes(node, where, inside)
    for name in outputs:
        if name and name not in inside:
            yield f"`{name}` is an output of {where}, and nothing makes it"
    yield from _order(nodes, where)


def _attributes(node: onnx.NodeProto, where: str, inside: set[str]) -> Iterator[str]:
    for name, count in Counter(a.name for a in node.attribute).items():
        if count > 1:
            yield f"{node.op_type} in {where} has two attributes `{name}`"
    for attr in node.attribute:
        if attr.HasField("t"):
            yield from _tensor(attr.t, where)
        for graph in (attr.g, *attr.graphs) if attr.type in (_GRAPH, _GRAPHS) else ():
            yield from _graph(graph, f"graph `{graph.name}`", inside)


def _order(nodes: Sequence[onnx.NodeProto], where: str) -> Iterator[str]:
    """Whether nodes read in a circle."""
    maker = {name: n for n, node in enumerate(nodes) for name in node.output if name}
    reads = {n: {maker[i] for i in node.input if i in maker} for n, node in enumerate(nodes)}
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        names = " -> ".join(f"`{nodes[n].output[0]}`" for n in error.args[1])
        yield f"values of {where} are made of each other: {names}"


def _recursion(functions: Sequence[onnx.FunctionProto]) -> Iterator[str]:
    known = {(f.domain, f.name, f.overload): f for f in functions}
    calls = {key: {k for k in _called(f.node) if k in known} for key, f in known.items()}
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        names = " -> ".join(f"`{key[1]}`" for key in error.args[1])
        yield f"functions call each other in a circle: {names}"


def _called(nodes: Sequence[onnx.NodeProto]) -> Iterator[tuple[str, str, str]]:
    for node in nodes:
        yield node.domain, node.op_type, node.overload
        for attr in node.attribute:
            for graph in (attr.g, *attr.graphs) if attr.type in (_GRAPH, _GRAPHS) else ():
                yield from _called(graph.node)


__all__ = ["problem_of"]
