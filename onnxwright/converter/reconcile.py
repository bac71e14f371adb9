"""One opset version for each domain: equal schemas merge silently, others are converted."""

from __future__ import annotations

from typing import Any, NoReturn

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir.adapters import type_proto
from onnxwright.ir.nested import all_nodes
from onnxwright.operators.versions import same_meaning
from onnxwright.opset.op import Op
from onnxwright.opset.registry import signature
from onnxwright.semantics.graph_backend import GraphBackend
from onnxwright.types.kinds import TensorType


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
    b: GraphBackend, nodes: list[ir.Node], node: ir.Node, op: Op, target: int, span: Span | None
) -> None:
    """Replace one node by what onnx's version converter makes of it."""

    def refuse(reason: str) -> NoReturn:
        fail(
            messages.OpsetsDisagree(
                operation=op.name,
                domain=op.domain or "ai.onnx",
                version=op.version,
                target=target,
                reason=reason,
                span=span,
            )
        )

    if op.domain != "" or any(a.is_ref() for a in node.attributes.values()):
        refuse("it cannot be converted here")
    if any(a.type is ir.AttributeType.GRAPH for a in node.attributes.values()):
        refuse("operators with subgraphs cannot be converted here")
    model = _one_node_model(b, node, op)
    if model is None:
        refuse("its input types are not known")
    try:
        made = onnx.version_converter.convert_version(model, target)
    except Exception as error:  # noqa: BLE001 - whatever the converter says
        text = str(error).splitlines()[0].rsplit("failed: ", 1)[-1]
        refuse(text.replace("{", "(").replace("}", ")"))
    graph: Any = ir.from_proto(made.graph)
    _splice(b, nodes, node, graph)


def _one_node_model(b: GraphBackend, node: ir.Node, op: Op) -> onnx.ModelProto | None:
    proto = ir.to_proto(node)
    inputs, initializers = [], []
    for value in dict.fromkeys(v for v in node.inputs if v is not None):
        kind = b.recorder.type_of(value)
        known = b.recorder.const_value(value)
        if known is not None and known.dtype != object:
            initializers.append(onnx.numpy_helper.from_array(known, value.name))
            continue
        if not isinstance(kind, TensorType) or kind.dtype is None:
            return None
        inputs.append(onnx.helper.make_value_info(value.name or "", type_proto(kind)))
    outputs = [
        onnx.helper.make_value_info(v.name or "", type_proto(b.recorder.type_of(v)))
        for v in node.outputs
    ]
    graph = onnx.helper.make_graph([proto], "one", inputs, outputs, initializers)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", op.version)])


def _splice(b: GraphBackend, nodes: list[ir.Node], old: ir.Node, graph: ir.Graph) -> None:
    """Put the nodes of a converted one-node graph where the node stood."""
    outside = {v.name: v for v in old.inputs if v is not None}
    replaced: dict[ir.Value, ir.Value] = {}
    for value in (*graph.inputs, *graph.initializers.values()):
        if value.name in outside:
            replaced[value] = outside[value.name]
    initializers = [v for v in graph.initializers.values() if v not in replaced]
    made: list[ir.Node] = []
    for value in initializers:
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
        node.metadata_props.update(old.metadata_props)
        made.append(node)
    for before, after in zip(old.outputs, final, strict=False):
        for user, n in list(before.uses()):
            user.replace_input_with(n, after)
        after.name, after.type, after.shape = before.name, before.type, before.shape
        b.recorder.set_type(after, b.recorder.type_of(before))
        b.replaced[before] = after
    owner = old.graph
    if owner is not None:
        owner.insert_before(old, made)
        owner.remove(old, safe=False)
    else:
        place = nodes.index(old)
        nodes[place : place + 1] = made
