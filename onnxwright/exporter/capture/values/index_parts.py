"""The parts of an index in brackets: which axes each is about, and places beside tensors."""

from __future__ import annotations

from typing import Any

import torch


def axes_of(tensor: Any, index: tuple[Any, ...]) -> list[tuple[int | None, Any]]:
    """The parts of an index, each with the first axis that it is about; None for those of none.

    Args:
        tensor: the tensor that has the index.
        index: the parts.

    Example:
        >>> axes_of(torch.zeros(2, 3, 4), (None, 0, ..., slice(1)))
        [(None, None), (0, 0), (None, Ellipsis), (2, slice(None, 1, None))]
    """
    widths = [part.ndim if _is_mask(part) else int(part is not None) for part in index]
    widths = [0 if part is Ellipsis else width for part, width in zip(index, widths)]
    axis, parts_with_axes = 0, []
    for part, width in zip(index, widths):
        parts_with_axes.append((axis if width else None, part))
        axis += tensor.dim() - sum(widths) if part is Ellipsis else width
    return parts_with_axes


def at_places(tensor: Any, index: Any) -> tuple[Any, Any]:
    """The part of a tensor at the places of run time of an index, and the rest of the index.

    Torch takes that part first, too, but beside other tensors it needs numbers of Python for it.

    Args:
        tensor: the tensor; the part is a view of it.
        index: the index; as it is without other tensors.

    Example:
        >>> at_places(torch.tensor([[1, 2], [3, 4]]), (torch.tensor(1), [0, 0]))
        (tensor([3, 4]), ([0, 0],))
    """
    if not isinstance(index, tuple) or not any(map(_has_places, index)):
        return tensor, index
    rest = []
    for axis, part in reversed(axes_of(tensor, index)):
        if axis is not None and _is_place(part):
            place = part.item() if isinstance(part, torch.Tensor) else part
            tensor = tensor.select(axis, place)
        else:
            rest.append(part)
    return tensor, tuple(reversed(rest))


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8)


def _has_places(part: Any) -> bool:
    """Whether a part of an index is a mask, or has several places."""
    return isinstance(part, list) or (isinstance(part, torch.Tensor) and bool(part.ndim))


def _is_place(part: Any) -> bool:
    """Whether a part of an index is one place of run time."""
    if isinstance(part, torch.Tensor):
        return not part.ndim and not part.dtype.is_floating_point and not _is_mask(part)
    return isinstance(part, torch.SymInt)
