"""Questions that replacements ask of values: the number of a constant, axes, permutations."""

from __future__ import annotations

from typing import Any


def number(value: Any) -> float | None:
    """The number that a constant of one element holds.

    Args:
        value: a value of the graph being built, or None.

    Returns:
        The number; None where it is not known, or there are several.
    """
    array = None if value is None else value.constant
    return None if array is None or array.size != 1 else float(array.reshape(()).item())


def numbers(value: Any) -> list[int] | None:
    """The integers that a constant vector holds, None where they are not known."""
    array = None if value is None else value.constant
    if array is None or array.dtype.kind not in "iu":
        return None
    return [int(n) for n in array.reshape(-1)]
