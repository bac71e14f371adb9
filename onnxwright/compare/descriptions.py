"""Text for nodes, values and tensors in a difference."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.compare.equality import attribute_kind, attribute_value
from onnxwright.compare.proto_graph import ProtoNode, ProtoValue
from onnxwright.ir.preview import from_type, tensor_preview
from onnxwright.ir.text import short
from onnxwright.ir.validation.external import machine_memory

_FEW = 8  # elements of a tensor that are written out
_PIECE = 1 << 20  # elements of a tensor that are compared at once


def name_of(node: ProtoNode) -> str:
    """A node by its operator and its own name."""
    p = node.proto
    shown = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    return f"{shown} `{p.name}`" if p.name else shown


def show(node: ProtoNode) -> str:
    """A node on one line."""
    p = node.proto
    name = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    attributes = ", ".join(f"{x.name}={value_of(x)}" for x in p.attribute)
    shown = f"<{attributes}>" if attributes else ""
    return f"{', '.join(p.output)} = {name}{shown}({', '.join(p.input)})"


def value_of(attr: onnx.AttributeProto | None) -> str:
    """The value of an attribute."""
    if attr is None:
        return "not there"
    if attr.ref_attr_name:
        return f"@{attr.ref_attr_name}"
    kind = attribute_kind(attr)
    if kind == onnx.AttributeProto.TENSOR:
        return tensor_words(attr.t)
    if kind in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        return "a graph"
    value = attribute_value(attr)
    if isinstance(value, bytes):
        return short(repr(value.decode(errors="replace")))
    if kind == onnx.AttributeProto.STRINGS:
        value = [v.decode(errors="replace") for v in value]
    if kind == onnx.AttributeProto.FLOAT:
        return f"{value:.7g}"
    if kind == onnx.AttributeProto.FLOATS:
        return short(f"[{', '.join(f'{v:.7g}' for v in value)}]")
    if kind == onnx.AttributeProto.TYPE_PROTO:
        return _type(value)
    return short(
        " ".join(str(value).split()) if not isinstance(value, (int, list)) else repr(value)
    )


def source(value: ProtoValue | None) -> str:
    """A value and what makes it."""
    if value is None:
        return "nothing"
    producer = f" of {value.producer.proto.op_type}" if value.producer is not None else ""
    return f"`{value.name}`{producer}"


def type_words(value: ProtoValue) -> str:
    """The type a graph gives a value."""
    return _type(value.info.type) if value.info is not None else "no type"


def _type(proto: onnx.TypeProto) -> str:
    kind = from_type(proto)
    return str(kind) if kind is not None else "no type"


def tensor_words(tensor: Any) -> str:
    """A tensor: its type, and its numbers where they are few."""
    if not isinstance(tensor, onnx.TensorProto):
        return "sparse"
    kind = onnx.TensorProto.DataType.Name(tensor.data_type)
    count = int(np.prod(tensor.dims, dtype=np.int64))
    shown = tensor_preview(tensor, count) if count <= _FEW else ""
    return f"{kind}[{', '.join(map(str, tensor.dims))}]{f' {shown}' if shown else ''}"


def change_of(x: onnx.TensorProto, y: onnx.TensorProto, folders: tuple[str, str]) -> str:
    """How two tensors differ: by type, by their few numbers, or how many by how much.

    Args:
        folders: where external data of each is found.
    """
    left, right = tensor_words(x), tensor_words(y)
    if left != right:
        return f"{left} -> {right}"
    if math.prod(x.dims) * 2 > (machine_memory() or sys.maxsize):
        return f"other values in {left}"
    try:
        one = numpy_helper.to_array(x, folders[0])
        other = numpy_helper.to_array(y, folders[1])
    except (OSError, ValueError, TypeError, MemoryError, onnx.checker.ValidationError):
        return f"{left}, and its numbers cannot be read on both sides"
    if one.dtype == object or one.shape != other.shape:
        return f"other values in {left}"
    count = 0
    largest: float | None = None
    for left_piece, right_piece in _pieces(one, other):
        with np.errstate(all="ignore"):
            distance = np.abs(left_piece - right_piece)
        count += int(np.count_nonzero(~(distance == 0)))
        finite = distance[np.isfinite(distance)]
        if finite.size:
            largest = max(largest or 0.0, float(finite.max()))
    by = "" if largest is None else f", by up to {largest:.3g}"
    many = f"{count:,} of {one.size:,} numbers" if count else "other bits"
    return f"{many} in {left} differ{by}"


def _pieces(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Two arrays as wide numbers, part by part: both whole would take several times their bytes."""
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    left, right = one.reshape(-1), other.reshape(-1)
    for start in range(0, left.size, _PIECE):
        end = start + _PIECE
        yield left[start:end].astype(wide), right[start:end].astype(wide)
