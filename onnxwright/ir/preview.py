"""Types and small tensors of a model as text to be shown; a broken one gives an empty text."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import numpy_helper

from onnxwright.ir.adapters import from_type_proto
from onnxwright.ir.text import clean, short
from onnxwright.types.kinds import OnnxType

FEW = 8  # elements of a tensor that are written out


def from_type(proto: onnx.TypeProto) -> OnnxType | None:
    """The type a TypeProto describes; None where it says nothing, or nonsense."""
    try:
        kind = from_type_proto(proto)
        if kind is None or str(kind).isprintable():
            return kind
        copy = onnx.TypeProto()
        copy.CopyFrom(proto)
        _clean_dims(copy)
        return from_type_proto(copy)
    except ValueError:
        return None


def _clean_dims(proto: onnx.TypeProto) -> None:
    """Make the names of dimensions printable."""
    which = proto.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        for dim in getattr(proto, which).shape.dim:
            if dim.HasField("dim_param"):
                dim.dim_param = clean(dim.dim_param)
    elif which in ("sequence_type", "optional_type"):
        _clean_dims(getattr(proto, which).elem_type)
    elif which == "map_type":
        _clean_dims(proto.map_type.value_type)


def tensor_preview(tensor: onnx.TensorProto, count: int) -> str:
    """The first elements of a small tensor as text; empty where they cannot be had."""
    if count > 1024 or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return ""
    try:
        array = numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001 - a broken tensor is shown without its elements
        return ""
    flat = array.ravel()[:FEW].tolist()
    shown = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in flat]
    if array.dtype == object:
        shown = [repr(clean(as_text(x))) for x in flat]
    text = ", ".join(shown) + (", ..." if array.size > FEW else "")
    return short(text if array.ndim == 0 else f"[{text}]")


def as_text(value: Any) -> str:
    """Bytes as text, what is not UTF-8 as escapes; anything else by `str`."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
