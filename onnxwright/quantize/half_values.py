"""The types of all values of a model, and numbers that half precision cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.eager import CompiledModel
from onnxwright.ir.model_inference import infer_model
from onnxwright.ir.model_protos import located_proto
from onnxwright.ir.nested import all_graphs, all_nodes, subgraphs
from onnxwright.ir.proto_graphs import subgraphs_of
from onnxwright.ir.saving import read_tensor
from onnxwright.quantize.half_types import FLOAT, is_float

_PIECE = 1 << 22


def limit_of(kind: ir.DataType) -> float:
    """The greatest finite number of a type."""
    finfo: Any = ml_dtypes.finfo  # it has no annotations
    return float(finfo(kind.numpy()).max)


def infer_types(model: ir.Model) -> None:
    """Give each value of a model the type that ONNX infers, where it has none.

    Args:
        model: the model, without functions; it is changed.
    """
    proto = infer_model(located_proto(model, light=True)[0])
    if proto is not None:
        _read_types(model.graph, proto.graph)


def _read_types(graph: ir.Graph, proto: onnx.GraphProto) -> None:
    infos = {v.name: v for v in (*proto.value_info, *proto.input, *proto.output)}
    for value in (*graph.inputs, *(v for node in graph for v in node.outputs)):
        info = infos.get(value.name or "")
        if value.type is None and info is not None and info.type.WhichOneof("value"):
            value.type = ir.serde.deserialize_type_proto_for_type(info.type)
    for node, other in zip(graph, proto.node, strict=False):
        for body, body_proto in zip(subgraphs(node), subgraphs_of(other), strict=False):
            _read_types(body, body_proto)
    for value in graph.initializers.values():
        if value.const_value is not None:
            value.type = ir.TensorType(value.const_value.dtype)


def constants_of(model: ir.Model) -> Iterator[tuple[ir.Value, Any]]:
    """The constants of FLOAT: initializers that nobody overrides, and Constant nodes."""
    for graph in all_graphs(model.graph):
        for value in graph.initializers.values():
            held = value.const_value
            if held is not None and held.dtype is FLOAT and not value.is_graph_input():
                yield value, held
        for node in graph:
            if node.op_type == "Constant" and not node.domain and is_float(node.outputs[0]):
                yield node.outputs[0], constant_tensor(node)


def constant_tensor(node: ir.Node) -> Any:
    """The tensor of a Constant node of FLOAT, from whichever attribute it has."""
    (attribute,) = node.attributes.values()
    if attribute.name == "value":
        return attribute.as_tensor()
    if attribute.name == "sparse_value":
        return None
    return ir.tensor(np.array(attribute.value, np.float32))


def fault_of(tensor: Any, kind: ir.DataType) -> str:
    """Why a constant cannot be of a type; empty where it can."""
    if tensor is None:
        return "it is sparse"
    array, limit = read_tensor(tensor).reshape(-1), limit_of(kind)
    for start in range(0, array.size, _PIECE):
        size = np.abs(array[start : start + _PIECE])
        if (np.isfinite(size) & (size > limit)).any():
            return f"it has elements beyond {limit:g}"
    if array.size == 1 and array[0] != 0 and float(array.astype(kind.numpy())[0]) == 0:
        return f"{float(array[0]):g} would become 0"
    return ""


def beyond_range(
    model: ir.Model, inputs: Mapping[str, Any], kind: ir.DataType
) -> dict[ir.Value, float]:
    """The values of the main graph that are beyond the range of a type in one run.

    Args:
        inputs: its inputs by name, as arrays.

    Returns:
        Each such value with the greatest magnitude of it.
    """
    shown = [v for node in model.graph for v in node.outputs if is_float(v) and v.name]
    graph = model.graph
    outputs = list(graph.outputs)
    names = {value.name for value in outputs}
    try:
        graph.outputs.extend(v for v in shown if v.name not in names)
        run = CompiledModel(ir.to_proto(model))
    finally:
        graph.outputs.clear()
        graph.outputs.extend(outputs)
    results = dict(zip(run.output_names, run.run(run._bind((), dict(inputs))), strict=True))
    largest = {}
    for value in shown:
        array = np.asarray(results[str(value.name)])
        finite = np.abs(array[np.isfinite(array)])
        greatest = float(finite.max()) if finite.size else 0.0
        if greatest > limit_of(kind):
            largest[value] = greatest
    return largest


def from_integers(model: ir.Model) -> set[ir.Node]:
    """The nodes that compute with numbers made of integers and constants alone.

    Half precision has 11 digits (BFLOAT16 8): positions and counts need more.
    """
    values: set[ir.Value] = set()
    nodes: set[ir.Node] = set()
    for node in all_nodes(model.graph):
        if subgraphs(node) or node.op_type == "Constant" or node.domain:
            continue
        floats = [v for v in node.inputs if is_float(v)]
        outs = [v for v in node.outputs if is_float(v)]
        seed = node.op_type in ("Cast", "CastLike") and _is_whole(node.inputs[0])
        constants = [v for v in floats if v is not None and _is_small_constant(v)]
        follows = any(v in values for v in floats) and all(
            v in values or v in constants for v in floats
        )
        if (seed and outs) or follows or (node.op_type == "Range" and outs):
            nodes.add(node)
            values.update(outs)
    return nodes


def _is_whole(value: ir.Value | None) -> bool:
    """Whether a value is of integers or BOOL."""
    dtype = None if value is None else value.dtype
    return dtype is not None and (dtype.is_integer() or dtype is ir.DataType.BOOL)


def _is_small_constant(value: ir.Value) -> bool:
    tensor = value.const_value
    node = value.producer()
    if node is not None:
        tensor = constant_tensor(node) if node.op_type == "Constant" else None
    return tensor is not None and tensor.size <= _SMALL and not value.is_graph_input()


_SMALL = 4096
