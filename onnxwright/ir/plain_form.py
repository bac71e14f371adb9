"""What `onnx_ir` has no form for, in one that it has: sparse initializers, maps, `ai.onnx`.

Dimensions of -1, which some converters write for what they do not know, become unknown ones.  The
operators of ONNX Runtime need no import there, except in functions: `onnxruntime.transformers`
leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.ir.other_types import holds_map, without_maps
from onnxwright.ir.proto_graphs import graphs_in, nodes_of
from onnxwright.ir.validation import Damage
from onnxwright.ir.validation.damage import quoted
from onnxwright.operators.contrib import RUNTIME
from onnxwright.types.dtypes import DType

_LIMIT = (1 << 31) - 1  # bytes of a dense tensor


def plain_form(
    model: onnx.ModelProto, folder: Path, types: dict[str, onnx.TypeProto] | None = None
) -> onnx.ModelProto:
    """A model whose initializers are dense, dimensions not negative, default domain called "".

    Args:
        folder: where its external data is.
        types: takes up the types that hold maps, value -> type; without it they stay.

    Returns:
        The model itself where there is nothing to change, else a copy.

    Raises:
        Damage: a sparse initializer is too large to be dense.

    Example:
        >>> graph = onnx.parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")
        >>> model = onnx.helper.make_model(graph)
        >>> plain_form(model, Path()) is model
        True
    """
    owners = (model, *model.functions)
    named = any(o.domain == "ai.onnx" for owner in owners for o in owner.opset_import)
    bodies = [n for body in (model.graph, *model.functions) for n in body.node]
    graphs = [model.graph, *graphs_in(bodies)]
    negative = any(True for part in (*graphs, *model.functions) for _ in _negative_dims(part))
    sparse = any(True for _ in _sparse_constants(model))
    if not (named or negative or sparse or _lacks_runtime(model)) and not any(
        g.sparse_initializer or _has_maps(g) for g in graphs
    ):
        return model
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for owner in (plain, *plain.functions):
        for entry in owner.opset_import:
            if entry.domain == "ai.onnx":
                entry.domain = ""
    if _lacks_runtime(plain):
        plain.opset_import.add(domain=RUNTIME, version=1)
    for node, attr in _sparse_constants(plain):
        held = _dense(
            attr.sparse_tensor, folder, f"the value of the Constant {quoted(node.output[0])}"
        )
        del node.attribute[:]
        node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR, t=held)
    bodies = [n for body in (plain.graph, *plain.functions) for n in body.node]
    graphs = [plain.graph, *graphs_in(bodies)]
    for part in (*graphs, *plain.functions):
        for dim in _negative_dims(part):
            dim.ClearField("dim_value")
    for graph in graphs:
        if types is not None:
            types.update(without_maps(graph))
        for held in graph.sparse_initializer:
            where = f"the sparse initializer {quoted(held.values.name)}"
            graph.initializer.append(_dense(held, folder, where))
        del graph.sparse_initializer[:]
    return plain


def _lacks_runtime(model: onnx.ModelProto) -> bool:
    """Whether nodes of the graph are operators of ONNX Runtime, whose domain is not imported."""
    if any(entry.domain == RUNTIME for entry in model.opset_import):
        return False
    return any(node.domain == RUNTIME for node in nodes_of(model.graph.node))


def _negative_dims(
    body: onnx.GraphProto | onnx.FunctionProto,
) -> Iterator[onnx.TensorShapeProto.Dimension]:
    """Dimensions that are negative numbers: no tensor has them, runtimes take them as unknown."""
    infos = [*body.value_info]
    if isinstance(body, onnx.GraphProto):
        infos += (*body.input, *body.output)
    for info in infos:
        kind = info.type
        while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
            kind = getattr(kind, which).elem_type
        if which == "tensor_type":
            for dim in kind.tensor_type.shape.dim:
                if dim.dim_value < 0:
                    yield dim


def _has_maps(graph: onnx.GraphProto) -> bool:
    return any(holds_map(i.type) for i in (*graph.input, *graph.output, *graph.value_info))


def _sparse_constants(
    model: onnx.ModelProto,
) -> Iterator[tuple[onnx.NodeProto, onnx.AttributeProto]]:
    """The Constants that hold a sparse tensor; the runtimes make it dense, too."""
    for body in (model.graph, *model.functions):
        for node in nodes_of(body.node):
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and node.output:
                for attr in node.attribute:
                    if attr.name == "sparse_value" and attr.HasField("sparse_tensor"):
                        yield node, attr


def _dense(sparse: onnx.SparseTensorProto, folder: Path, where: str) -> onnx.TensorProto:
    """A sparse tensor with all of its elements."""
    name, shape = sparse.values.name, tuple(sparse.dims)
    dtype = DType(sparse.values.data_type)
    if math.prod(shape) * dtype.bits / 8 > _LIMIT:
        what = "it is larger than 2 GB with all of its elements"
        raise Damage("limit", where, what, "only models with smaller ones can be changed")
    try:
        values: Any = numpy_helper.to_array(sparse.values, str(folder))
        places = numpy_helper.to_array(sparse.indices, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise Damage("external", where, str(error), "put its file beside the model") from None
    array = np.zeros(shape, values.dtype)
    if places.ndim == 1:
        array.reshape(-1)[places] = values
    else:
        array[tuple(places.T)] = values
    return numpy_helper.from_array(array, name)
