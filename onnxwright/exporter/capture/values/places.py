"""Places of items that are known when the model runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.number_forms import as_tensor


def tensor_of(number: Any) -> torch.Tensor:
    """A tensor without axes of a tensor of one element or a symbolic number."""
    return as_tensor(number).reshape(()) if isinstance(number, torch.Tensor) else as_tensor(number)


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
