"""Arrays and types as Python expressions that give exactly the same bits again."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from onnxwright.compare.equality import same_type
from onnxwright.decompiler.layout import Expr, Group, call, data, flatten, listed, number, text
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.adapters import from_type_proto, type_proto
from onnxwright.types import tensors
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import MapType, OnnxType, OptionalType, SequenceType, TensorType

Array = np.ndarray[Any, Any]
# Arrays of more elements are written as bytes, not as numbers.
AS_NUMBERS = 1024


def array_expression(array: Array, uses: set[str]) -> Expr:
    """A numpy array as an expression.

    Args:
        array: any array of an ONNX element type; strings are objects.
        uses: the modules the expression needs are added to it.
    """
    uses.add("np")
    kind = dtype_expression(array.dtype, uses)
    if array.dtype == object:
        items = _nested(array, _string)
        if array.size and array.ndim:
            return call("np.array", items, kind)
        if array.ndim == 0:
            return call("np.array", items, kind)
        return call("np.zeros", _shape(array.shape), kind)
    if array.size == 0:
        return call("np.zeros", _shape(array.shape), kind)
    if array.size > AS_NUMBERS or not _survives(array):
        made = call("np.frombuffer", data(np.ascontiguousarray(array).tobytes()), kind)
        return Group(flatten(made) + ".reshape(", (_shape(array.shape),), ")")
    return call("np.array", _nested(array, _one), kind)


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(int(d) for d in shape))


def dtype_expression(dtype: np.dtype[Any], uses: set[str]) -> str:
    """A numpy element type as Python."""
    if dtype.kind == "O":
        return "object"
    if dtype == np.bool_:
        return "bool"
    if dtype.kind in "fiuc" and hasattr(np, dtype.name):
        return f"np.{dtype.name}"
    uses.add("ml_dtypes")
    return f"ml_dtypes.{dtype.name}"


def _one(value: Any) -> str:
    if isinstance(value, (complex, np.complexfloating)):
        return f"complex({number(value.real)}, {number(value.imag)})"
    if isinstance(value, (bool, np.bool_, int, np.integer, np.floating, float)):
        return number(value)
    as_float = float(value)
    return number(int(as_float) if as_float.is_integer() else as_float)


def _string(value: Any) -> str:
    return data(value) if isinstance(value, bytes) else text(str(value))


def _nested(array: Array, one: Any) -> Expr:
    if array.ndim == 0:
        made: str = one(array[()])
        return made
    return listed(_nested(row, one) if (isinstance(row, np.ndarray) and row.ndim) or array.ndim > 1
                  else one(row) for row in array)  # fmt: skip


def _survives(array: Array) -> bool:
    """Whether the written numbers give the same bits (a NaN may hold more than its name says)."""
    names = {"np": np, "complex": complex}
    # eval: of numbers this module has just written itself, to compare their bits.
    back = [eval(_one(v), {"__builtins__": {}}, names) for v in array.ravel()]  # noqa: S307
    try:
        made = np.array(back, array.dtype)
    except (OverflowError, TypeError, ValueError):
        return False
    return made.tobytes() == np.ascontiguousarray(array).tobytes()


# -- types ----------------------------------------------------------------------------------------


def type_expression(proto: onnx.TypeProto, uses: set[str]) -> str | None:
    """A type as an annotation such as `FLOAT["N", 3]`; None where no annotation says just this.

    Args:
        proto: the type.
        uses: names to import from onnxwright are added to it.
    """
    kind = from_type_proto(proto)
    if kind is None or not same_type(type_proto(kind), proto):
        return None
    if isinstance(kind, OptionalType):
        return _wrapped("Optional", kind.elem, uses)
    return _expression(kind, uses)


def _expression(kind: OnnxType | None, uses: set[str]) -> str | None:
    if isinstance(kind, SequenceType):
        return _wrapped("Sequence", kind.elem, uses)
    if isinstance(kind, MapType):
        inner = _expression(kind.value, uses)
        key = {DType.INT64: "int", DType.STRING: "str"}.get(kind.key)
        return f"dict[{key}, {inner}]" if key is not None and inner is not None else None
    return _tensor(kind, uses) if isinstance(kind, TensorType) else None


def _wrapped(name: str, elem: OnnxType | None, uses: set[str]) -> str | None:
    inner = _expression(elem, uses)
    if inner is None:
        return None
    uses.add(name)
    return f"{name}[{inner}]"


def _tensor(kind: TensorType, uses: set[str]) -> str | None:
    if kind.dtype is None:
        return None
    base = kind.dtype.name
    annotation = getattr(tensors, base, None)
    if annotation is None:
        return None
    if kind.shape is None:
        uses.add(base)
        return base
    dims = ", ".join("None" if d is None else text(d) if isinstance(d, str) else str(d)
                     for d in kind.shape)  # fmt: skip
    try:
        made = annotation[kind.shape if len(kind.shape) != 1 else kind.shape[0]]
    except (OnnxwrightError, TypeError, ValueError):
        return None
    if made.onnx_type != kind:
        return None
    uses.add(base)
    return f"{base}[{dims or '()'}]"


__all__ = ["array_expression", "dtype_expression", "type_expression"]
