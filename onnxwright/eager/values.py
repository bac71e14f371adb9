"""What an evaluator takes and gives: arrays, sequences, maps and None, with their ONNX types.

An array is a `numpy.ndarray`; a sequence is a `SequenceValue` (a list that knows the type of its
elements), a map a `MapValue` (a dict), an absent optional None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import MapType, OnnxType, OptionalType, SequenceType, TensorType
from onnxwright.types.roles import BackendValue

Array = np.ndarray[Any, Any]
_DTYPES: dict[np.dtype[Any], DType] = {}


def onnx_dtype(dtype: np.dtype[Any]) -> DType:
    """The element type of a numpy dtype; remembered, as eager calls ask for it all the time.

    Raises:
        ScriptTypeError: ONNX does not have it.
    """
    kind = _DTYPES.get(dtype)
    if kind is None:
        kind = DType.from_numpy(dtype)
        if dtype.kind not in "SU":  # as many as there are lengths
            _DTYPES[dtype] = kind
    return kind


class SequenceValue(list[Any], BackendValue):
    """An ONNX sequence: a list that knows its element type, also when it is empty.

    Args:
        items: the elements: arrays, tensors, or None.
        elem: the type of an element; that of the first one if not given.

    Example:
        >>> s = SequenceValue([np.zeros(2, np.float32)])
        >>> str(s.onnx_type), len(s)
        ('Sequence[FLOAT]', 1)
    """

    def __init__(self, items: Iterable[Any] = (), elem: OnnxType | None = None) -> None:
        super().__init__(items)
        self.elem = elem

    @property
    def onnx_type(self) -> SequenceType:
        """The type of the sequence; its elements have no shape in it."""
        if self.elem is not None:
            return SequenceType(self.elem)
        for item in self:
            if item is not None:
                return SequenceType(type_of_value(item, shaped=False))
        return SequenceType(None)

    def __reduce__(self) -> tuple[Any, ...]:
        return SequenceValue, (list(self), self.elem)


class MapValue(dict[Any, Any], BackendValue):
    """An ONNX map, as the operators of ai.onnx.ml take and give it.

    Example:
        >>> str(type_of_value(MapValue({"a": 1.0})))
        'Map[STRING, FLOAT]'
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return MapValue, (dict(self),)


Value = Array | SequenceValue | MapValue | None


def raw_value(value: Any) -> Any:
    """The value without its tensor wrapper: arrays, also inside sequences and maps.

    Args:
        value: a Tensor, an array, a sequence, a map or None.

    Returns:
        The same value as evaluators take it.
    """
    if isinstance(value, np.ndarray) or value is None:
        return value
    array = getattr(value, "value", None)
    if isinstance(array, np.ndarray):
        return array
    if isinstance(value, SequenceValue):
        return SequenceValue([raw_value(v) for v in value], value.elem)
    if isinstance(value, (list, tuple)):
        return SequenceValue([raw_value(v) for v in value])
    if isinstance(value, Mapping):
        return MapValue({k: raw_value(v) for k, v in value.items()})
    return value


def type_of_value(value: Any, *, shaped: bool = True) -> OnnxType | None:
    """The ONNX type of a value.

    Args:
        value: a Tensor, an array, a sequence, a map or None.
        shaped: whether tensor types say their shape.

    Returns:
        The type; None where nothing is known of it (None, an empty list).

    Raises:
        ScriptTypeError: an array whose element type ONNX does not have.

    Example:
        >>> str(type_of_value(np.zeros((2, 3)))), type_of_value(None)
        ('DOUBLE[2, 3]', None)
    """
    if value is None:
        return None
    if isinstance(value, SequenceValue):
        return value.onnx_type
    if isinstance(value, list):
        return SequenceValue(value).onnx_type
    if isinstance(value, Mapping):
        return _type_of_map(value)
    array = value if isinstance(value, np.ndarray) else getattr(value, "value", value)
    return TensorType(onnx_dtype(array.dtype), array.shape if shaped else None)


def _type_of_map(value: Mapping[Any, Any]) -> MapType | None:
    for key, item in value.items():
        dtype = DType.STRING if isinstance(key, str) else DType.INT64
        if isinstance(item, str):
            return MapType(dtype, TensorType(DType.STRING))
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            return MapType(dtype, TensorType(DType.INT64))
        if isinstance(item, np.float64) or not isinstance(item, (float, np.floating)):
            return MapType(dtype, TensorType(DType.DOUBLE))
        return MapType(dtype, TensorType(DType.FLOAT))
    return None


def without_shape(kind: OnnxType | None) -> OnnxType | None:
    """A type with no shapes in it: what a session is cached by.

    Returns:
        The type, its tensors of unknown rank.
    """
    if isinstance(kind, TensorType):
        return TensorType(kind.dtype)
    if isinstance(kind, SequenceType):
        return SequenceType(without_shape(kind.elem))
    if isinstance(kind, OptionalType):
        return OptionalType(without_shape(kind.elem))
    if isinstance(kind, MapType):
        return MapType(kind.key, without_shape(kind.value))
    return kind


def show_value(value: Any) -> str:
    """A value's type and shape as short text, for messages.

    Returns:
        The text, such as `FLOAT[2, 3]`.
    """
    if value is None:
        return "absent"
    try:
        kind = type_of_value(value)
    except TypeError:
        return f"array of {getattr(value, 'dtype', type(value).__name__)}"
    if isinstance(value, list):
        return f"{kind} of {len(value)}"
    return str(kind)


def show_values(values: Sequence[Any]) -> str:
    """Several values as `show_value` writes them."""
    return ", ".join(show_value(v) for v in values)


def type_key(value: Value) -> Any:
    """What sessions tell the types of values apart by; shapes do not count."""
    if isinstance(value, np.ndarray):
        dtype = value.dtype
        return dtype if dtype.kind not in "SU" else np.dtype(object)
    if value is None:
        return None
    return str(type_of_value(value))
