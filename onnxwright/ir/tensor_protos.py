"""Tensors and metadata written into protobuf messages, without a copy in between."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.types.dtypes import DType


def add_metadata(proto: Any, entries: Mapping[str, str]) -> None:
    """Add entries of `metadata_props` to a message, in the order of their keys."""
    for key in sorted(entries):
        proto.metadata_props.add(key=key, value=entries[key])


def fill_tensor(proto: onnx.TensorProto, tensor: Any) -> None:
    """Fill in a tensor of onnx_ir.

    Args:
        proto: an empty message.
        tensor: the tensor, under the name that it has.
    """
    if type(tensor) is not ir.Tensor:
        ir.serde.serialize_tensor_into(proto, tensor)
        return
    if tensor.name:
        proto.name = tensor.name
    if tensor.doc_string:
        proto.doc_string = tensor.doc_string
    proto.data_type = tensor.dtype.value
    proto.dims.extend(tensor.shape.numpy())
    proto.raw_data = tensor.tobytes()
    if tensor.metadata_props:
        add_metadata(proto, tensor.metadata_props)


def fill_array(proto: onnx.TensorProto, array: np.ndarray[Any, Any], name: str | None) -> None:
    """Fill in a tensor that holds an array: what `fill_tensor` writes of it.

    Example:
        >>> tensor = onnx.TensorProto()
        >>> fill_array(tensor, np.array([2, 3]), "w")
        >>> tensor.name, onnx.numpy_helper.to_array(tensor)
        ('w', array([2, 3]))
    """
    number = _plain_number(array.dtype)
    if number is None:
        fill_tensor(proto, adapters.tensor(array, name))
        return
    if name:
        proto.name = name
    proto.data_type = number
    proto.dims.extend(array.shape)
    proto.raw_data = array.tobytes()


@lru_cache(maxsize=64)
def _plain_number(dtype: np.dtype[Any]) -> int | None:
    """The number of an element type whose arrays are written as they lie in memory."""
    is_plain = dtype.kind in "biufc" and dtype.isnative and sys.byteorder == "little"
    return int(DType.from_numpy(dtype)) if is_plain else None
