"""The kind that went in and comes out: numpy arrays, tensors of ours, tensors of torch.

torch is never imported: where the program has imported it, its tensors are taken without a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from onnxwright.eager.tensor import Tensor, wrap
from onnxwright.eager.values import Array, MapValue, SequenceValue, raw_value
from onnxwright.types.roles import BackendValue


class Kind(NamedTuple):
    """What results are given as.

    Fields:
        name: "numpy", "tensor" or "torch".
        device: the device of the torch tensors.
    """

    name: str
    device: Any = None


NUMPY = Kind("numpy")
TENSOR = Kind("tensor")
# torch's own types of two bytes or less that numpy does not have.
_TORCH_EXOTIC = {
    "bfloat16": ("bfloat16", "int16"),
    "float8_e4m3fn": ("float8_e4m3fn", "uint8"),
    "float8_e4m3fnuz": ("float8_e4m3fnuz", "uint8"),
    "float8_e5m2": ("float8_e5m2", "uint8"),
    "float8_e5m2fnuz": ("float8_e5m2fnuz", "uint8"),
    "float8_e8m0fnu": ("float8_e8m0fnu", "uint8"),
}


def is_torch(value: object) -> bool:
    """Whether a value is a torch tensor.

    Returns:
        True only where the program has imported torch.
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def kind_of(values: Iterable[Any], *, inside: bool) -> Kind:
    """What the results of a call are given as.

    Args:
        inside: whether a script is running, in which everything is a tensor.

    Returns:
        Tensors if a tensor went in; else what the first array is; tensors if there was none.
    """
    if inside:
        return TENSOR
    kind: Kind | None = None
    for value in values:
        if isinstance(value, Tensor):
            return TENSOR
        if kind is None:
            kind = _kind_of_one(value)
        if kind is TENSOR:
            return TENSOR
    return TENSOR if kind is None else kind


def _kind_of_one(value: Any) -> Kind | None:
    if isinstance(value, (np.ndarray, np.generic)):
        return NUMPY
    if is_torch(value):
        return Kind("torch", value.device)
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, Tensor):
                return TENSOR
            kind = _kind_of_one(item)
            if kind is not None:
                return kind
        return NUMPY if isinstance(value, SequenceValue) else None
    if isinstance(value, MapValue):
        return NUMPY
    return None


def to_array(value: Any) -> Array | None:
    """A foreign tensor as an array, on the same memory where it is on the CPU.

    Returns:
        The array; None for what is not a foreign tensor.
    """
    if is_torch(value):
        return _from_torch(value)
    if isinstance(value, (np.ndarray, np.generic, Tensor)) or not hasattr(value, "__dlpack__"):
        return None
    if isinstance(value, BackendValue):
        return None
    return np.from_dlpack(value)


def own_sequence(value: Any) -> Any:
    """A sequence whose elements came back as torch tensors, with arrays in it again.

    Returns:
        The sequence as evaluators take it; anything else as it is.
    """
    if not isinstance(value, SequenceValue) or not any(map(is_torch, value)):
        return value
    return SequenceValue([_from_torch(v) if is_torch(v) else v for v in value], value.elem)


def _from_torch(value: Any) -> Array:
    torch = sys.modules["torch"]
    plain = value.detach().cpu().contiguous()
    exotic = _TORCH_EXOTIC.get(str(plain.dtype).removeprefix("torch."))
    if exotic is None:
        array: Array = plain.resolve_conj().resolve_neg().numpy()
        return array
    import ml_dtypes

    name, carrier = exotic
    carried: Array = plain.view(getattr(torch, carrier)).numpy()
    return carried.view(getattr(ml_dtypes, name))


def to_torch(array: Array, device: Any = None) -> Any:
    """An array as a torch tensor, on the same memory where the device is the CPU.

    Returns:
        The tensor; an array of strings, which torch does not have, stays as it is.
    """
    torch = sys.modules["torch"]
    if array.dtype == object:
        return array
    if not array.flags.writeable:
        array = array.copy()
    if array.dtype == np.uint64:  # ONNX Runtime's is C's `unsigned long long`, which torch refuses
        array = array.view(np.uint64)
    exotic = _TORCH_EXOTIC.get(array.dtype.name)
    if exotic is None:
        tensor = torch.from_numpy(array)
    else:
        name, carrier = exotic
        tensor = torch.from_numpy(array.view(carrier)).view(getattr(torch, name))
    return tensor if device is None else tensor.to(device)


def give_back(value: Any, kind: Kind) -> Any:
    """A result of a script as the caller wants it.

    Args:
        value: a tensor, a sequence, a map, None, or a tuple of them.

    Returns:
        The same value as array, tensor or torch tensor.
    """
    if kind is TENSOR or kind.name == "tensor":
        return (
            wrap(value.value) if type(value) is not Tensor and isinstance(value, Tensor) else value
        )
    if isinstance(value, Tensor):
        return value.value if kind.name == "numpy" else to_torch(value.value, kind.device)
    if isinstance(value, SequenceValue):
        return SequenceValue([give_back(v, kind) for v in value], value.elem)
    if isinstance(value, (tuple, list)):
        return type(value)(give_back(v, kind) for v in value)
    return raw_value(value)
