"""Inputs of other sizes, made from those that were given: what orders and counts them is kept.

Numbers are repeated.  Where the given numbers of an axis have a property that a module may rely on,
the new ones have it too: sorted numbers stay sorted, a permutation stays a permutation, offsets end
at the size of the tensor they divide, lengths add up to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

# A list of fewer numbers is often sorted by chance.
_SORTED = 3


def with_shapes(
    flat: Sequence[Any], shapes: Mapping[int, Sequence[int]], numbers: Mapping[int, int] = {}
) -> Iterator[list[Any]]:
    """Flattened inputs with other shapes.

    Args:
        shapes: the new shapes of tensors, by place among the inputs.
        numbers: new values of inputs that are Python integers, by place.

    Yields:
        The inputs, in one way after another where several properties hold of the given numbers;
        none if a property cannot hold at these sizes.

    Example:
        >>> items, offsets = torch.tensor([5, 3, 5, 8]), torch.tensor([0, 1, 4])
        >>> made = next(with_shapes([items, offsets], {0: [6], 1: [4]}))
        >>> made[1].tolist()
        [0, 2, 4, 6]
    """
    ways = {}
    for n, x in enumerate(flat):
        if isinstance(x, torch.Tensor):
            ways[n] = _ways(x, shapes.get(n, x.shape), _sizes(flat, shapes, n))
    for way in range(max(map(len, ways.values()), default=1)):
        if not all(ways.values()):
            return
        values = [numbers.get(n, x) for n, x in enumerate(flat)]
        for n, variants in ways.items():
            values[n] = variants[min(way, len(variants) - 1)]
        yield values


def invented(originals: Sequence[Any], resized: Sequence[Any]) -> list[int]:
    """The tensors whose new values may have lost what a module asks of them.

    Returns:
        The places of tensors of integers that were changed, and of sorted ones that are not sorted
        any more.
    """
    positions = []
    for n, (before, now) in enumerate(zip(originals, resized, strict=True)):
        if not isinstance(before, torch.Tensor) or not isinstance(now, torch.Tensor):
            continue
        changed = before is not now and not (
            before.shape == now.shape and bool(torch.equal(before, now))
        )
        if changed and (is_integer(before) or (is_sorted(before) and not _in_order(now))):
            positions.append(n)
    return positions


def is_sorted(x: torch.Tensor) -> bool:
    """Whether the last axis is sorted in every row, and not by the chance of a few numbers."""
    return x.ndim > 0 and x.shape[-1] >= _SORTED and x.dtype != torch.bool and _in_order(x)


def _in_order(x: torch.Tensor) -> bool:
    if not _is_plain(x):
        return False
    steps = x[..., 1:] - x[..., :-1]
    return bool((steps >= 0).all() or (steps <= 0).all())


def is_integer(x: torch.Tensor) -> bool:
    """Whether a tensor holds integers; truth values are not."""
    return not x.is_floating_point() and not x.is_complex() and x.dtype != torch.bool


def _is_plain(x: torch.Tensor) -> bool:
    """Whether the numbers can be read and compared."""
    plain = x.layout is torch.strided and not x.is_quantized and not x.is_meta
    return plain and not x.is_complex() and x.numel() > 0


def _sizes(flat: Sequence[Any], shapes: Mapping[int, Sequence[int]], own: int) -> dict[int, int]:
    """The new sizes of the other tensors, by their old sizes; those that change come first."""
    pairs = [
        (int(old), int(new))
        for n, x in enumerate(flat)
        if isinstance(x, torch.Tensor) and n != own
        for old, new in zip(x.shape, shapes.get(n, x.shape), strict=True)
        if old > 0
    ]
    new_sizes: dict[int, int] = {}
    for old, new in sorted(pairs, key=lambda pair: pair[0] == pair[1]):
        new_sizes.setdefault(old, new)
    return new_sizes


def _ways(x: torch.Tensor, shape: Sequence[int], sizes: Mapping[int, int]) -> list[torch.Tensor]:
    """A tensor with another shape, in each way that keeps a property of its numbers."""
    variants = [x.detach() if tuple(x.shape) != tuple(shape) else x]
    for axis, size in enumerate(shape):
        old, last = int(x.shape[axis]), axis == x.ndim - 1
        related = sizes if last and is_integer(x) and _is_plain(x) else {}
        if old == 0 or (old == size and not related):
            continue
        variants = [new for y in variants for new in _along(y, axis, int(size), related)]
    return variants


def _along(x: torch.Tensor, axis: int, size: int, related: Mapping[int, int]) -> list[torch.Tensor]:
    """A tensor with another size of one axis."""
    old = x.shape[axis]
    rows = torch.arange(size, device=x.device) % old
    if not _is_plain(x):
        return [x.index_select(axis, rows)]
    lines = x.movedim(axis, -1)
    flat = lines.reshape(-1, old)
    if x.dtype == torch.bool:
        ways = _kept_order(flat.to(torch.uint8), size)
    elif x.is_floating_point():
        ways = _kept_order(flat, size)
    else:
        ways = _integers(flat.long(), size, related)
    if old == size and not ways:
        return [x]
    return [
        way.to(x.dtype).reshape(*lines.shape[:-1], size).movedim(-1, axis).contiguous()
        for way in ways
    ]


def _kept_order(lines: torch.Tensor, size: int) -> list[torch.Tensor]:
    """Numbers of each line repeated; sorted ones stay sorted, different ones different."""
    count = lines.shape[1]
    steps = lines[:, 1:] - lines[:, :-1]
    if count == 1 or not ((steps >= 0).all() or (steps <= 0).all()):
        return [lines[:, torch.arange(size, device=lines.device) % count]]
    places = torch.linspace(0, count - 1, size, dtype=torch.float64, device=lines.device)
    low = places.floor().long()
    near = lines[:, places.round().long()]
    if not lines.is_floating_point() or (steps == 0).any() or not lines.isfinite().all():
        return [near]
    high = lines[:, (low + 1).clamp(max=count - 1)]
    near = lines[:, low]
    return [near + (high - near) * (places - low).to(lines.dtype)]


def _integers(
    lines: torch.Tensor, size: int, related: Mapping[int, int]
) -> list[torch.Tensor] | list[Any]:
    """Integers of each line; none if a relation to the size of another tensor cannot hold."""
    count, first, last = lines.shape[1], lines[:, :1], lines[:, -1:]
    steps = lines[:, 1:] - lines[:, :-1]
    rising, strict = bool((steps >= 0).all()), bool((steps > 0).all())
    ways: list[torch.Tensor] = []
    end = _common(last, related)
    if end is not None and rising and count > 1 and lines.min() >= 0:
        if size == 1:
            return []
        ways.append(_spread(first, torch.full_like(first, end), size, strict))
    total = _common(lines.sum(1, keepdim=True), related)
    if total is not None and count > 1 and lines.min() >= 0:
        ways.append(_shares(lines, total, size))
    largest = _common(lines.amax(1, keepdim=True), related)
    if largest is not None and end is None:
        (near,) = _kept_order(lines, size)
        top = near == lines.amax(1, keepdim=True)
        ways.append(near.masked_fill(top, largest).clamp(max=largest))
    if count == size and not ways:
        return [lines]
    own = torch.arange(count, device=lines.device).expand_as(lines)
    if count > 1 and torch.equal(lines.sort(1).values, own):
        grown = torch.arange(count, max(size, count), device=lines.device)
        longer = torch.cat([lines, grown.expand(len(lines), -1)], 1)
        ways.append(longer[longer < size].reshape(-1, size))
    if count > 1 and strict:
        if bool((steps == steps[:, :1]).all()):
            ways.append(first + steps[:, :1] * torch.arange(size, device=lines.device))
        ways.append(_spread(first, last, size, strict))
    (plain,) = _kept_order(lines, size)
    return [*ways, plain]


def _common(values: torch.Tensor, related: Mapping[int, int]) -> int | None:
    """The new size for a number that every line has, if it is the size of another tensor."""
    number = int(values[0])
    return related.get(number) if bool((values == number).all()) else None


def _spread(first: torch.Tensor, last: torch.Tensor, size: int, strict: bool) -> torch.Tensor:
    """Sorted integers of an even distance; different ones where there is room for them."""
    places = torch.arange(size, device=first.device)
    numbers = first + (last - first).clamp(min=0) * places // max(size - 1, 1)
    if strict and bool((last - first + 1 < size).any()):
        return first + places  # past the largest: there is no room below it
    return numbers


def _shares(lines: torch.Tensor, total: int, size: int) -> torch.Tensor:
    """Integers that add up to a total, about equal; sorted ones stay sorted."""
    share, rest = divmod(total, size)
    shares = torch.full((len(lines), size), share, device=lines.device)
    shares[:, :rest] += 1
    steps = lines[:, 1:] - lines[:, :-1]
    return shares.flip(1) if bool((steps >= 0).all()) else shares
