"""Reshapes, transposes, slices and joins that something simpler can replace."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.builder.carrying import kind_of
from onnxwright.optimizer.drawing import Draw, float_type, floats, sizes
from onnxwright.optimizer.number import number, numbers
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rules import rule
from onnxwright.optimizer.value_facts import facts
from onnxwright.types.kinds import TensorType


def _to_shape(rng: Any) -> Draw:
    batch, length = (int(n) for n in rng.integers(0, 5, size=2))
    return {
        "x": floats(rng, (batch, length, 6)),
        "like": floats(rng, (batch, length, 2, 3)),
        "s": np.array([batch, length, 3, 2]),
        "dims": {"x": ("b", "l", 6), "like": ("b", "l", 2, 3)},
    }


@rule(cases=_to_shape)
def known_reshape(op: Any, x: Any, s: Any) -> Any:
    """Reshape to a computed shape whose dimensions are known: those that stay are 0."""
    return op.Reshape(x, s)


@known_reshape.also
def _(op: Any, x: Any, like: Any) -> Any:
    return op.Reshape(x, op.Shape(like))


def _reshaped(op: Any, x: Any, wanted: Any) -> Any:
    if wanted is None or x.shape is None or None in wanted:
        return None
    shape: list[int] = []
    for n, d in enumerate(wanted):
        if isinstance(d, int):
            if d == 0:
                return None
            shape.append(d)
        elif n < len(x.shape) and x.shape[n] == d:
            shape.append(0)
        else:
            shape.append(-1)
    if shape.count(-1) > 1 or (-1 in shape and 0 in shape):
        return None  # of an empty tensor, -1 would be anything
    return op.Reshape(x, shape)


@known_reshape.to
def _(op: Any, x: Any, s: Any, match: Any) -> Any:
    if s is not None and s.constant is not None:
        return None
    result = match.kinds[0]
    return _reshaped(op, x, None if result is None else result.shape)


def _both_reshaped(rng: Any) -> Draw:
    return {"x": floats(rng, (2, 6, 1)), "one": np.array([3, -1]), "other": np.array([0, 2, -1])}


@rule(cases=_both_reshaped)
def reshape_of_reshape(op: Any, x: Any, one: Const, other: Const) -> Any:
    """Reshape of a Reshape: the last one alone, its zeros written as numbers."""
    return op.Reshape(op.Reshape(x, one), other)


@reshape_of_reshape.to
def _(op: Any, x: Any, other: Any, match: Any) -> Any:
    wanted = numbers(other)
    inner = kind_of(match.roots[0].inputs[0])
    middle = inner.shape if isinstance(inner, TensorType) else None
    if wanted is None or middle is None or x.shape is None:
        return None
    shape: list[int] = []
    for n, d in enumerate(wanted):
        if d != 0:
            shape.append(d)
            continue
        copied = middle[n] if n < len(middle) else None
        if isinstance(copied, int) and copied != 0:
            shape.append(copied)
        elif copied is not None and n < len(x.shape) and x.shape[n] == copied:
            shape.append(0)
        else:
            return None
    if -1 in shape and 0 in shape:
        return None
    return op.Reshape(x, shape)


def _transposed(rng: Any) -> Draw:
    perm = [int(n) for n in rng.permutation(3)]
    return {"x": floats(rng, sizes(rng, 3, 3), float_type(rng)), "perm": perm}


@rule(cases=_transposed)
def transpose_of_ones(op: Any, x: Any, perm: Attr) -> Any:
    """A Transpose that moves axes of length 1 only is a Reshape with known dimensions."""
    return op.Transpose(x, perm=perm)


@transpose_of_ones.to
def _(op: Any, x: Any, perm: Any) -> Any:
    if x.shape is None or perm is None:
        return None
    moved = [axis for axis in perm if x.shape[axis] != 1]
    if moved != sorted(moved) or any(not isinstance(x.shape[a], int) for a in moved[:-1]):
        return None
    made = [x.shape[axis] for axis in perm]
    if any(d == 0 for d in made):
        return None
    return op.Reshape(x, [d if isinstance(d, int) else -1 for d in made])


_UNSET = (1 << 31) - 1


def _cut(rng: Any) -> Draw:
    axis = int(rng.choice([1, -1]))
    return {
        "x": floats(rng, (2, 6)), "a": np.array([0]), "b": np.array([2]), "c": np.array([2]),
        "d": np.array([int(rng.choice([6, _UNSET]))]), "axis": np.array([axis]),
    }  # fmt: skip


@rule(since=13, cases=_cut)
def slices_to_split(op: Any, x: Any, a: Const, b: Const, c: Const, d: Const, axis: Const) -> Any:
    """Two Slices that cut an axis in two parts are one Split."""
    return op.Slice(x, a, b, axis), op.Slice(x, c, d, axis)


@slices_to_split.also
def _(op: Any, x: Any, a: Const, b: Const, c: Const, d: Const, axis: Const) -> Any:
    return op.Slice(x, a, b, axis, [1]), op.Slice(x, c, d, axis, [1])


@slices_to_split.to
def _(op: Any, x: Any, a: Any, b: Any, c: Any, d: Any, axis: Any) -> Any:
    cuts = [numbers(v) for v in (a, b, c, d, axis)]
    if x.shape is None or any(v is None or len(v) != 1 for v in cuts):
        return None
    first, middle, start, end, place = (v[0] for v in cuts if v is not None)
    size = x.shape[place]
    if not isinstance(size, int):
        return None
    first, middle, start, end = (_bounded(n, size) for n in (first, middle, start, end))
    if (first, start, end) == (0, middle, size) and 0 < middle < size:
        return op.Split(x, [middle, size - middle], axis=place)
    if (start, end, first, middle) == (0, first, first, size) and 0 < first < size:
        return tuple(reversed(op.Split(x, [first, size - first], axis=place)))
    return None


def _bounded(n: int, size: int) -> int:
    return max(0, min(size, n + size if n < 0 else n))


def _split_and_joined(rng: Any) -> Draw:
    return {"x": floats(rng, (4, 3)), "axis": 0, "rest": {"num_outputs": 2}}


@rule(since=18, cases=_split_and_joined)
def concat_of_split(op: Any, x: Any, axis: Attr, rest: Attrs) -> Any:
    """Both parts of a Split joined again."""
    a, b = op.Split(x, axis=axis, _outputs=2, **rest)
    return op.Concat(a, b, axis=axis)


@concat_of_split.to
def _(op: Any, x: Any) -> Any:
    del op
    return x


def _expanded(rng: Any) -> Draw:
    length = int(rng.integers(2, 5))
    x = floats(rng, (1, 3))
    return {"x": x, "like": floats(rng, (length, 1)), "y": floats(rng, (length, 3)),
            "s": np.array([length, 3])}  # fmt: skip


@rule(cases=_expanded)
def expand_into_add(op: Any, x: Any, s: Any, y: Any) -> Any:
    """An Expand that the Add after it does again by itself."""
    return op.Expand(x, s) + y


@expand_into_add.also
def _(op: Any, x: Any, like: Any, y: Any) -> Any:
    return op.Expand(x, op.Shape(like)) + y


@rule(cases=_expanded)
def expand_into_mul(op: Any, x: Any, s: Any, y: Any) -> Any:
    """An Expand that the Mul after it does again by itself."""
    return op.Expand(x, s) * y


@expand_into_mul.also
def _(op: Any, x: Any, like: Any, y: Any) -> Any:
    return op.Expand(x, op.Shape(like)) * y


def _does_nothing(s: Any, like: Any, y: Any) -> bool:
    """Whether `y` has the dimensions of the Expand already."""
    dims = facts(s).dims if like is None else like.shape
    if not isinstance(dims, tuple) or y.shape is None or None in dims or len(dims) > len(y.shape):
        return False
    other = y.shape[len(y.shape) - len(dims) :]
    return all(d in (1, o) for d, o in zip(dims, other, strict=True))


@expand_into_add.to
def _(op: Any, x: Any, s: Any, like: Any, y: Any) -> Any:
    return op.Add(x, y) if _does_nothing(s, like, y) else None


@expand_into_mul.to
def _(op: Any, x: Any, s: Any, like: Any, y: Any) -> Any:
    return op.Mul(x, y) if _does_nothing(s, like, y) else None


def _gathered(rng: Any) -> Draw:
    return {"x": floats(rng, (3, 2)), "i": np.array(int(rng.integers(3)))}


@rule(since=13, cases=_gathered)
def gather_then_unsqueeze(op: Any, x: Any, i: Const) -> Any:
    """One row taken as a scalar index and put back as an axis: an index of one element."""
    return op.Unsqueeze(op.Gather(x, i), [0])


@gather_then_unsqueeze.to
def _(op: Any, x: Any, i: Any) -> Any:
    index = number(i)
    if index is None or i.rank != 0:
        return None
    return op.Gather(x, np.array([int(index)], i.constant.dtype))
