"""Tensors of PyTorch as values of ours and back: element types, complex parts, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

from onnxwright.atenlib.complexes import Complex
from onnxwright.eager.tensor import wrap
from onnxwright.types.dtypes import DType

TORCH_TO_DTYPE: dict[Any, DType] = {
    torch.float32: DType.FLOAT,
    torch.uint8: DType.UINT8,
    torch.int8: DType.INT8,
    torch.uint16: DType.UINT16,
    torch.int16: DType.INT16,
    torch.int32: DType.INT32,
    torch.int64: DType.INT64,
    torch.bool: DType.BOOL,
    torch.float16: DType.FLOAT16,
    torch.float64: DType.DOUBLE,
    torch.uint32: DType.UINT32,
    torch.uint64: DType.UINT64,
    torch.complex64: DType.COMPLEX64,
    torch.complex128: DType.COMPLEX128,
    torch.bfloat16: DType.BFLOAT16,
    torch.float8_e4m3fn: DType.FLOAT8E4M3FN,
    torch.float8_e5m2: DType.FLOAT8E5M2,
}
DTYPE_TO_TORCH = {ours: theirs for theirs, ours in TORCH_TO_DTYPE.items()}
# Types that numpy does not have: the bits travel as integers.
_BITS = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
}


def to_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor as an array.

    Args:
        tensor: a dense tensor on the CPU, of any dtype and shape.

    Returns:
        An array of the same shape; extension types are those of ml_dtypes.
    """
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    bits = _BITS.get(plain.dtype)
    array: np.ndarray[Any, Any]
    if bits is None:
        array = plain.numpy()
    else:
        array = plain.view(bits[0]).numpy().view(bits[1])
    return array


def feed_of(tensors: Sequence[torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """Tensors as the inputs `x0`, `x1` ... of a model; complex ones with a last axis of two.

    Args:
        tensors: dense tensors.

    Returns:
        Arrays by name.

    Example:
        >>> {k: v.shape for k, v in feed_of([torch.ones(3), torch.ones(2) * 1j]).items()}
        {'x0': (3,), 'x1': (2, 2)}
    """
    feeds = {}
    for n, tensor in enumerate(tensors):
        array = to_array(tensor)
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], axis=-1)
        feeds[f"x{n}"] = array
    return feeds


def to_tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """An array as a tensor.

    Args:
        array: an array of any type that torch has.

    Returns:
        A tensor of the same shape and type.
    """
    array = np.array(array, copy=True, order="C")
    for theirs, (bits, ours) in _BITS.items():
        if array.dtype == ours:
            width = {torch.int16: np.int16, torch.uint8: np.uint8}[bits]
            return torch.from_numpy(array.view(width)).view(theirs)
    return torch.from_numpy(array)


def to_value(tensor: torch.Tensor) -> Any:
    """A tensor as an eager value; a complex one as a `Complex`.

    Args:
        tensor: a dense tensor.

    Returns:
        The value.
    """
    array = to_array(tensor)
    if np.iscomplexobj(array):
        return Complex(
            wrap(np.ascontiguousarray(array.real).reshape(array.shape)),
            wrap(np.ascontiguousarray(array.imag).reshape(array.shape)),
        )
    return wrap(array)


def from_value(value: Any) -> Any:
    """An eager value as torch has it.

    Args:
        value: a tensor, a `Complex`, a number, None, or a list or tuple of these.

    Returns:
        The same with torch tensors.
    """
    if isinstance(value, Complex):
        parts = from_value(value.real), from_value(value.imag)
        return torch.complex(*parts)
    if isinstance(value, (list, tuple)):
        return [from_value(v) for v in value]
    array = getattr(value, "value", None)
    return to_tensor(array) if isinstance(array, np.ndarray) else value
