"""numpy arrays as ONNX Runtime values and back, for the element types numpy does not have.

Types of one or two bytes (bfloat16, float8) share the array's memory; those of less than a byte
(int4, int2) are packed, lowest bits first, as ONNX stores them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from onnxwright.eager.ort.sessions import runtime
from onnxwright.eager.values import Array
from onnxwright.types.dtypes import DType

# What `InferenceSession.run` takes and gives as numpy arrays without losing the type.
PLAIN = frozenset(
    {
        DType.FLOAT, DType.UINT8, DType.INT8, DType.UINT16, DType.INT16, DType.INT32, DType.INT64,
        DType.STRING, DType.BOOL, DType.FLOAT16, DType.DOUBLE, DType.UINT32, DType.UINT64,
    }
)  # fmt: skip


def pack(array: Array, bits: int) -> Array:
    """Elements of less than a byte, several to a byte, lowest bits first.

    Args:
        array: an array of an `ml_dtypes` type with one element to a byte.
        bits: the bits of one element: 4 or 2.

    Example:
        >>> pack(np.array([1, 2, 3], np.uint8), 4).tolist()
        [33, 3]
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    per_byte = 8 // bits
    padded = np.zeros(-(-flat.size // per_byte) * per_byte, np.uint8)
    padded[: flat.size] = flat
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    rows = padded.reshape(-1, per_byte) << shifts
    packed: Array = np.bitwise_or.reduce(rows, axis=1) if rows.size else padded
    return packed


def unpack(data: Array, bits: int, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The elements of packed bytes as an array with one element to a byte."""
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    mask = (1 << bits) - 1
    size = int(np.prod(shape, dtype=np.int64))
    flat = ((data[:, None] >> shifts) & np.uint8(mask)).reshape(-1)[:size]
    if dtype.is_signed and dtype.is_integer:
        sign = np.uint8(1 << (bits - 1))
        flat = (flat ^ sign).astype(np.int8) - np.int8(sign)
    elements: Array = flat.astype(dtype.numpy) if dtype.is_integer else flat.view(dtype.numpy)
    return elements.reshape(shape)


def to_ort(ort: Any, array: Array, dtype: DType) -> tuple[Any, object]:
    """An array as a runtime value.

    Args:
        ort: the module `onnxruntime`.
        dtype: its element type; not STRING.

    Returns:
        The value, and what must stay alive as long as it is used.
    """
    array = np.asarray(array, order="C")
    if dtype in PLAIN:
        return ort.OrtValue.ortvalue_from_numpy(array)._ortvalue, array
    if dtype.bits < 8:
        value = ort.OrtValue.ortvalue_from_shape_and_type(list(array.shape), int(dtype))
        data = pack(array, dtype.bits)
        if data.size:
            ctypes.memmove(value.data_ptr(), data.ctypes.data, data.nbytes)
        return value._ortvalue, None
    view = array.view(np.uint16 if dtype.bits == 16 else np.uint8)
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(view, int(dtype))
    return value._ortvalue, (view, value)


def from_ort(value: Any, dtype: DType) -> Array:
    """A runtime value as an array.

    Args:
        value: the runtime's own value object.
        dtype: its element type.

    Returns:
        The array; a copy for the types numpy does not have.
    """
    if dtype in PLAIN:
        array: Array = value.numpy()
        return array
    shape = tuple(value.shape())
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.zeros(shape, dtype.numpy)
    count = value.tensor_size_in_bytes()
    data = np.frombuffer(ctypes.string_at(value.data_ptr(), count), np.uint8)
    if dtype.bits < 8:
        return unpack(data, dtype.bits, dtype, shape)
    whole: Array = data.copy().view(dtype.numpy)
    return whole.reshape(shape)


def add_initializers(options: Any, weights: Mapping[str, tuple[Array, DType]]) -> object:
    """Let a session take initializers from memory, which the model names as external data.

    Args:
        options: the session options; they are changed.
        weights: the array and the element type of each initializer.

    Returns:
        What must stay alive as long as the session.
    """
    ort = runtime()
    values, alive = [], []
    for array, dtype in weights.values():
        value, keep = to_ort(ort, array, dtype)
        values.append(ort.OrtValue(value))
        alive.append((value, keep))
    options.add_external_initializers(list(weights), values)
    return alive
