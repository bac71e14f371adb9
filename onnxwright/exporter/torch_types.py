"""Tensors and element types of PyTorch as those of ONNX, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch
from onnx_ir.tensor_adapters import TorchTensor, from_torch_dtype

from onnxwright.exporter.torch_internals import FakeTensor
from onnxwright.types.dtypes import DType

_KNOWN: dict[torch.dtype, DType] = {}


def dtype_of(dtype: torch.dtype) -> DType:
    """The ONNX element type of a torch dtype.

    Args:
        dtype: the torch dtype; complex32 is taken as COMPLEX64.

    Returns:
        The element type.

    Raises:
        TypeError: ONNX has no such type.

    Example:
        >>> import torch
        >>> dtype_of(torch.bfloat16).name
        'BFLOAT16'
    """
    element_type = _KNOWN.get(dtype)
    if element_type is None:
        torch_dtype = torch.complex64 if dtype is torch.complex32 else dtype
        element_type = _KNOWN[dtype] = DType(int(from_torch_dtype(torch_dtype)))
    return element_type


class TorchWeight(TorchTensor):
    """A torch tensor as an onnx_ir tensor; it may have no numbers yet."""

    first_name: str | None = None
    """The name it was made with, where it has got another one since."""

    def is_missing(self) -> bool:
        """Whether it is a fake tensor, or one on the meta device."""
        return isinstance(self.raw, FakeTensor) or self.raw.device.type == "meta"

    def renamed(self, name: str | None) -> TorchWeight:
        """The tensor under another name, over the same memory."""
        weight = TorchWeight(self.raw, name=name)
        weight.first_name = self.first_name or self.name
        return weight

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as an array over the same memory."""
        array: np.ndarray[Any, Any] = TorchTensor(_beside(self.raw)).numpy()
        return array

    def permuted(self, perm: Sequence[int]) -> TorchWeight:
        """The tensor with its axes in another order, over the same memory."""
        return TorchWeight(self.raw.permute(tuple(perm)), name=self.name)


def _beside(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor over the same memory, with a storage of its own.

    `torch.Tensor.numpy` marks the storage of its tensor for good as the memory of an array.
    """
    if has_no_numbers(tensor) or tensor.device.type != "cpu":
        return tensor
    try:
        return torch.from_dlpack(tensor.detach())
    except (BufferError, RuntimeError, TypeError, ValueError):  # a type that DLPack does not have
        return tensor


def onnx_tensor(tensor: torch.Tensor, name: str) -> Any:
    """A torch tensor as an onnx_ir tensor that shares its memory.

    Args:
        tensor: a dense tensor, real or fake.
    """
    weight: ir.TensorProtocol = TorchWeight(tensor.detach(), name=name)
    return weight


_SPARSE = (
    torch.sparse_coo,
    torch.sparse_csr,
    torch.sparse_csc,
    torch.sparse_bsr,
    torch.sparse_bsc,
)


def is_sparse(value: Any) -> bool:
    """Whether a value is a tensor of a sparse layout."""
    return isinstance(value, torch.Tensor) and value.layout in _SPARSE


def has_no_numbers(tensor: torch.Tensor) -> bool:
    """Whether a tensor is of the meta device or fake: its shape and type are all there is."""
    return tensor.is_meta or isinstance(tensor, FakeTensor)


def to_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor as an array, over the same memory where that is possible.

    Args:
        tensor: a dense tensor that holds numbers, on any device.

    Returns:
        An array of the same shape; types that numpy does not have are those of ml_dtypes.

    Example:
        >>> import torch
        >>> to_numpy(torch.ones(2, dtype=torch.bfloat16)).dtype
        dtype(bfloat16)
    """
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    array: np.ndarray[Any, Any] = TorchTensor(_beside(plain)).numpy()
    return array


# Types that numpy does not have: the bits travel as integers.
_BITS = {
    "bfloat16": (torch.int16, torch.bfloat16),
    "float8_e4m3fn": (torch.uint8, torch.float8_e4m3fn),
    "float8_e5m2": (torch.uint8, torch.float8_e5m2),
}


def to_torch(array: Any) -> torch.Tensor:
    """An array as a torch tensor that shares its memory where it can.

    Args:
        array: a numpy array, of ml_dtypes types too.

    Example:
        >>> import numpy as np
        >>> to_torch(np.array([1, 2]))
        tensor([1, 2])
    """
    array = np.asarray(array)
    if not array.flags.writeable or not array.flags.c_contiguous:
        array = array.copy()
    if array.dtype == np.uint64:  # ONNX Runtime's is C's `unsigned long long`, which torch refuses
        array = array.view(np.uint64)
    bits = _BITS.get(array.dtype.name)
    if bits is None:
        return torch.from_numpy(array)
    width = np.int16 if bits[0] is torch.int16 else np.uint8
    return torch.from_numpy(array.view(width)).view(bits[1])


def to_complex(array: Any) -> torch.Tensor:
    """An array of real and imaginary parts as a complex tensor.

    Args:
        array: a numpy array whose last axis has two elements.

    Example:
        >>> import numpy as np
        >>> to_complex(np.array([[1.0, 2.0]]))
        tensor([1.+2.j], dtype=torch.complex128)
    """
    pairs = to_torch(array)
    if pairs.numel() == 0:  # one without elements may have any strides
        pairs = torch.empty(pairs.shape, dtype=pairs.dtype)
    return torch.view_as_complex(pairs)
