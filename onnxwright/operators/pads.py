"""What a Pad adds on each side, and the same as the `pads` of a window operator after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def sides_of_pad(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> list[int] | None:
    """How much a Pad adds before each axis, then after each.

    Args:
        pads: what it adds to its axes: first before each, then after each.
        axes: its axes, negative ones counted from the end; None for all.

    Returns:
        Two numbers for each axis of the input; None where something is cut off, or the axes do not
        fit.

    Source:
        ONNX Pad 18.

    Example:
        >>> sides_of_pad([1, 2], [-1], 3)
        [0, 0, 1, 0, 0, 2]
    """
    places = range(rank) if axes is None else axes
    if min(pads, default=0) < 0 or len(pads) != 2 * len(places):
        return None
    sides = [0] * (2 * rank)
    for n, axis in enumerate(places):
        if not -rank <= axis < rank:
            return None
        sides[axis % rank] += pads[n]
        sides[rank + axis % rank] += pads[len(places) + n]
    return sides


def with_pads(attributes: Mapping[str, Any], sides: Sequence[int]) -> dict[str, Any] | None:
    """The attributes of a convolution or pool that takes in the Pad before it.

    Args:
        sides: what the Pad adds, as `sides_of_pad` gives it.

    Returns:
        The attributes with longer `pads`; None where the Pad adds to the batch or the channels, or
        the pads are not known.

    Source:
        ONNX Conv 11: `pads` and `auto_pad`.

    Example:
        >>> with_pads({"pads": [1, 1]}, [0, 0, 2, 0, 0, 0])
        {'pads': [3, 1]}
    """
    rank = len(sides) // 2
    before = attributes.get("pads") or [0] * (2 * rank - 4)
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    if any(sides[:2]) or any(sides[rank : rank + 2]) or not isinstance(before, (list, tuple)):
        return None
    added = [*sides[2:rank], *sides[rank + 2 :]]
    if len(before) != len(added):
        return None
    pads = [a + int(b) for a, b in zip(added, before, strict=True)]
    return {**{k: v for k, v in attributes.items() if k != "auto_pad"}, "pads": pads}
