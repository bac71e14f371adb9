"""What an interpreter reads of a model's protos: functions, versions, names, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import AttributeProto, helper

from onnxwright.ir.proto_graphs import subgraphs_of
from onnxwright.opset.registry import normalize_domain


def functions_of(model: Any) -> dict[tuple[str, str, str], Any]:
    """The local functions of a model.

    Returns:
        (domain, name, overload) -> FunctionProto.
    """
    return {(normalize_domain(f.domain), f.name, f.overload): f for f in model.functions}


def versions_of(model: Any) -> dict[str, int]:
    """The opset versions that a model or function imports.

    Args:
        model: the ModelProto or FunctionProto.
    """
    return {normalize_domain(o.domain): o.version for o in model.opset_import}


def free_names(graph: onnx.GraphProto) -> list[str]:
    """The names that a graph takes from the graphs around it.

    Returns:
        The names in order of first use.
    """
    names = {i.name for i in graph.input} | {i.name for i in graph.initializer}
    free: dict[str, None] = {}
    for node in graph.node:
        used = list(node.input)
        for inner in subgraphs_of(node):
            used += free_names(inner)
        for name in used:
            if name and name not in names:
                free[name] = None
        names.update(node.output)
    for output in graph.output:
        if output.name not in names:
            free[output.name] = None
    return list(free)


def used_names(node: onnx.NodeProto) -> list[str]:
    """The names that a node reads, its subgraphs included."""
    names = [name for name in node.input if name]
    for graph in subgraphs_of(node):
        names += free_names(graph)
    return names


def last_uses(nodes: Sequence[Any]) -> dict[str, int]:
    """For each name the position of the last node that reads it.

    Args:
        nodes: the NodeProtos of one graph.
    """
    return {name: n for n, node in enumerate(nodes) for name in used_names(node)}


# Types of attributes, by number, and the fields that hold their values.
_HELD = (
    (1, "f"), (2, "i"), (3, "s"), (4, "t"), (5, "g"), (6, "floats"), (7, "ints"), (8, "strings"),
    (9, "tensors"), (10, "graphs"), (11, "sparse_tensor"), (12, "sparse_tensors"), (13, "tp"),
    (14, "type_protos"),
)  # fmt: skip


def attribute_values(node: onnx.NodeProto, outer: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node as Python values.

    Args:
        outer: the attributes of the function around, for references.

    Returns:
        Name -> value; a reference to an attribute that is not given is left out.
    """
    values = {}
    for proto in node.attribute:
        if proto.ref_attr_name:
            if proto.ref_attr_name in outer:
                values[proto.name] = outer[proto.ref_attr_name]
        else:
            value = attribute_value(proto, outer)
            if value is not None:  # without a type and a value it is as if it were not given
                values[proto.name] = value
    return values


def attribute_value(proto: Any, outer: Mapping[str, Any]) -> Any:
    """An attribute as `Op.bind` normalizes it: text as str, lists as list, the rest as it is.

    Args:
        outer: the attributes of the function around.
    """
    del outer
    if proto.type == AttributeProto.UNDEFINED:  # of a model older than the field
        held = {f.name for f, _ in proto.ListFields()}
        kinds = [k for k, name in _HELD if name in held]
        if not kinds:
            return None
        proto = AttributeProto.FromString(proto.SerializeToString())
        proto.type = kinds[0]
    value: Any = helper.get_attribute_value(proto)
    if proto.type == AttributeProto.STRING:
        return _text(value)
    if proto.type == AttributeProto.STRINGS:
        return [_text(v) for v in value]
    if proto.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return list(value)
    return value


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
