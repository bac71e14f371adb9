"""Renames the values of a model after the matching values of another."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from onnxwright.compare.graph_diff import matched
from onnxwright.compare.proto_graph import link_graph
from onnxwright.ir.proto_graphs import subgraphs_of

_MOST = 1 << 30  # bytes of external data that are read for it


def with_names_of(
    a: onnx.ModelProto, b: onnx.ModelProto, folders: tuple[str, str] = (".", ".")
) -> onnx.ModelProto:
    """The second model with names of the first, so that values can be paired by name.

    A value of the main graph without a match gets a name that the first does not have.

    Args:
        folders: where the external data of each is.

    Returns:
        A copy of `b`; its inputs and outputs keep their names.  External data is
        read into it where it is not much; `b` itself where it is.
    """
    left, right = link_graph(a.graph), link_graph(b.graph)
    pairs = matched(left, right, folders)
    taken = {name for graph in left.all_graphs() for name in graph.values}
    kept = {v.name for v in (*b.graph.output, *b.graph.input)}
    names: dict[str, str] = {}
    for node in left.nodes:
        partner = pairs.get(node)
        for one, other in zip(node.outputs, partner.outputs if partner else (), strict=False):
            if one is not None and other is not None and not kept & {one.name, other.name}:
                names[other.name] = one.name
    used = set(names.values()) | kept
    others = [value for node in right.nodes for value in node.outputs]
    for value in (*others, *right.initializers):
        if value is not None and value.name not in names and value.name not in kept:
            name = value.name
            while name in taken or name in used:
                name = f"{name}'"
            used.add(name)
            names[value.name] = name
    copy = onnx.ModelProto()
    copy.CopyFrom(b)
    if any(t.data_location == onnx.TensorProto.EXTERNAL for t in copy.graph.initializer):
        if _outside(copy) > _MOST:
            return b
        onnx.load_external_data_for_model(copy, folders[1])
    del copy.graph.value_info[:]
    _rename(copy.graph, names)
    return copy


def _outside(model: onnx.ModelProto) -> int:
    total = 0
    for tensor in model.graph.initializer:
        entries = {e.key: e.value for e in tensor.external_data}
        total += int(entries.get("length", 0) or 0)
    return total


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for tensor in graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = names.get(sparse.values.name, sparse.values.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in subgraphs_of(node):
            if len(inner.node) or len(inner.output):
                _inner(inner, names)


def _inner(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """A subgraph: what it defines itself keeps its name."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    seen = {old: new for old, new in names.items() if old not in own}
    _rename(graph, seen)
    for output in graph.output:
        output.name = seen.get(output.name, output.name)
