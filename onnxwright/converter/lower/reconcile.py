"""One opset version for each domain: calls that mean the same stay, others are converted."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir.nested import all_nodes
from onnxwright.operators.versions import same_meaning
from onnxwright.opset.op import Op
from onnxwright.opset.registry import signature
from onnxwright.tracing.graph_backend import GraphBackend


def reconcile(b: GraphBackend, nodes: list[ir.Node], version: int | None) -> dict[str, int]:
    """The version of each domain a function imports; nodes of other versions are brought to it.

    Args:
        b: the backend that built the nodes; it knows which op each came from.
        nodes: the nodes of the function, changed in place where one must be converted.
        version: the ai.onnx version asked for, if any.

    Raises:
        ScriptValueError: a node's operator differs between the versions and cannot be converted
            (OW536).
    """
    everything = list(all_nodes(nodes))
    alive = set(map(id, everything))
    used = [(n, op, span) for n, op, span in b.recorder.uses if id(n) in alive]
    imports: dict[str, int] = {}
    for _, op, _ in used:
        imports[op.domain] = max(imports.get(op.domain, 0), op.version)
    for node in everything:
        domain = node.domain
        if domain not in imports and domain in b.recorder.opsets:
            imports[domain] = max(b.recorder.opsets[domain])
    if version is not None and "" in imports:
        imports[""] = version
    imports.setdefault("", version or b.opset.version)
    for node, op, span in used:
        target = imports[op.domain]
        if op.signature is None or op.version == target:
            continue
        there = signature(op.domain, op.name, target)
        if there is not None and same_meaning(
            op.signature, there, node.attributes, len(node.outputs)
        ):
            continue
        _convert(b, nodes, node, op, target, span)
    return imports


def _convert(
    b: GraphBackend,
    nodes: list[ir.Node],
    node: ir.Node,
    op: Op,
    target: int,
    span: Span | None,
) -> None:
    """Replace one node by nodes of another version that do the same."""

    def not_convertible(reason: str) -> NoReturn:
        fail(
            messages.OpsetsDisagree(
                operation=op.name,
                domain=op.domain or "ai.onnx",
                version=op.version,
                target=target,
                reason=reason.replace("{", "(").replace("}", ")"),
                span=span,
            )
        )

    if op.domain != "":
        not_convertible("only operators of ai.onnx are converted")
    if any(not a.is_ref() and a.type is ir.AttributeType.GRAPH for a in node.attributes.values()):
        not_convertible("operators with subgraphs are not converted")
    inputs = [None if v is None else (b.recorder.type_of(v), _array(b, v)) for v in node.inputs]
    attributes = list(node.attributes.values())
    count = len(node.outputs)
    made = b.convert_call(op.name, inputs, attributes, count, op.version, target)
    if isinstance(made, str):
        not_convertible(made)
    _splice(b, nodes, node, made)


def _array(b: GraphBackend, value: ir.Value) -> np.ndarray[Any, Any] | None:
    """The array a value is known to hold; strings stay values."""
    known = b.recorder.const_value(value)
    return None if known is None or known.dtype == object else known


def _splice(b: GraphBackend, nodes: list[ir.Node], old: ir.Node, graph: ir.Graph) -> None:
    """Put the nodes of a converted call where the node was."""
    outside = {f"i{n}": v for n, v in enumerate(old.inputs) if v is not None}
    replaced = {v: outside[v.name or ""] for v in graph.inputs}
    made: list[ir.Node] = []
    for value in graph.initializers.values():
        if value.name in outside:
            replaced[value] = outside[value.name]
            continue
        attr = ir.Attr("value", ir.AttributeType.TENSOR, value.const_value)
        constant = ir.Node("", "Constant", [], [attr], num_outputs=1)
        constant.outputs[0].name = b.recorder.names.unique("const")
        replaced[value] = constant.outputs[0]
        made.append(constant)
    final = list(graph.outputs)
    graph.outputs.clear()
    for node in list(graph):
        graph.remove(node)
        for n, read in enumerate(node.inputs):
            if read in replaced:
                node.replace_input_with(n, replaced[read])
        for value in node.outputs:
            if value not in final:
                value.name = b.recorder.names.unique("converted")
        made.append(node)
    for n, value in enumerate(final):
        if value in replaced:  # the call is an input as it is
            copy = ir.Node("", "Identity", [replaced[value]], num_outputs=1)
            final[n] = copy.outputs[0]
            made.append(copy)
    for node in made:
        node.metadata_props.update(old.metadata_props)
    for before, after in zip(old.outputs, final, strict=False):
        for user, n in list(before.uses()):
            user.replace_input_with(n, after)
        after.name, after.type, after.shape = before.name, before.type, before.shape
        b.recorder.set_type(after, b.recorder.type_of(before))
        b.replaced[before] = after
    owner = old.graph
    if owner is not None:
        results = owner.outputs
        results[:] = [b.replaced.get(v, v) for v in results]
        owner.insert_before(old, made)
        owner.remove(old, safe=False)
    else:
        place = nodes.index(old)
        nodes[place : place + 1] = made
