"""Attention of opset 23, written with products and Softmax.

The pattern is the end of it, a product with what Softmax gives; where the scores come from (scales
in several places, masks that are added or chosen, heads that are repeated) is read backwards from
there, one step at a time.

ONNX Runtime's Attention gives 0 for a row of which every score is -inf or the lowest number, where
Softmax gives NaN or the same weight to all.  Masks that the model makes of such numbers are only
used where it puts zeros there itself (`Where(IsNaN(p), 0, p)`), or with `assume=["visible"]`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.optimizer.scores import Scores, scores_of
from onnxwright.types.dtypes import DType


def _heads(rng: Any) -> Draw:
    b, h, s, t, d = (int(n) for n in rng.integers(1, 5, size=5))
    masks = [(s, t), (1, 1, s, t), (b, 1, s, t), (b, h, s, t)]
    seen = rng.integers(2, size=masks[int(rng.integers(3))]).astype(bool)
    return {
        "q": floats(rng, (b, h, s, d)),
        "kt": floats(rng, (b, h, d, t)),
        "k": floats(rng, (b, h, t, d)),
        "v": floats(rng, (b, h, t, int(rng.integers(1, 4)))),
        "rows": floats(rng, (b, t, h, d)),
        "mask": floats(rng, masks[int(rng.integers(len(masks)))]),
        "seen": seen,
        "scale": np.float32(0.5),
        "divisor": np.float32(2.5),
        "other": np.float32(0.25),
        "least": np.float32(-np.inf),
    }


# -- patterns ------------------------------------------------------------------------------------


def _end(op: Op, scores: Value, v: Value) -> Any:
    return op.MatMul(op.Softmax(scores, axis=-1), v)


@rule(since=23, level="rounding", cases=_heads)
def attention(op: Op, scores: Value, v: Value) -> Any:
    """Attention: scaled products, a mask, Softmax and a product."""
    return op.MatMul(op.Softmax(scores, axis=-1), v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value) -> Any:
    return _end(op, op.MatMul(q, kt), v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, scale: Const) -> Any:
    return _end(op, op.MatMul(q, kt) * scale, v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, divisor: Const) -> Any:
    return _end(op, op.MatMul(q, kt) / divisor, v)


@attention.also
def _(op: Op, q: Value, k: Value, v: Value, scale: Const, other: Const) -> Any:
    return _end(op, op.MatMul(q * scale, op.Transpose(k, perm=[0, 1, 3, 2]) * other), v)


@attention.also
def _(op: Op, q: Value, rows: Value, v: Value, scale: Const) -> Any:
    return _end(op, op.MatMul(q, op.Transpose(rows, perm=[0, 2, 3, 1]) * scale), v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, divisor: Const) -> Any:
    return _end(op, op.MatMul(q / divisor, kt), v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, mask: Value) -> Any:
    return _end(op, op.MatMul(q, kt) + mask, v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, scale: Const, mask: Value) -> Any:
    return _end(op, op.MatMul(q, kt) * scale + mask, v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, divisor: Const, mask: Value) -> Any:
    return _end(op, op.MatMul(q, kt) / divisor + mask, v)


@attention.also
def _(op: Op, q: Value, kt: Value, v: Value, scale: Const, other: Const, mask: Value) -> Any:
    return _end(op, op.MatMul(q * scale, kt * other) + mask, v)


@attention.to
def _(op: Op, v: Value, match: Any) -> Any:
    softmax = match.roots[0].inputs[0].producer()
    return _attention(op, v, scores_of(softmax.inputs[0]), match, zeros=False)


@rule(since=23, level="rounding", assume=["visible"], cases=lambda rng: _visible(_heads(rng)))
def attention_of_visible(op: Op, scores: Value, v: Value) -> Any:
    """Attention whose mask hides no whole row: chosen, or added with the lowest number."""
    return op.MatMul(op.Softmax(scores, axis=-1), v)


def _visible(drawn: Draw) -> Draw:
    drawn["seen"][..., 0] = True
    return drawn


@attention_of_visible.also
def _(op: Op, q: Value, kt: Value, v: Value, seen: Value, scale: Const, least: Const) -> Any:
    return _end(op, op.Where(seen, op.MatMul(q, kt) * scale, least), v)


@attention_of_visible.also
def _(op: Op, q: Value, kt: Value, v: Value, seen: Value, scale: Const, least: Const) -> Any:
    return _end(op, op.Where(op.Not(seen), least, op.MatMul(q, kt) * scale), v)


@attention_of_visible.also
def _(op: Op, q: Value, kt: Value, v: Value, seen: Value, scale: Const, least: Const) -> Any:
    return _end(op, op.MatMul(q, kt) * scale + op.Where(seen, 0.0, least), v)


@attention_of_visible.to
def _(op: Op, v: Value, match: Any) -> Any:
    softmax = match.roots[0].inputs[0].producer()
    scores = scores_of(softmax.inputs[0])
    if scores is None or not scores.hides:
        return None  # the other rule is for it
    return _attention(op, v, scores, match, zeros=False, visible=True)


@rule(since=23, level="rounding", cases=_heads)
def attention_of_zeros(op: Op, scores: Value, v: Value) -> Any:
    """Attention whose hidden rows are zeros, as they are after `Where(IsNaN(p), 0, p)`."""
    p = op.Softmax(scores, axis=-1)
    return op.MatMul(op.Where(op.IsNaN(p), 0.0, p), v)


@attention_of_zeros.also
def _(op: Op, q: Value, kt: Value, v: Value, seen: Value, scale: Const, least: Const) -> Any:
    p = op.Softmax(op.Where(seen, op.MatMul(q, kt) * scale, least), axis=-1)
    return op.MatMul(op.Where(op.IsNaN(p), 0.0, p), v)


@attention_of_zeros.also
def _(op: Op, q: Value, kt: Value, v: Value, seen: Value, scale: Const, least: Const) -> Any:
    p = op.Softmax(op.MatMul(q, kt) * scale + op.Where(seen, 0.0, least), axis=-1)
    return op.MatMul(op.Where(op.IsNaN(p), 0.0, p), v)


@attention_of_zeros.to
def _(op: Op, v: Value, match: Any) -> Any:
    softmax = next(n for n in match.nodes.values() if n.op_type == "Softmax")
    return _attention(op, v, scores_of(softmax.inputs[0]), match, zeros=True)


# -- replacement -----------------------------------------------------------------------------------


def _attention(
    op: Op, v: Value, scores: Scores | None, match: Any, *, zeros: bool, visible: bool = False
) -> Any:
    """The Attention of scores, None where the runtime would give something else."""
    if scores is None or scores.factor <= 0:
        return None
    if scores.hides and not visible and not (zeros and scores.hides == {-math.inf}):
        return None
    q, kt = match.resolve(scores.q), match.resolve(scores.kt)
    if q is None or kt is None:
        return None
    if scores.perm is not None:
        kt = op.Transpose(kt, perm=scores.perm)
    if not _fits(q, kt, v):
        return None
    k = op.Transpose(kt, perm=[0, 1, 3, 2])
    if scores.mask is None:
        return op.Attention(q, k, v, scale=scores.factor)
    mask = _of_all_queries(op, match.resolve(scores.mask), q)
    if mask is None or not _mask_fits(mask, q, kt):
        return None
    if mask.dtype is DType.BOOL and scores.turned:
        mask = op.Not(mask)
    return op.Attention(q, k, v, mask, scale=scores.factor)


def _fits(q: Any, kt: Any, v: Any) -> bool:
    """Whether these are heads of one batch: nothing is broadcast, and no dimension may be 0."""
    if any(x.rank != 4 or x.dtype is not DType.FLOAT for x in (q, kt, v)):
        return False
    batch_and_heads = q.shape[:2]
    if None in batch_and_heads or not isinstance(q.shape[1], int):
        return False
    if kt.shape[:2] != batch_and_heads or v.shape[:2] != batch_and_heads:
        return False
    if not isinstance(q.shape[3], int) or kt.shape[2] != q.shape[3]:
        return False
    return kt.shape[3] is not None and kt.shape[3] == v.shape[2]


def _of_all_queries(op: Any, mask: Any, q: Any) -> Any:
    """A mask of keys, which is the same for all queries, with a row for each of them."""
    if mask is None or mask.rank != 4 or mask.shape[2] != 1 or q.shape[2] in (1, None):
        return mask
    length = q.shape[2]
    if isinstance(length, int):
        return op.Expand(mask, [1, 1, length, 1])
    return op.Expand(mask, op.Concat([1, 1], op.Shape(q, start=2, end=3), [1], axis=0))


def _mask_fits(mask: Any, q: Any, kt: Any) -> bool:
    """Whether a mask has both lengths written out: the runtime broadcasts batch and heads only."""
    if mask.dtype not in (DType.FLOAT, DType.BOOL) or mask.rank not in (2, 4):
        return False
    whole = (*q.shape[:3], kt.shape[3])
    if mask.rank == 2:
        return bool(mask.shape == whole[2:])
    if mask.shape[2:] != whole[2:]:
        return False
    return all(m in (1, w) for m, w in zip(mask.shape[:2], whole[:2], strict=True))


# -- heads of keys and values that several heads of queries share ----------------------------------


def _groups(rng: Any) -> Draw:
    b, g, n, s, t, d = (int(x) for x in rng.integers(1, 4, size=6))
    n += 1
    return {
        "q": floats(rng, (b, g * n, s, d)),
        "k": floats(rng, (b, g, t, d)),
        "v": floats(rng, (b, g, t, d)),
        "mask": floats(rng, (b, 1, s, t)) if rng.integers(2) else None,
        "two": np.array([2]),
        "times": np.array([1, 1, n, 1, 1]),
        "wide": np.array([b, g, n, t, d]),
        "wide2": np.array([b, g, n, t, d]),
        "joined": np.array([b, g * n, t, d]),
        "joined2": np.array([b, g * n, t, d]),
        "i": np.repeat(np.arange(g), n),
        "scale": 0.5,
        "is_causal": 0,
    }


@rule(since=23, level="rounding", cases=_groups)
def attention_of_groups(
    op: Op, q: Any, k: Any, v: Any, two: Const, wide: Any, wide2: Any, joined: Any, joined2: Any,
    scale: Attr, is_causal: Attr, mask: Any = None,
) -> Any:  # fmt: skip
    """Attention whose keys and values are repeated for the queries of each group: it does so."""
    many = op.Reshape(op.Expand(op.Unsqueeze(k, two), wide), joined)
    more = op.Reshape(op.Expand(op.Unsqueeze(v, two), wide2), joined2)
    return op.Attention(q, many, more, mask, scale=scale, is_causal=is_causal)


@attention_of_groups.also
def _(
    op: Op, q: Any, k: Any, v: Any, two: Const, wide: Const, wide2: Const, joined: Const,
    joined2: Const, scale: Attr, is_causal: Attr, mask: Any = None,
) -> Any:  # fmt: skip
    many = op.Reshape(op.Expand(op.Unsqueeze(k, two), wide), joined)
    more = op.Reshape(op.Expand(op.Unsqueeze(v, two), wide2), joined2)
    return op.Attention(q, many, more, mask, scale=scale, is_causal=is_causal)


@attention_of_groups.also
def _(
    op: Op,
    q: Any,
    k: Any,
    v: Any,
    two: Const,
    times: Const,
    joined: Any,
    joined2: Any,
    scale: Attr,
    is_causal: Attr,
    mask: Any = None,
) -> Any:
    many = op.Reshape(op.Tile(op.Unsqueeze(k, two), times), joined)
    more = op.Reshape(op.Tile(op.Unsqueeze(v, two), times), joined2)
    return op.Attention(q, many, more, mask, scale=scale, is_causal=is_causal)


@attention_of_groups.also
def _(
    op: Op, q: Any, k: Any, v: Any, i: Const, scale: Attr, is_causal: Attr, mask: Any = None
) -> Any:
    many, more = op.Gather(k, i, axis=1), op.Gather(v, i, axis=1)
    return op.Attention(q, many, more, mask, scale=scale, is_causal=is_causal)


@attention_of_groups.to
def _(
    op: Any, q: Any, k: Any, v: Any, two: Any, i: Any, scale: Any, is_causal: Any, mask: Any,
    match: Any,
) -> Any:  # fmt: skip
    many = [match.resolve(x) for x in match.roots[0].inputs[1:3]]
    for once, repeated in zip((k, v), many, strict=True):
        if once.rank != 4 or repeated.rank != 4 or not isinstance(once.shape[1], int):
            return None
        heads = repeated.shape[1]
        if not isinstance(heads, int) or heads % once.shape[1] or None in once.shape:
            return None
        if (repeated.shape[0], *repeated.shape[2:]) != (once.shape[0], *once.shape[2:]):
            return None
        if i is not None:
            times = heads // once.shape[1]
            if numbers(i) != [n for n in range(once.shape[1]) for _ in range(times)]:
                return None
        elif numbers(two) != [2]:
            return None
    if q.shape is None or q.shape[1] != many[0].shape[1] or k.shape[1] != v.shape[1]:
        return None
    if i is None and not _is_repeated_within(match):
        return None
    options = {} if scale is None else {"scale": scale}
    return op.Attention(q, k, v, mask, is_causal=is_causal or 0, **options)


def _is_repeated_within(match: Any) -> bool:
    """Whether each Expand or Tile only makes copies of heads next to one another."""
    for node in match.nodes.values():
        if node.op_type in ("Expand", "Tile"):
            before, after = node.inputs[0].shape, node.outputs[0].shape
            if before is None or after is None or len(before) != 5 or len(after) != 5:
                return False
            pairs = list(zip(before, after, strict=True))
            if any(a != b or str(a) == "None" for n, (a, b) in enumerate(pairs) if n != 2):
                return False
            if not isinstance(after[2], int):
                return False
    return True
