"""Attributes of nodes as keyword arguments; what Python has no word for stays serialized."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.compare.equality import attribute_kind, attribute_value
from onnxwright.decompiler.layout import Expr, listed, number, text
from onnxwright.ir.adapters import guess_kind
from onnxwright.opset.registry import OpSignature
from onnxwright.types.kinds import AttrKind

_A = onnx.AttributeProto
KIND_OF = {kind.number: kind for kind in AttrKind if kind.stored is kind}


def plain_value(attr: onnx.AttributeProto, signature: OpSignature | None) -> Any:
    """The Python value that a call gives for an attribute; None where none gives just this.

    Args:
        attr: the attribute; no graph.
        signature: the operator's schema, if it has one.
    """
    kind = attribute_kind(attr)
    if attr.doc_string or kind not in _PLAIN:
        return None
    value = attribute_value(attr)
    try:
        if kind == _A.STRING:
            value = value.decode("utf-8")
        elif kind == _A.STRINGS:
            value = [v.decode("utf-8") for v in value]
    except UnicodeDecodeError:
        return None
    if kind in (_A.FLOAT, _A.FLOATS):
        numbers = np.asarray(value, np.float32)
        if not np.array_equal(_bits(numbers), _bits(_again(numbers))):
            return None
    if kind == _A.TENSOR:
        return _tensor(value)
    param = signature.attributes.get(attr.name) if signature is not None else None
    expected = param.kind.stored if param is not None else guess_kind(value)
    if expected is None or KIND_OF[kind] is not expected:
        return None
    return value


_PLAIN = (_A.FLOAT, _A.INT, _A.STRING, _A.FLOATS, _A.INTS, _A.STRINGS, _A.TENSOR)


def _bits(numbers: Any) -> Any:
    return numbers.view(np.uint32)


def _again(numbers: Any) -> Any:
    """The numbers after being written and read: a NaN becomes the usual one."""
    return np.where(np.isnan(numbers), np.float32(np.nan), numbers)


def _tensor(tensor: onnx.TensorProto) -> Any:
    if tensor.data_location == _TENSOR_OUTSIDE:
        return None
    try:
        array = tensor_array(tensor)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return array


_TENSOR_OUTSIDE = onnx.TensorProto.EXTERNAL


def tensor_array(tensor: onnx.TensorProto, folder: str = "") -> Any:
    """The array of a tensor; strings as text, or as bytes where they are not text."""
    if tensor.data_type == onnx.TensorProto.STRING:
        items = [_decoded(s) for s in tensor.string_data]
        array = np.empty(len(items), object)
        array[:] = items
        return array.reshape(tuple(tensor.dims))
    return numpy_helper.to_array(tensor, folder)


def _decoded(value: bytes) -> str | bytes:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def value_expression(value: Any, kind: int) -> Expr:
    """A plain attribute value as Python."""
    if kind == _A.STRING:
        return text(value)
    if kind == _A.STRINGS:
        return listed(map(text, value))
    if kind == _A.FLOAT:
        return number(np.float32(value))
    if kind == _A.FLOATS:
        return listed(number(np.float32(v)) for v in value)
    if kind == _A.INTS:
        return listed(map(number, value))
    return number(value)
