"""Shapes with unknowns, against numpy and against what an instance of them can be."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onnxwright.types.shapes import (
    Shape,
    broadcast,
    compatible,
    refine,
    size_of,
    unify,
)

NUMBERS = st.integers(0, 3)
DIMS = st.one_of(NUMBERS, st.sampled_from(["N", "M", None]))
SHAPES = st.lists(DIMS, max_size=3).map(tuple)
CONCRETE = st.lists(NUMBERS, max_size=3).map(tuple)


def instances(*shapes: Shape) -> list[tuple[tuple[int, ...], ...]]:
    """Every way to put numbers for the unknowns (the same for the same name)."""
    spots: list[object] = []
    for i, shape in enumerate(shapes):
        for j, dim in enumerate(shape):
            key = dim if isinstance(dim, str) else (i, j)
            if not isinstance(dim, int) and key not in spots:
                spots.append(key)
    found = []
    for numbers in itertools.product((0, 1, 2, 3), repeat=len(spots)):
        chosen = dict(zip(spots, numbers, strict=True))
        found.append(
            tuple(
                tuple(
                    d if isinstance(d, int) else chosen[d if isinstance(d, str) else (i, j)]
                    for j, d in enumerate(shape)
                )
                for i, shape in enumerate(shapes)
            )
        )
    return found


def is_instance(concrete: tuple[int, ...], shape: Shape) -> bool:
    return len(concrete) == len(shape) and all(
        not isinstance(d, int) or d == c for c, d in zip(concrete, shape, strict=True)
    )


@given(st.lists(CONCRETE, min_size=1, max_size=3))
def test_broadcast_of_numbers_is_numpys(shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        assert broadcast(*shapes) is None
    else:
        assert broadcast(*shapes) == expected


@given(st.lists(DIMS, max_size=2).map(tuple), st.lists(DIMS, max_size=2).map(tuple))
def test_broadcast_with_unknowns_holds_for_every_instance(a: Shape, b: Shape) -> None:
    result = broadcast(a, b)
    for x, y in instances(a, b):
        try:
            expected = np.broadcast_shapes(x, y)
        except ValueError:
            continue
        assert result is not None
        assert is_instance(expected, result)


@given(SHAPES, SHAPES)
def test_broadcast_keeps_the_names_it_can(a: Shape, b: Shape) -> None:
    assert broadcast(a, a) == a
    assert broadcast(a, ()) == a
    assert broadcast(a, b) == broadcast(b, a)
    assert broadcast(a, None) is None


@given(SHAPES, SHAPES)
def test_unify_covers_both(a: Shape, b: Shape) -> None:
    both = unify(a, b)
    assert both == unify(b, a)
    assert unify(a, a) == a
    assert (both is None) == (len(a) != len(b))
    if both is not None:
        assert compatible(a, both)
        assert compatible(b, both)
        assert unify(both, a) == both


@given(SHAPES, SHAPES)
def test_compatible_is_about_some_common_instance(a: Shape, b: Shape) -> None:
    assert compatible(a, b) == compatible(b, a)
    assert compatible(a, None)
    # Names are taken for themselves in each shape, so the same name may differ between two.
    loose = len(a) == len(b) and all(
        not (isinstance(x, int) and isinstance(y, int)) or x == y for x, y in zip(a, b, strict=True)
    )
    assert compatible(a, b) == loose


@given(SHAPES, SHAPES)
def test_refine_knows_what_either_knows(a: Shape, b: Shape) -> None:
    assert refine(a, None) == refine(None, a) == a
    if compatible(a, b):
        more = refine(a, b)
        assert more is not None
        for x, y, z in zip(a, b, more, strict=True):
            assert z == x or (z == y and not isinstance(x, int))
            assert z is not None or (x is None and y is None)


@given(CONCRETE)
def test_size(shape: tuple[int, ...]) -> None:
    assert size_of(shape) == int(np.prod(shape, dtype=int))
    assert size_of((*shape, "N")) is None
    assert size_of(None) is None
