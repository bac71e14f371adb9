"""Weights whose class wraps other tensors, as quantized ones of torchao: what they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


@dataclass(frozen=True)
class Wrapped:
    """The value of a weight that is made of others.

    Fields:
        parts: the name of each inner tensor -> its value, or a `Wrapped` again.
    """

    parts: dict[str, Any]


class Part(NamedTuple):
    """An inner tensor: the attribute that holds it, its full name, and the tensor."""

    attr: str
    name: str
    tensor: torch.Tensor


def is_wrapper(tensor: Any) -> bool:
    """Whether a tensor is of a class that wraps others, with `__tensor_flatten__`.

    Source: torch.utils._python_dispatch.is_traceable_wrapper_subclass.

    Example:
        >>> import torch
        >>> is_wrapper(torch.ones(2))
        False
    """
    return bool(is_traceable_wrapper_subclass(tensor))


def inner_tensors(name: str, tensor: Any) -> list[Part]:
    """The tensors that a wrapper is made of; names continue its name: `linear.weight.scale`."""
    attrs, _ = tensor.__tensor_flatten__()
    return [Part(attr, f"{name}.{attr}", getattr(tensor, attr)) for attr in attrs]


def all_inner_tensors(name: str, tensor: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and plain tensors that a weight is made of, through wrappers of wrappers."""
    if not is_wrapper(tensor):
        yield name, tensor
        return
    for part in inner_tensors(name, tensor):
        yield from all_inner_tensors(part.name, part.tensor)
