"""Reshapes, transposes, slices and joins that something simpler can replace."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.optimizer.building import runs
from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, float_type, floats, sizes
from onnxwright.optimizer.patterns import Attr, Computed, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.optimizer.value_facts import facts
from onnxwright.tracing.carrying import kind_of
from onnxwright.types.kinds import TensorType


def _to_shape(rng: Any) -> Draw:
    batch, length = (int(n) for n in rng.integers(0, 5, size=2))
    return {
        "x": floats(rng, (batch, length, 6)),
        "like": floats(rng, (batch, length, 2, 3)),
        "s": np.array([batch, length, 3, 2]),
        "allowzero": int(rng.integers(2)),
        "dims": {"x": ("b", "l", 6), "like": ("b", "l", 2, 3)},
    }


@rule(cases=_to_shape)
def known_reshape(op: Op, x: Value, s: Computed, allowzero: Attr) -> Any:
    """Reshape to a computed shape whose dimensions are known: those that stay are 0."""
    return op.Reshape(x, s, allowzero=allowzero)


@known_reshape.also
def _(op: Op, x: Value, s: Const) -> Any:
    return op.Reshape(x, s, allowzero=1)


@known_reshape.also
def _(op: Op, x: Value, like: Any) -> Any:
    return op.Reshape(x, op.Shape(like))


def _reshaped(op: Any, x: Any, dims: Any) -> Any:
    if dims is None or x.shape is None:
        return None
    shape: list[int] = []
    for n, d in enumerate(dims):
        if isinstance(d, int):
            if d == 0:
                return None
            shape.append(d)
        elif d is not None and n < len(x.shape) and x.shape[n] == d:
            shape.append(0)
        else:
            shape.append(-1)
    if shape.count(-1) > 1 or (-1 in shape and 0 in shape):
        return None  # of an empty tensor, -1 would be anything
    return op.Reshape(x, shape)


@known_reshape.to
def _(op: Any, x: Any, s: Any, match: Any) -> Any:
    if s is not None and s.constant is not None:
        shape = numbers(s)
        return op.Reshape(x, s) if shape and 0 not in shape else None
    result = match.kinds[0]
    return _reshaped(op, x, None if result is None else result.shape)


def _both_reshaped(rng: Any) -> Draw:
    return {"x": floats(rng, (2, 6, 1)), "one": np.array([3, -1]), "other": np.array([0, 2, -1])}


@rule(cases=_both_reshaped)
def reshape_of_reshape(op: Op, x: Value, one: Const, other: Const) -> Any:
    """Reshape of a Reshape: the last one alone, its zeros written as numbers."""
    return op.Reshape(op.Reshape(x, one), other)


@reshape_of_reshape.to
def _(op: Op, x: Value, other: Value, match: Any) -> Any:
    dims = numbers(other)
    inner = kind_of(match.roots[0].inputs[0])
    middle = inner.shape if isinstance(inner, TensorType) else None
    if dims is None or middle is None or x.shape is None:
        return None
    shape: list[int] = []
    for n, d in enumerate(dims):
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
def transpose_of_ones(op: Op, x: Value, perm: Attr) -> Any:
    """A Transpose that moves axes of length 1 only is a Reshape with known dimensions."""
    return op.Transpose(x, perm=perm)


@transpose_of_ones.to
def _(op: Op, x: Value, perm: Any, match: Any) -> Any:
    if x.shape is None or perm is None:
        return None
    moved = [axis for axis in perm if x.shape[axis] != 1]
    named = any(not isinstance(x.shape[a], int) for a in moved[:-1])
    if named and not _is_beside_reshape(match.roots[0]):
        return None  # one node for one, and the numbers of the shape
    return _reshaped(op, x, [x.shape[a] for a in perm]) if moved == sorted(moved) else None


def _is_beside_reshape(node: ir.Node) -> bool:
    """Whether a Reshape before or after a node could become one with it."""
    before = node.inputs[0].producer() if node.inputs[0] is not None else None
    beside = [before, *(use.node for use in node.outputs[0].uses())]
    return any(n is not None and n.op_type == "Reshape" for n in beside)


_UNSET = (1 << 31) - 1


def _cut(rng: Any) -> Draw:
    axis = int(rng.choice([1, -1]))
    return {
        "x": floats(rng, (2, 6)), "a": np.array([0]), "b": np.array([2]), "c": np.array([2]),
        "d": np.array([int(rng.choice([6, _UNSET]))]), "axis": np.array([axis]),
    }  # fmt: skip


@rule(since=13, cases=_cut)
def slices_to_split(op: Op, x: Value, a: Const, b: Const, c: Const, d: Const, axis: Const) -> Any:
    """Two Slices that cut an axis in two parts are one Split."""
    return op.Slice(x, a, b, axis), op.Slice(x, c, d, axis)


@slices_to_split.also
def _(op: Op, x: Value, a: Const, b: Const, c: Const, d: Const, axis: Const) -> Any:
    return op.Slice(x, a, b, axis, [1]), op.Slice(x, c, d, axis, [1])


@slices_to_split.to
def _(op: Op, x: Value, a: Value, b: Value, c: Value, d: Value, axis: Any) -> Any:
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


def _expanded(rng: Any) -> Draw:
    length = int(rng.integers(2, 5))
    x = floats(rng, (1, 3))
    return {"x": x, "like": floats(rng, (length, 1)), "y": floats(rng, (length, 3)),
            "s": np.array([length, 3])}  # fmt: skip


@rule(cases=_expanded)
def expand_into_add(op: Op, x: Value, s: Value, y: Value) -> Any:
    """An Expand before an Add that broadcasts anyway."""
    return op.Expand(x, s) + y


@expand_into_add.also
def _(op: Op, x: Value, like: Any, y: Value) -> Any:
    return op.Expand(x, op.Shape(like)) + y


@rule(cases=_expanded)
def expand_into_mul(op: Op, x: Value, s: Value, y: Value) -> Any:
    """An Expand before a Mul that broadcasts anyway."""
    return op.Expand(x, s) * y


@expand_into_mul.also
def _(op: Op, x: Value, like: Any, y: Value) -> Any:
    return op.Expand(x, op.Shape(like)) * y


def _does_nothing(s: Any, like: Any, y: Any) -> bool:
    """Whether `y` has the dimensions of the Expand already."""
    dims = facts(s).dims if like is None else like.shape
    if not isinstance(dims, tuple) or y.shape is None or None in dims or len(dims) > len(y.shape):
        return False
    other = y.shape[len(y.shape) - len(dims) :]
    return all(d in (1, o) for d, o in zip(dims, other, strict=True))


@expand_into_add.to
def _(op: Op, x: Value, s: Value, like: Any, y: Value) -> Any:
    return op.Add(x, y) if _does_nothing(s, like, y) else None


@expand_into_mul.to
def _(op: Op, x: Value, s: Value, like: Any, y: Value) -> Any:
    return op.Mul(x, y) if _does_nothing(s, like, y) else None


def _gathered(rng: Any) -> Draw:
    return {"x": floats(rng, (3, 2)), "i": np.array(int(rng.integers(3)))}


@rule(since=13, cases=_gathered)
def gather_then_unsqueeze(op: Op, x: Value, i: Const) -> Any:
    """One row taken as a scalar index and put back as an axis: an index of one element."""
    return op.Unsqueeze(op.Gather(x, i), [0])


@gather_then_unsqueeze.to
def _(op: Op, x: Any, i: Any) -> Any:
    index = number(i)
    if index is None or i.rank != 0:
        return None
    return op.Gather(x, np.array([int(index)], i.constant.dtype))


def _blocks(rng: Any) -> Draw:
    n, c, h, w, r = (int(d) for d in rng.integers(1, 4, size=5))
    r += 1
    deep = floats(rng, (n, c * r * r, h, w))
    wide = floats(rng, (n, c, h * r, w * r))
    batch = [n, 0, -1][int(rng.integers(3))]
    if rng.integers(2):
        rows, perm = [batch, c, r, r, h, w], [0, 1, 4, 2, 5, 3]
    else:
        rows, perm = [batch, r, r, c, h, w], [0, 3, 4, 1, 5, 2]
    return {
        "x": deep, "rows": np.array(rows), "perm": perm,
        "back": np.array([batch, c, h * r, w * r]),
        "y": wide, "rows2": np.array([batch, c, h, r, w, r]), "perm2": [0, 3, 5, 1, 2, 4],
        "back2": np.array([batch, c * r * r, h, w]),
    }  # fmt: skip


def _batch_fits(x: Any, *dims: list[int]) -> bool:
    """Whether each Reshape keeps the first dimension, and all others are known."""
    if x.shape is None or len(x.shape) != 4 or not all(isinstance(d, int) for d in x.shape[1:]):
        return False
    if 0 in x.shape[1:]:
        return False
    return all(d[0] in (0, -1, x.shape[0]) and min(d[1:]) > 0 for d in dims)


_MODES = {(0, 1, 4, 2, 5, 3): "CRD", (0, 3, 4, 1, 5, 2): "DCR"}


@rule(since=11, cases=_blocks)
def depth_to_space(op: Op, x: Value, rows: Const, back: Const, perm: Attr) -> Any:
    """DepthToSpace written with Reshapes and a Transpose."""
    return op.Reshape(op.Transpose(op.Reshape(x, rows), perm=perm), back)


@depth_to_space.to
def _(op: Op, x: Value, rows: Value, back: Value, perm: Any) -> Any:
    first, last, mode = numbers(rows), numbers(back), _MODES.get(tuple(perm or ()))
    if mode is None or first is None or last is None or (len(first), len(last)) != (6, 4):
        return None
    if not _batch_fits(x, first, last) or not runs(op, "DepthToSpace", x.dtype):
        return None
    c, r, s = first[1:4] if mode == "CRD" else (first[3], first[1], first[2])
    h, w = first[4:]
    if r != s or tuple(x.shape[1:]) != (c * r * r, h, w) or last[1:] != [c, h * r, w * r]:
        return None
    return op.DepthToSpace(x, blocksize=r, mode=mode)


@rule(since=11, cases=_blocks)
def space_to_depth(op: Op, y: Value, rows2: Const, back2: Const, perm2: Attr) -> Any:
    """SpaceToDepth written with Reshapes and a Transpose."""
    return op.Reshape(op.Transpose(op.Reshape(y, rows2), perm=perm2), back2)


@space_to_depth.to
def _(op: Any, y: Any, rows2: Any, back2: Any, perm2: Any) -> Any:
    first, last = numbers(rows2), numbers(back2)
    if first is None or last is None or (len(first), len(last)) != (6, 4):
        return None
    if tuple(perm2 or ()) != (0, 3, 5, 1, 2, 4) or not _batch_fits(y, first, last):
        return None
    c, h, r, w, s = first[1:]
    if r != s or tuple(y.shape[1:]) != (c, h * r, w * r) or last[1:] != [c * r * r, h, w]:
        return None
    return op.SpaceToDepth(y, blocksize=r) if runs(op, "SpaceToDepth", y.dtype) else None
