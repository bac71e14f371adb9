"""Nodes copied as they are, where a replay does not make a call of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import onnx_ir as ir

from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.stored import props_of
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.operators.op_call import UnknownError
from onnxwright.operators.shape_values import values_of
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.carrying import kind_of, meet
from onnxwright.tracing.constants import array_of_constant
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Shape

Env = dict[ir.Value, "GraphValue | None"]
"""The values that replace those of a source graph."""


class Copying(Protocol):
    """What copies need of a replay: see `Replay`."""

    b: GraphBackend
    imports: Mapping[str, int]
    attributes: Mapping[str, object]
    verbatim: bool
    keep_dead: bool

    def attributes_of(self, node: ir.Node, env: Env) -> dict[str, object]:
        """The attributes of a node, those of the function around it filled in."""

    def graph(self, graph: ir.Graph, env: Env) -> ir.Graph:
        """A subgraph copied."""


def copied_node(
    replay: Copying, node: ir.Node, inputs: Sequence[GraphValue | None], env: Env
) -> list[GraphValue]:
    """The results of a node copied as it is, with the types the source graph has for them."""
    b = replay.b
    attrs = [_copied_attribute(replay, a, env) for a in node.attributes.values()]
    values = b.recorder.node(
        node.domain,
        node.op_type,
        [None if v is None else v.value for v in inputs],
        attrs,
        len(node.outputs),
        overload=node.overload,
        origin=props_of(node).get(ORIGIN) or b.origin(),
        sugar=not replay.keep_dead,
    )
    version = b.opset.version if node.domain == "" else replay.imports.get(node.domain, 1)
    b.recorder.use_opset(node.domain, version, None)
    kinds, dims = _copied_types(replay, node, inputs, env)
    for n, (value, kind, old) in enumerate(zip(values, kinds, node.outputs, strict=True)):
        b.recorder.set_type(value, kind)
        adapters.set_type(value, kind)
        if not old.name:
            value.name = ""
        if n < len(dims) and dims[n] is not None:
            b.recorder.info(value).shape_value = dims[n]
    if replay.verbatim and node.op_type == "Constant" and not node.domain:
        b.recorder.info(values[0]).const_value = array_of_constant(node)
    return [b.wrap(v, k) for v, k in zip(values, kinds, strict=True)]


def _copied_types(
    replay: Copying, node: ir.Node, inputs: Sequence[GraphValue | None], env: Env
) -> tuple[list[OnnxType | None], Sequence[Shape | None]]:
    """Types and dimensions of a copied node: inferred, else as the model says."""
    written = [kind_of(v) for v in node.outputs]
    holds_graphs = any(
        a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
        for a in node.attributes.values()
    )
    if not replay.verbatim or holds_graphs:
        return written, ()
    b = replay.b
    try:
        op = Opset(node.domain, replay.imports.get(node.domain, 1))[node.op_type]
        attributes = replay.attributes_of(node, env)
        call = b.op_call(op, inputs, attributes, len(node.outputs))
        if call is None:
            return written, ()
        types = b.output_types(op, call, inputs, b.checked_attributes(op, attributes)) or []
    except (OnnxwrightError, UnknownError, AttributeError, ValueError):
        return written, ()
    kinds = [meet(a, k, trusted=False) for a, k in zip(types, written, strict=True)]
    dims = values_of(call, kinds) if node.domain == "" else None
    return kinds, dims or ()


def _copied_attribute(replay: Copying, attr: ir.Attr, env: Env) -> ir.Attr:
    if attr.is_ref():
        name = attr.ref_attr_name or ""
        value = replay.attributes.get(name)
        try:
            return attr if value is None else ir.Attr(attr.name, attr.type, value)
        except (TypeError, ValueError):
            what = f"it is {value!r}, and the function reads it as {attr.type.name}"
            raise_damage(Damage("structure", f"attribute {quoted(name)} of a call", what))
    if attr.type is ir.AttributeType.GRAPH:
        return ir.Attr(attr.name, attr.type, replay.graph(attr.as_graph(), env))
    if attr.type is ir.AttributeType.GRAPHS:
        return ir.Attr(attr.name, attr.type, [replay.graph(g, env) for g in attr.as_graphs()])
    return attr
