"""Arrays of ONNX's element types, from any object that can be one."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.values import Array, onnx_dtype
from onnxwright.types.dtypes import DType
from onnxwright.types.roles import EagerTensorBase


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The numpy dtype of a `DType`, an annotation such as `FLOAT`, or anything numpy takes.

    Args:
        dtype: the element type in any spelling.

    Example:
        >>> numpy_dtype(DType.BFLOAT16), numpy_dtype("float32")
        (dtype(bfloat16), dtype('float32'))
    """
    if isinstance(dtype, DType):
        return dtype.numpy
    declared = getattr(dtype, "dtype", None) if isinstance(dtype, type) else None
    if isinstance(declared, DType):
        return declared.numpy
    return DType.from_numpy(dtype).numpy


_PYTHON_DTYPES = {"int64": np.int64, "float64": np.float32, "complex128": np.complex64}


def as_array(value: Any, dtype: Any = None) -> Array:
    """An array of an ONNX element type from any object that can be one.

    Args:
        value: an array, a tensor, a number, a nested list of numbers, a DLPack object.

    Returns:
        The array; an array of the right type comes back as it is.

    Raises:
        EagerTypeError: the object cannot be an array.

    Example:
        >>> as_array([1.5, 2]).dtype, as_array(np.float64(1)).dtype, as_array("a").dtype
        (dtype('float32'), dtype('float32'), dtype('O'))
    """
    numpy_type = None if dtype is None else numpy_dtype(dtype)
    if isinstance(value, EagerTensorBase):
        array: Array = value.value
    elif type(value) is np.ndarray:
        array = value
    else:
        array = _converted(value, numpy_type)
    if array.dtype.kind in "USOT" and array.dtype != object:
        array = array.astype(object)
    if numpy_type is not None and array.dtype != numpy_type:
        array = array.astype(numpy_type)
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    _check_kind(value, array)
    return array


def _converted(value: Any, dtype: np.dtype[Any] | None) -> Array:
    own = not isinstance(value, (bool, int, float, complex, str, bytes, list, tuple, range))
    try:
        if dtype is not None and not own and dtype.kind != "O":
            return np.asarray(value).astype(dtype)
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        _refuse(value)
    if not own and dtype is None:
        array = array.astype(_PYTHON_DTYPES.get(array.dtype.name, array.dtype))
    return array


def _check_kind(value: Any, array: Array) -> None:
    if array.dtype == object:
        if not all(isinstance(item, (str, bytes)) for item in array.flat):
            _refuse(value)
    elif array.dtype.kind in "MmV" and array.dtype.fields is not None:
        _refuse(value)
    else:
        onnx_dtype(array.dtype)


def _refuse(value: Any) -> NoReturn:
    what = f"an object of type `{type(value).__name__}`"
    if isinstance(value, (list, tuple)):
        what = f"this {type(value).__name__}, which has no single shape and type,"
    fail(messages.NotAnArray(what=what))
