"""What the proof of a rule draws where the rule gives no `cases`: shapes, attributes, arrays.

Nothing is drawn symmetric by default: sizes of one shape differ, most permutations are not their
own inverse, and attributes have other values than their defaults.  Equal sizes are drawn as well,
because a rule that exchanges axes is used only where the types agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from onnxwright.opset.registry import AttrParam
from onnxwright.types.kinds import AttrKind

Array = np.ndarray[Any, Any]

MOST_AXES = 4
# Operators of one floating-point input that keep type and shape: facts such as `made_by` see them.
PRODUCERS = ("Abs", "Relu", "Exp", "Sigmoid", "Sqrt", "Neg", "Tanh", "Softplus")
_FLAGS = frozenset({
    "exclusive", "fmod", "keepdims", "largest", "noop_with_empty_axes", "reverse",
    "select_last_index", "sorted", "transA", "transB",
})  # fmt: skip
_ELEMENT_TYPES = (1, 6, 7, 9, 10, 11)


def draw_shape(rng: np.random.Generator, ranks: Iterable[int]) -> tuple[int, ...]:
    """A shape: half of them of sizes that all differ, some of equal sizes, some with 0 and 1.

    Args:
        ranks: the numbers of axes to choose from.
    """
    rank = int(rng.choice(list(ranks)))
    how = int(rng.integers(4))
    if how < 2:
        return tuple(int(d) for d in rng.permutation([2, 3, 4, 5, 7])[:rank])
    if how == 2:
        return (int(rng.integers(2, 4)),) * rank
    return tuple(int(d) for d in rng.choice([0, 1, 2, 3, 5], size=rank))


def draw_permutation(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    """A permutation of axes, three in four of them not their own inverse (from three axes on)."""
    plain = rank < 3 or rng.integers(4) == 0
    while True:
        perm = tuple(int(n) for n in rng.permutation(rank))
        if plain or any(perm[perm[n]] != n for n in range(rank)):
            return perm


def draw_axes(rng: np.random.Generator, rank: int) -> list[int]:
    """Some different axes, in any order, counted from the front or from the back."""
    count = int(rng.integers(1, rank + 1)) if rank else 0
    chosen = rng.permutation(rank)[:count]
    return [int(n) - (rank if rng.integers(2) else 0) for n in chosen]


def draw_attribute(rng: np.random.Generator, param: AttrParam, rank: int) -> Any:
    """A value of an attribute.

    Args:
        rank: how many axes the inputs have.

    Returns:
        The value; None for the default, and where no value can be drawn by name and kind alone.
    """
    name, kind = param.name, param.kind
    if not param.required and rng.integers(5) == 0:
        return None
    if kind is AttrKind.INTS and name == "perm":
        return list(draw_permutation(rng, rank))
    if kind is AttrKind.INTS and name == "axes":
        return draw_axes(rng, rank)
    if kind is AttrKind.INT and name == "axis":
        return int(rng.integers(-rank, rank)) if rank else 0
    if kind is AttrKind.INT and name == "to":
        return int(rng.choice(_ELEMENT_TYPES))
    if kind is AttrKind.INT and name in _FLAGS:
        return int(rng.integers(2))
    if kind is AttrKind.FLOAT:
        number = 10.0 ** -int(rng.integers(2, 7)) if name == "epsilon" else rng.normal() * 2
        return float(np.float32(round(number, 6)))
    return None


def draw_integers(rng: np.random.Generator, name: str, rank: int) -> Array:
    """Integers for an input that takes no floating-point numbers.

    Args:
        rank: how many axes the other inputs have.

    Returns:
        INT64: axes for `axes`, else small numbers, as many as there are axes.
    """
    if name == "axes":
        return np.array(draw_axes(rng, rank), np.int64)
    return rng.integers(1, 4, size=rank).astype(np.int64)
