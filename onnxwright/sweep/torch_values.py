"""Tensors of PyTorch as values of ours and back; complex ones as two parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from onnxwright.atenlib.complexes import Complex
from onnxwright.eager.tensor import wrap
from onnxwright.exporter.torch_types import to_numpy, to_torch


def feed_of(tensors: Sequence[torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """Tensors as the inputs `x0`, `x1` ... of a model; complex ones with a last axis of two.

    Returns:
        Arrays by name.

    Example:
        >>> {k: v.shape for k, v in feed_of([torch.ones(3), torch.ones(2) * 1j]).items()}
        {'x0': (3,), 'x1': (2, 2)}
    """
    feeds = {}
    for n, tensor in enumerate(tensors):
        array = to_numpy(tensor)
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], axis=-1)
        feeds[f"x{n}"] = array
    return feeds


def to_value(tensor: torch.Tensor) -> Any:
    """A tensor as an eager value; a complex one as a `Complex`."""
    array = to_numpy(tensor)
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
    """
    if isinstance(value, Complex):
        parts = from_value(value.real), from_value(value.imag)
        return torch.complex(*parts)
    if isinstance(value, (list, tuple)):
        return [from_value(v) for v in value]
    array = getattr(value, "value", None)
    return to_torch(array) if isinstance(array, np.ndarray) else value
