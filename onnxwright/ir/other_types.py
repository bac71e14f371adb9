"""Types in protos that `onnx_ir` has no form for: maps, and sequences and optionals of maps."""

from __future__ import annotations

import onnx


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
