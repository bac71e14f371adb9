"""Equality of tensors, attributes and types of two models, however they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.compare.data_digests import digest_of_file

_A = onnx.AttributeProto


def same_tensor(
    a: onnx.TensorProto, b: onnx.TensorProto, folders: tuple[str, str] = ("", "")
) -> bool:
    """Whether two tensors have one type, one shape and the same bits.

    Args:
        a, b: the tensors; where their numbers are stored does not matter, nor do their names.
        folders: where external data of each is found.

    Example:
        >>> x = onnx.numpy_helper.from_array(np.array([1.5], np.float32), "x")
        >>> y = onnx.helper.make_tensor("y", 1, [1], [1.5])
        >>> same_tensor(x, y)
        True
    """
    if a.data_type != b.data_type or list(a.dims) != list(b.dims):
        return False
    if a.HasField("raw_data") and b.HasField("raw_data"):
        return a.raw_data == b.raw_data
    outside = onnx.TensorProto.EXTERNAL
    if a.data_location == b.data_location == outside and folders[0] == folders[1]:
        if properties(a.external_data) == properties(b.external_data):
            return True
    if a.data_location == b.data_location == outside:
        return digest_of_file(a, folders[0]) == digest_of_file(b, folders[1])
    if a.data_type == onnx.TensorProto.STRING:
        return list(a.string_data) == list(b.string_data)
    try:
        left = numpy_helper.to_array(a, folders[0])
        right = numpy_helper.to_array(b, folders[1])
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError):
        return _bare(a) == _bare(b)
    return bool(np.array_equal(_bits(left), _bits(right)))


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array; those of a weight are not copied."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _bare(tensor: onnx.TensorProto) -> bytes:
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    copy.name = ""
    copy.doc_string = ""
    return bytes(copy.SerializeToString(deterministic=True))


def properties(props: Iterable[onnx.StringStringEntryProto]) -> dict[str, str]:
    """Entries of `metadata_props` or of external data as a dict: their order says nothing."""
    return {p.key: p.value for p in props}


def attribute_value(attr: onnx.AttributeProto) -> Any:
    """What an attribute holds, as one object of Python or protobuf."""
    kind = attribute_kind(attr)
    reader = _READ.get(kind)
    return reader(attr) if reader is not None else None


_READ: dict[int, Callable[[onnx.AttributeProto], Any]] = {
    _A.FLOAT: lambda a: a.f,
    _A.INT: lambda a: a.i,
    _A.STRING: lambda a: a.s,
    _A.TENSOR: lambda a: a.t,
    _A.GRAPH: lambda a: a.g,
    _A.SPARSE_TENSOR: lambda a: a.sparse_tensor,
    _A.TYPE_PROTO: lambda a: a.tp,
    _A.FLOATS: lambda a: list(a.floats),
    _A.INTS: lambda a: list(a.ints),
    _A.STRINGS: lambda a: list(a.strings),
    _A.TENSORS: lambda a: list(a.tensors),
    _A.GRAPHS: lambda a: list(a.graphs),
    _A.SPARSE_TENSORS: lambda a: list(a.sparse_tensors),
    _A.TYPE_PROTOS: lambda a: list(a.type_protos),
}


def attribute_kind(attr: onnx.AttributeProto) -> int:
    """The type of an attribute; old models leave it out."""
    if attr.type or attr.ref_attr_name:
        return int(attr.type)
    for field, kind in (("f", _A.FLOAT), ("i", _A.INT), ("s", _A.STRING), ("t", _A.TENSOR)):
        if attr.HasField(field):
            return int(kind)
    for field, kind in (("floats", _A.FLOATS), ("ints", _A.INTS), ("strings", _A.STRINGS)):
        if len(getattr(attr, field)):
            return int(kind)
    return 0


def same_attribute(
    a: onnx.AttributeProto, b: onnx.AttributeProto, folders: tuple[str, str]
) -> bool:
    """Whether two attributes say the same; graphs are compared elsewhere."""
    if a.ref_attr_name != b.ref_attr_name or attribute_kind(a) != attribute_kind(b):
        return False
    kind = attribute_kind(a)
    if a.ref_attr_name or kind in (_A.GRAPH, _A.GRAPHS):
        return True
    left, right = attribute_value(a), attribute_value(b)
    if kind == _A.TENSOR:
        return same_tensor(left, right, folders)
    if kind == _A.TENSORS:
        return len(left) == len(right) and all(map(same_tensor, left, right))
    if kind == _A.SPARSE_TENSOR:
        return same_sparse(left, right)
    if kind == _A.SPARSE_TENSORS:
        return len(left) == len(right) and all(map(same_sparse, left, right))
    if kind in (_A.FLOAT, _A.FLOATS):
        return bool(
            np.array_equal(np.float32(left).view(np.uint32), np.float32(right).view(np.uint32))
        )
    if kind == _A.TYPE_PROTO:
        return same_type(left, right)
    if kind == _A.TYPE_PROTOS:
        return len(left) == len(right) and all(map(same_type, left, right))
    return bool(left == right)


def same_sparse(a: onnx.SparseTensorProto, b: onnx.SparseTensorProto) -> bool:
    """Whether two sparse tensors hold the same numbers in the same places."""
    if list(a.dims) != list(b.dims):
        return False
    return same_tensor(a.values, b.values) and same_tensor(a.indices, b.indices)


def same_type(a: onnx.TypeProto, b: onnx.TypeProto) -> bool:
    """Whether two types are equal; a dimension of no value and no name is one that is not known."""
    return a == b or bool(plain_type(a) == plain_type(b))


def plain_type(proto: onnx.TypeProto) -> Any:
    """A type as nested tuples that compare by what they say."""
    which = proto.WhichOneof("value")
    if which is None:
        return (None, proto.denotation)
    inner = getattr(proto, which)
    if which in ("tensor_type", "sparse_tensor_type"):
        shape = None
        if inner.HasField("shape"):
            shape = tuple(_dim(d) for d in inner.shape.dim)
        if which == "tensor_type" and not inner.elem_type and shape is None:
            which = None
        return (
            (which, inner.elem_type, shape, proto.denotation) if which else (None, proto.denotation)
        )
    if which in ("sequence_type", "optional_type"):
        return (which, plain_type(inner.elem_type), proto.denotation)
    if which == "map_type":
        return (which, inner.key_type, plain_type(inner.value_type), proto.denotation)
    return (which, inner.SerializeToString(deterministic=True), proto.denotation)


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Any:
    which = dim.WhichOneof("value")
    value: Any = dim.dim_value if which == "dim_value" else (dim.dim_param or None)
    return (value, dim.denotation) if dim.denotation else value


def is_plain(proto: onnx.TypeProto) -> bool:
    """Whether a type says nothing at all."""
    if proto.tensor_type.elem_type:
        return False
    return bool(plain_type(proto) == (None, ""))
