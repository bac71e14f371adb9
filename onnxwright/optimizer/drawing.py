"""Inputs for the proofs of rules: shapes and arrays drawn from a random generator."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Draw: TypeAlias = dict[str, Any]
"""What a `cases` function returns: arrays for parameters, values for captured attributes."""

_TYPES = (np.float32, np.float32, np.float64, np.float16)


def sizes(rng: np.random.Generator, least: int, most: int) -> tuple[int, ...]:
    """A shape of `least` to `most` dimensions of 1 to 5 elements.

    Args:
        rng: the generator.
        least, most: how many dimensions.

    Returns:
        The shape.
    """
    rank = int(rng.integers(least, most + 1))
    return tuple(int(d) for d in rng.integers(1, 6, size=rank))


def floats(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float32
) -> np.ndarray[Any, Any]:
    """An array of normally distributed numbers.

    Args:
        rng: the generator.
        shape: its shape.
        dtype: its type.

    Returns:
        The array.
    """
    return np.asarray(rng.normal(size=shape), dtype)


def float_type(rng: np.random.Generator) -> Any:
    """One of the floating-point types."""
    return _TYPES[int(rng.integers(len(_TYPES)))]
