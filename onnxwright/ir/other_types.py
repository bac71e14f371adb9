"""Types in protos that `onnx_ir` has no form for: maps, and sequences and optionals of maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.nested import all_nodes, subgraphs


def holds_map(proto: onnx.TypeProto) -> bool:
    """Whether a type is a map, or one of its elements is."""
    which = proto.WhichOneof("value")
    if which == "sequence_type":
        return holds_map(proto.sequence_type.elem_type)
    if which == "optional_type":
        return holds_map(proto.optional_type.elem_type)
    return bool(which == "map_type")


def without_maps(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """Take the types that hold maps out of a graph.

    Args:
        graph: the graph; it is changed.
    """
    protos: dict[str, onnx.TypeProto] = {}
    for info in (*graph.input, *graph.output, *graph.value_info):
        if holds_map(info.type):
            protos[info.name] = onnx.TypeProto()
            protos[info.name].CopyFrom(info.type)
            info.ClearField("type")
    return protos


def give_types(model: ir.Model, types: Mapping[str, onnx.TypeProto]) -> None:
    """Give values of a model the types that were taken out.

    Args:
        model: the model; it is changed.
    """
    for value in values_of_model(model) if types else ():
        proto = types.get(value.name or "")
        if proto is not None and value.type is None:
            adapters.set_type(value, adapters.from_type_proto(proto))


def values_of_model(model: ir.Model) -> Iterator[Any]:
    """The inputs, outputs and results of nodes of a graph and its bodies; some more than once."""
    yield from model.graph.inputs
    yield from model.graph.outputs
    for node in all_nodes(model.graph):
        yield from node.outputs
        for graph in subgraphs(node):
            yield from graph.inputs
            yield from graph.outputs
