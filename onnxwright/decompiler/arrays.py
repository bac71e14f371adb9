"""Arrays and types as Python expressions that give exactly the same bits again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import onnx

from onnxwright.compare.equality import same_type
from onnxwright.decompiler.layout import (
    Expr,
    Group,
    call,
    data,
    flatten,
    listed,
    number,
    short_float,
    text,
    with_point,
)
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
    if array.size == 0:
        return call("np.zeros", _shape(array.shape), kind)
    if array.dtype == object:
        return call("np.array", _nested(array.shape, map(_string, array.ravel())), kind)
    texts = _texts(array) if array.size <= AS_NUMBERS else []
    if not texts or not _survives(array, texts):
        buffer = call("np.frombuffer", data(np.ascontiguousarray(array).tobytes()), kind)
        return Group(flatten(buffer) + ".reshape(", (_shape(array.shape),), ")")
    return call("np.array", _nested(array.shape, iter(texts)), kind)


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(int(d) for d in shape))


def dtype_expression(dtype: np.dtype[Any], uses: set[str]) -> str:
    """A numpy element type as Python."""
    expression = _dtype_expression(dtype)
    if expression.startswith("ml_dtypes."):
        uses.add("ml_dtypes")
    return expression


@lru_cache(maxsize=256)
def _dtype_expression(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "O":
        return "object"
    if dtype == np.bool_:
        return "bool"
    name = dtype.name
    return f"np.{name}" if dtype.kind in "fiuc" and hasattr(np, name) else f"ml_dtypes.{name}"


def _one(value: Any) -> str:
    if isinstance(value, (complex, np.complexfloating)):
        return f"complex({number(value.real)}, {number(value.imag)})"
    if isinstance(value, (bool, np.bool_, int, np.integer, np.floating, float)):
        return number(value)
    as_float = float(value)
    return number(int(as_float) if as_float.is_integer() else as_float)


def _string(value: Any) -> str:
    return data(value) if isinstance(value, bytes) else text(str(value))


def _nested(shape: tuple[int, ...], items: Iterator[str]) -> Expr:
    """Items as lists in lists, of the lengths that a shape says."""
    if not shape:
        return next(items)
    if len(shape) == 1:
        return listed(islice(items, shape[0]))
    return listed(_nested(shape[1:], items) for _ in range(shape[0]))


def _texts(array: Array) -> list[str]:
    """The numbers of an array as Python, in order."""
    flat = array.ravel()
    if flat.dtype.kind == "f" and np.isfinite(flat).all():
        if flat.dtype not in (np.float32, np.float16):
            return list(map(short_float, flat))
        # What `short_float` gives; most numbers have their point already.
        return [t if "." in t else with_point(t) for t in map(str, flat)]
    if flat.dtype.kind in "biu":
        return list(map(str, flat.tolist()))
    return list(map(_one, flat))


_NAMED = {"np.nan": np.nan, "np.inf": np.inf, "-np.inf": -np.inf, "True": True, "False": False}


def _read(text: str) -> Any:
    """The number that Python reads in a text of this module."""
    if text in _NAMED:
        return _NAMED[text]
    if text.startswith("complex("):
        real, imaginary = text[8:-1].split(", ")
        return complex(_read(real), _read(imaginary))
    try:
        return int(text)
    except ValueError:
        return float(text)


def _survives(array: Array, texts: list[str]) -> bool:
    """Whether the written numbers give the same bits (a NaN may hold more than its name says)."""
    read = float if array.dtype.kind == "f" and np.isfinite(array).all() else _read
    try:
        reread = np.array([read(t) for t in texts], array.dtype)
    except (OverflowError, TypeError, ValueError):
        return False
    return reread.tobytes() == np.ascontiguousarray(array).tobytes()


# -- types ----------------------------------------------------------------------------------------


def type_expression(proto: onnx.TypeProto, uses: set[str]) -> str | None:
    """A type as an annotation such as `FLOAT["N", 3]`; None where no annotation says just this.

    Args:
        proto: the type.
        uses: names to import from onnxwright are added to it.
    """
    # Few of the types of a model differ.
    annotation, needed = _annotation(proto.SerializeToString(deterministic=True))
    uses.update(needed)
    return annotation


@lru_cache(maxsize=4096)
def _annotation(serialized: bytes) -> tuple[str | None, frozenset[str]]:
    """The annotation of a TypeProto, and the names it reads."""
    proto, uses = onnx.TypeProto.FromString(serialized), set[str]()
    kind = from_type_proto(proto)
    if kind is None or not same_type(type_proto(kind), proto):
        return None, frozenset()
    if isinstance(kind, OptionalType):
        annotation = _wrapped("Optional", kind.elem, uses)
    else:
        annotation = _expression(kind, uses)
    return annotation, frozenset(uses)


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
        spec = annotation[kind.shape if len(kind.shape) != 1 else kind.shape[0]]
    except (OnnxwrightError, TypeError, ValueError):
        return None
    if spec.onnx_type != kind:
        return None
    uses.add(base)
    return f"{base}[{dims or '()'}]"
