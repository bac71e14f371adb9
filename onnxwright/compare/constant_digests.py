"""Digests of the constants of a model: initializers and Constant nodes alike."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.compare.data_digests import digest_of_bytes, digest_of_file
from onnxwright.compare.equality import attribute_kind
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue

_A = onnx.AttributeProto


@dataclass(frozen=True, slots=True)
class Content:
    """A constant without its name.

    Fields:
        dtype: the number of its element type.
        dims: its shape.
        digest: equal where the bits are.
    """

    dtype: int
    dims: tuple[int, ...]
    digest: str

    @property
    def count(self) -> int:
        """How many elements it has."""
        return math.prod(self.dims)


def contents(graph: ProtoGraph, folder: str | None = None) -> dict[ProtoValue, Content]:
    """What every constant of a graph and of its subgraphs holds.

    Args:
        folder: where its external data is; None if unknown: external tensors are then
            identified by the location they name.

    Returns:
        Initializers and outputs of Constant nodes, each with its content.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.compare.proto_graph import link_graph
        >>> text = "g () => (int64[1] y) { c = Constant<value_ints = [7]>() y = Identity(c) }"
        >>> [c.dims for c in contents(link_graph(parser.parse_graph(text))).values()]
        [(1,)]
    """
    by_value: dict[ProtoValue, Content] = {}
    for inner in graph.all_graphs():
        for value in inner.initializers:
            if isinstance(value.tensor, onnx.TensorProto):
                by_value[value] = of_tensor(value.tensor, folder)
            elif value.tensor is not None:
                sparse = value.tensor
                parts = [of_tensor(t, folder).digest for t in (sparse.values, sparse.indices)]
                kind = sparse.values.data_type
                by_value[value] = Content(kind, tuple(sparse.dims), _hash(["sparse", *parts]))
        for node in inner.nodes:
            tensor = constant_of(node)
            if tensor is not None and len(node.outputs) == 1 and node.outputs[0] is not None:
                by_value[node.outputs[0]] = of_tensor(tensor, folder)
    return by_value


def constant_of(node: ProtoNode) -> onnx.TensorProto | None:
    """The value of a Constant node as a tensor; None for other nodes, and for a reference."""
    if node.key[:2] != ("", "Constant") or len(node.proto.attribute) != 1:
        return None
    (attribute,) = node.proto.attribute
    kind = attribute_kind(attribute)
    if attribute.ref_attr_name:
        return None
    if kind == _A.TENSOR:
        held: onnx.TensorProto = attribute.t
        return held
    if kind in (_A.STRING, _A.STRINGS):
        one = kind == _A.STRING
        strings = [attribute.s] if one else list(attribute.strings)
        dims = [] if one else [len(strings)]
        return onnx.TensorProto(data_type=onnx.TensorProto.STRING, dims=dims, string_data=strings)
    arrays: dict[int, Callable[[], Any]] = {
        _A.INT: lambda: np.array(attribute.i, np.int64),
        _A.INTS: lambda: np.array(attribute.ints, np.int64),
        _A.FLOAT: lambda: np.array(attribute.f, np.float32),
        _A.FLOATS: lambda: np.array(attribute.floats, np.float32),
    }
    tensor = arrays.get(kind)
    return numpy_helper.from_array(tensor()) if tensor is not None else None


def of_tensor(tensor: onnx.TensorProto, folder: str | None = None) -> Content:
    """The content of one tensor.

    Args:
        tensor: the tensor, its numbers stored in whatever way.
        folder: where its external data is.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        digest = digest_of_file(tensor, folder)
    elif tensor.data_type == onnx.TensorProto.STRING:
        digest = _hash([len(tensor.string_data), *(s.hex() for s in tensor.string_data)])
    else:
        digest = digest_of_bytes(_raw(tensor))
    return Content(tensor.data_type, tuple(tensor.dims), digest)


def _hash(parts: Iterable[object]) -> str:
    return hashlib.blake2b(repr(list(parts)).encode(), digest_size=16).hexdigest()


def _raw(tensor: onnx.TensorProto) -> bytes:
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    try:
        return numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    except (ValueError, TypeError):  # broken: its bytes as they are
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.ClearField("name")
        copy.ClearField("doc_string")
        return bytes(copy.SerializeToString(deterministic=True))
