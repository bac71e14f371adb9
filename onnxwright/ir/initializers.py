"""Marked arrays to the initializers of a GraphProto."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.ir.adapters import tensor
from onnxwright.types.initializers import External, Initializer


def tensor_proto(array: Any, name: str) -> onnx.TensorProto:
    """A TensorProto of an array; a marked one may stay in its own file.

    Args:
        array: a numpy array, perhaps an `Initializer`.
        name: the tensor's name.

    Example:
        >>> tensor_proto(np.array([1, 2], np.int64), "w").dims
        [2]
    """
    external = array.external if isinstance(array, Initializer) else None
    if external is not None:
        proto = _external(external)
    else:
        proto = ir.serde.serialize_tensor(tensor(np.asarray(array), name))
    proto.name = name
    if isinstance(array, Initializer) and array.doc_string:
        proto.doc_string = array.doc_string
    return proto


def _external(external: External) -> onnx.TensorProto:
    tensor = onnx.TensorProto(data_type=external.dtype, dims=external.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entries = {
        "location": external.location,
        "offset": external.offset,
        "length": external.length,
        "checksum": external.checksum,
    }
    for key, value in entries.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return tensor


def add_initializers(graph: onnx.GraphProto, declared: Mapping[ir.Value, Any]) -> None:
    """Write marked arrays as initializers of a graph, under the names their values have."""
    for value, array in declared.items():
        name = value.name or ""
        if isinstance(array, Initializer) and array.sparse is not None:
            sparse = graph.sparse_initializer.add()
            sparse.ParseFromString(array.sparse)
            sparse.values.name = name
        else:
            graph.initializer.append(tensor_proto(array, name))
