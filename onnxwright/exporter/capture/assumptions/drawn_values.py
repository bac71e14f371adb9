"""Values that inputs are compared with: those of the example, and others drawn by a seed.

A module and what was captured of it may agree for most numbers and differ for some: for negative
ones, for zeros, where two numbers are equal, for masks that leave out something.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Sequence
from typing import Any

import torch


class Draw(enum.Enum):
    """Which values inputs have.

    Members:
        GIVEN: those of the example.
        SCALED: numbers near those of the example, of the same signs.
        SIGNED: numbers of both signs; masks leave out everything.
        TIED: -1, 0 and 1, so that many are equal.
        ZERO: zeros.
        LARGE: numbers of both signs, a hundred times as large.
    """

    GIVEN = 0
    SCALED = 1
    SIGNED = 2
    TIED = 3
    ZERO = 4
    LARGE = 5


# How much larger `Draw.LARGE` is, and by how much its rounding errors are.
LARGER = 100.0


def drawn(flat: Sequence[Any], example: Sequence[Any], draw: Draw, label: str) -> list[Any]:
    """Inputs with other values.

    Integers stay in the range that they have in the example, and in order where they are: they may
    be indices or offsets.  Those that are all 0 or 1, and truth values, are masks.

    Args:
        flat: flattened inputs.
        example: those of the example, perhaps of other sizes.
        draw: which values.
        label: what the values are drawn for; it is the seed, so that no other comparison matters.

    Returns:
        The inputs; what is not a dense tensor stays as it is.

    Example:
        >>> x, i = torch.ones(2, 2), torch.tensor([3, 5, 9])
        >>> zeros, same = drawn([x, i], [x, i], Draw.ZERO, "n is 1")
        >>> zeros.tolist(), bool((same.diff() >= 0).all()), int(same.min()) >= 3
        ([[0.0, 0.0], [0.0, 0.0]], True, True)
    """
    if draw is Draw.GIVEN:
        return list(flat)
    random = torch.Generator().manual_seed(zlib.crc32(f"{label} {draw.name}".encode()))
    return [
        _drawn(x, old, draw, random)
        if isinstance(x, torch.Tensor) and x.layout is torch.strided and x.numel()
        else x
        for x, old in zip(flat, example, strict=True)
    ]


def _drawn(x: Any, old: Any, draw: Draw, random: torch.Generator) -> Any:
    old = old.detach() if isinstance(old, torch.Tensor) and old.numel() else x.detach()
    if x.is_floating_point() or x.is_complex():
        return _numbers(x.detach(), old, draw, random)
    if x.dtype is torch.bool or not bool(((old != 0) & (old != 1)).any()):
        return _mask(x, draw, random)
    return _integers(x, old, draw, random)


def _numbers(x: Any, old: Any, draw: Draw, random: torch.Generator) -> Any:
    """Numbers of the size of those of the example; what is infinite stays."""
    wide = torch.complex128 if x.is_complex() else torch.float64
    size = old.abs().double().nan_to_num(0, 0, 0).square().mean().sqrt()
    size = float(size) or 1.0
    if draw is Draw.ZERO:
        found = torch.zeros(x.shape, dtype=wide)
    elif draw is Draw.SCALED:
        found = x.to(wide) * (0.5 + torch.rand(x.shape, generator=random))
    elif draw is Draw.TIED:
        found = torch.randint(-1, 2, x.shape, generator=random).to(wide)
    else:
        found = torch.randn(x.shape, dtype=wide, generator=random) * size
        found = found * LARGER if draw is Draw.LARGE else found
    return torch.where(x.isfinite(), found.to(x.device, x.dtype), x)


def _mask(x: Any, draw: Draw, random: torch.Generator) -> Any:
    """A mask: nothing of it, or no row without any."""
    if draw is Draw.SIGNED:
        return torch.zeros_like(x)
    found = torch.rand(x.shape, generator=random) > 0.3
    if x.ndim:
        found[..., :1] = True
    return found.to(x.device, x.dtype)


def _integers(x: Any, old: Any, draw: Draw, random: torch.Generator) -> Any:
    """Integers in the range of those of the example; its least and its largest ones, too."""
    low, high = int(old.min()), int(old.max())
    if draw in (Draw.ZERO, Draw.LARGE):
        return torch.full_like(x, low if draw is Draw.ZERO else high)
    found = torch.randint(low, high + 1, x.shape, generator=random)
    if x.ndim and old.ndim and bool((old.diff(dim=-1) >= 0).all()):
        found = found.sort(-1).values
    return found.to(x.device, x.dtype)


__all__ = ["LARGER", "Draw", "drawn"]
