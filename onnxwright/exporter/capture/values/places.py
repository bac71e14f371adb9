"""Places of items that are known when the model runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def tensor_of(number: Any) -> torch.Tensor:
    """A tensor without axes of a tensor of one element or a symbolic number."""
    if isinstance(number, torch.Tensor):
        return number.reshape(())
    if isinstance(number, torch.SymBool):
        return torch.scalar_tensor(number, dtype=torch.bool)
    return torch.full(
        (), number, dtype=torch.get_default_dtype() if isinstance(number, float) else torch.int64
    )


def checked_place(place: torch.Tensor, count: int) -> torch.Tensor:
    """A place, from 0; from the end where negative.  The model raises an error for others."""
    places = torch.arange(count, device=place.device)
    return torch.ops.aten.index.Tensor(places, [place.to(torch.int64)])


def place_of_key(wanted: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    """The place of a key, one that does not exist for others."""
    place = torch.full_like(wanted, len(keys), dtype=torch.int64)
    for n, key in enumerate(keys):
        place = torch.where(wanted == key, n, place)
    return place
