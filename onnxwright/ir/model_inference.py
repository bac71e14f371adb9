"""Types of all values of a model by ONNX's inference, also for models that were not checked."""

from __future__ import annotations

import onnx

from onnxwright.ir.proto_graphs import nodes_of, nodes_of_model
from onnxwright.ir.validation.nodes import is_sound, versions_of
from onnxwright.ir.vector_lengths import follows_too_much
from onnxwright.operators import facts

_HIDDEN = "onnxwright.hidden."
"""What the domain of a node begins with while inference is not asked about the node."""
_INVALID = f"{_HIDDEN}invalid."
"""The same for a node that inference is never asked about."""


def infer_model(model: onnx.ModelProto, *, data_prop: bool = False) -> onnx.ModelProto | None:
    """A model with the types that ONNX infers.

    Inference of some operators reads the type of an input that has none, or an input that is not
    there, which ends the process.  It is asked about them only where the types of their inputs are
    known, and never about nodes that do not keep what their schema promises.

    Args:
        model: the model; it stays as it is.
        data_prop: whether elements of vectors are followed, too, where they are not too many.

    Returns:
        A copy with types, None where inference fails.

    Example:
        >>> from onnx import parser
        >>> text = '''<ir_version: 10, opset_import: ["" : 20, "my" : 1]>
        ...     g (float[2, 3] x) => (y) { a = EyeLike(x) b = my.f(x) y = EyeLike(b) }'''
        >>> [info.name for info in infer_model(parser.parse_model(text)).graph.value_info]
        ['a']
    """
    data_prop = data_prop and not follows_too_much(model)
    invalid = _invalid(model)
    if not invalid and not any(_reads_types(node) for node in nodes_of_model(model)):
        return _inferred(model, data_prop)
    proto = onnx.ModelProto()
    proto.CopyFrom(model)
    _hide(proto, invalid)
    inferred = _inferred(proto, data_prop)
    while inferred is not None and _show(proto.graph, inferred.graph, frozenset()):
        inferred = _inferred(proto, data_prop)
    if inferred is not None:
        for node in nodes_of_model(inferred):
            node.domain = node.domain.removeprefix(_INVALID).removeprefix(_HIDDEN)
        for owner in (inferred, *inferred.functions):
            kept = [o for o in owner.opset_import if not o.domain.startswith(_HIDDEN)]
            del owner.opset_import[:]
            owner.opset_import.extend(kept)
    return inferred


def _inferred(model: onnx.ModelProto, data_prop: bool) -> onnx.ModelProto | None:
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)
    except Exception:  # noqa: BLE001 - whatever inference raises, types are not known
        return None


def _reads_types(node: onnx.NodeProto) -> bool:
    return facts(node.op_type, node.domain).needs_input_types


def _invalid(model: onnx.ModelProto) -> set[int]:
    """The places, among all nodes, of those that do not keep what their schema promises."""
    functions = {(f.domain, f.name, f.overload) for f in model.functions}
    invalid: set[int] = set()
    place = 0
    for owner in (model, *model.functions):
        versions = versions_of(owner)
        for node in nodes_of(owner.graph.node if owner is model else owner.node):
            if (node.domain, node.op_type, node.overload) not in functions:
                if not is_sound(node, versions):
                    invalid.add(place)
            place += 1
    return invalid


def _hide(model: onnx.ModelProto, invalid: set[int]) -> None:
    """Give nodes that inference may not be asked about a domain that it does not know."""
    domains: dict[str, None] = {}
    for place, node in enumerate(nodes_of_model(model)):
        if place in invalid or _reads_types(node):
            node.domain = (_INVALID if place in invalid else _HIDDEN) + node.domain
            domains[node.domain] = None
    for owner in (model, *model.functions):
        for domain in domains:
            owner.opset_import.add(domain=domain, version=1)


def _show(
    graph_to_show: onnx.GraphProto, inferred_graph: onnx.GraphProto, around: frozenset[str]
) -> bool:
    """Give nodes whose inputs have types now their domains again; whether there was one."""
    infos = (*inferred_graph.input, *inferred_graph.value_info, *inferred_graph.output)
    typed = {i.name for i in infos if i.type.WhichOneof("value") is not None}
    typed |= {tensor.name for tensor in inferred_graph.initializer}
    typed |= {tensor.values.name for tensor in inferred_graph.sparse_initializer}
    # A value of this graph without a type hides one of the graph around it.
    inside = {i.name for i in inferred_graph.input} | {
        name for n in inferred_graph.node for name in n.output
    }
    shown = typed | (around - inside)
    changed = False
    for node, inferred in zip(graph_to_show.node, inferred_graph.node, strict=True):
        hidden = node.domain.startswith(_HIDDEN) and not node.domain.startswith(_INVALID)
        if hidden and node.input and shown.issuperset(node.input):
            node.domain = node.domain.removeprefix(_HIDDEN)
            changed = True
        for attr, other in zip(node.attribute, inferred.attribute, strict=True):
            pairs = zip((attr.g, *attr.graphs), (other.g, *other.graphs), strict=True)
            for graph, other_graph in pairs:
                changed |= _show(graph, other_graph, frozenset(shown))
    return changed
