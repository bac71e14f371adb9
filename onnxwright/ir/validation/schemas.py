"""Nodes against the schemas of their operators: how many inputs and outputs, which attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from onnxwright.ir.proto_graphs import nodes_of, subgraphs_of
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.operators.contrib import is_of_runtime
from onnxwright.opset.registry import is_known_domain, signature

_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def check_schemas(model: onnx.ModelProto) -> None:
    """Refuse nodes of standard operators that no runtime can run.

    Args:
        model: the model, checked by `check_model`.

    Raises:
        Damage: a node has too few or too many inputs or outputs, lacks an attribute, or names an
            operator that its opset does not have; an input of a body hides a value around it.

    Source:
        ONNX IR specification, names within a graph.
    """
    functions = {(f.domain, f.name) for f in model.functions}
    versions = {o.domain: o.version for o in model.opset_import}
    where = f"graph {quoted(model.graph.name)}"
    _check_hidden(model.graph, frozenset(), where)
    _nodes(model.graph.node, versions, functions, where)
    for function in model.functions:
        if function.domain in ("", "ai.onnx"):
            where = f"function {quoted(function.name)}"
            raise Damage("structure", where, "it is in the domain of ONNX's own operators",
                         "put it into a domain of its own")  # fmt: skip
        own = {o.domain: o.version for o in function.opset_import}
        _nodes(function.node, own, functions, f"function {quoted(function.name)}")


def check_graph_parameters(model: onnx.ModelProto) -> None:
    """Refuse functions that take a graph as an attribute: onnx_ir looks for the graph in the node.

    Raises:
        Damage: a node of a function has a graph that the call gives.
    """
    for function in model.functions:
        for node in nodes_of(function.node):
            for attr in node.attribute:
                if attr.ref_attr_name and attr.type in _GRAPHS:
                    where = f"function {quoted(function.name)}, node {quoted(node.op_type)}"
                    what = f"its graph {quoted(attr.name)} is an attribute of the function"
                    advice = "inline the function first (`onnx.inliner.inline_local_functions`)"
                    raise Damage("structure", where, what, advice)


def _nodes(
    nodes: Sequence[onnx.NodeProto],
    versions: Mapping[str, int],
    functions: set[tuple[str, str]],
    where: str,
) -> None:
    for number, node in enumerate(nodes):
        try:
            if (node.domain, node.op_type) not in functions:
                _node(node, versions)
            for graph in subgraphs_of(node):
                _nodes(graph.node, versions, functions, f"graph {quoted(graph.name)}")
        except Damage as damage:
            place = f"{where}, node {number} ({quoted(node.op_type)})"
            raise damage.inside(place) from None


def _check_hidden(
    graph: onnx.GraphProto, around: frozenset[str], where: str, *, top: bool = True
) -> None:
    """Refuse inputs of bodies that have the name of a value around them."""
    names = [v.name for v in graph.input]
    for name in () if top else names:
        if name in around:
            what = f"its input {quoted(name)} has the name of a value around it"
            raise Damage("structure", where, what, "give it a name of its own")
    if not any(a.HasField("g") or a.graphs for node in graph.node for a in node.attribute):
        return
    visible = {*around, *names, *(t.name for t in graph.initializer)}
    visible.update(t.values.name for t in graph.sparse_initializer)
    for node in graph.node:
        for body in subgraphs_of(node):
            inner = f"{where}, {quoted(node.op_type)}, graph {quoted(body.name)}"
            _check_hidden(body, frozenset(visible), inner, top=False)
        visible.update(node.output)


def _node(node: onnx.NodeProto, versions: Mapping[str, int]) -> None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = versions.get(node.domain, versions.get(domain))
    if version is None:
        what = f"it is of the domain {quoted(node.domain or 'ai.onnx')}, which is not imported"
        raise Damage("structure", "", what)
    if not is_known_domain(domain):
        return
    sig = signature(domain, node.op_type, version)
    if sig is None and (domain or not is_of_runtime(node.op_type, version)):
        raise Damage("structure", "", f"version {version} of its opset has no such operator")
