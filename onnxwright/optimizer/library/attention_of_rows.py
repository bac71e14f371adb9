"""Attention of rows: heads that are cut out of rows before it and joined after it.

`Attention` takes rows `[batch, length, heads * size]` itself, and so does `RotaryEmbedding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import rule


def _rows(rng: Any) -> Draw:
    b, h, s, t, d = (int(x) for x in rng.integers(1, 5, size=5))
    return {
        "q": floats(rng, (b, s, h * d)),
        "k": floats(rng, (b, t, h * d)),
        "v": floats(rng, (b, t, h * d)),
        "mask": floats(rng, [(b, 1, s, t), (s, t)][int(rng.integers(2))])
        if rng.integers(2)
        else None,
        "qs": np.array([0, 0, h, d]),
        "ks": np.array([0, 0, -1, d] if rng.integers(2) else [0, 0, h, -1]),
        "vs": np.array([b, t, h, d] if rng.integers(2) else [0, 0, h, d]),
        "back": np.array([0, 0, h * d if rng.integers(2) else -1]),
        "scale": 0.5,
        "is_causal": 0,
    }


@rule(since=23, level="rounding", cases=_rows)
def attention_of_rows(
    op: Op, q: Any, k: Any, v: Any, qs: Const, ks: Const, vs: Const, back: Const, scale: Attr,
    is_causal: Attr, mask: Any = None,
) -> Any:  # fmt: skip
    """Attention between Reshapes and Transposes to heads and back: it takes rows itself."""
    heads = [
        op.Transpose(op.Reshape(x, s), perm=[0, 2, 1, 3]) for x, s in ((q, qs), (k, ks), (v, vs))
    ]
    attention = op.Attention(*heads, mask, scale=scale, is_causal=is_causal)
    return op.Reshape(op.Transpose(attention, perm=[0, 2, 1, 3]), back)


@attention_of_rows.to
def _(
    op: Any, q: Any, k: Any, v: Any, scale: Any, is_causal: Any, mask: Any, match: Any
) -> Any:  # fmt: skip
    attention = match.roots[0].inputs[0].producer().inputs[0].producer()  # the Attention
    heads = _heads_of_rows((q, k, v), list(attention.inputs[:3]), match)
    if heads is None:
        return None
    return _attention_of_rows(op, (q, k, v), mask, heads, scale, is_causal)


def _attention_of_rows(
    op: Any, rows: Any, mask: Any, heads: tuple[int, int], scale: Any, is_causal: Any
) -> Any:
    options = {} if scale is None else {"scale": scale}
    return op.Attention(
        *rows, mask, q_num_heads=heads[0], kv_num_heads=heads[1], is_causal=is_causal or 0,
        **options,
    )  # fmt: skip


def _heads_of_rows(rows: Any, transposed: list[Any], match: Any) -> tuple[int, int] | None:
    """How many heads queries and keys are cut into, if what is made of them is rows again."""
    sizes = []
    for x, value in zip(rows, transposed, strict=True):
        heads = match.resolve(value.producer().inputs[0])
        if not _are_heads(x, heads):
            return None
        sizes.append(heads.shape[2:])
    (queries, _), (keys, _), (values, width) = sizes
    result = match.kinds[0]
    if keys != values or result is None or result.shape != (*rows[0].shape[:2], queries * width):
        return None
    return queries, keys


def _are_heads(x: Any, heads: Any) -> bool:
    """Whether rows `[batch, length, heads * size]` are cut into `[batch, length, heads, size]`."""
    if x.rank != 3 or heads is None or heads.rank != 4 or None in x.shape:
        return False
    if heads.shape[:2] != x.shape[:2] or not all(isinstance(d, int) for d in heads.shape[2:]):
        return False
    return bool(heads.shape[2] * heads.shape[3] == x.shape[2] != 0)


# -- rows that are rotated -------------------------------------------------------------------------


def _rotated_rows(rng: Any) -> Draw:
    drawn = _rows(rng)
    b, s, width = drawn["q"].shape
    t = drawn["k"].shape[1]
    h, d = int(drawn["qs"][2]), 2 * int(drawn["qs"][3])
    for name, length in (("q", s), ("k", t), ("v", t)):
        drawn[name] = floats(rng, (b, length, 2 * width))
    for name, length in (("qc", s), ("qt", s), ("kc", t), ("kt", t)):
        drawn[name] = floats(rng, (b, length, d // 2))
    sizes = {n: np.array([0, 0, h, d]) for n in ("qs", "ks", "vs")}
    attrs = {"interleaved": int(rng.integers(2))}
    return {**drawn, **sizes, "back": np.array([0, 0, h * d]), "qa": attrs, "ka": attrs}


@rule(since=23, level="rounding", cases=_rotated_rows)
def attention_of_rotated_rows(
    op: Op, q: Any, k: Any, v: Any, qs: Const, ks: Const, vs: Const, back: Const, qc: Any, qt: Any,
    kc: Any, kt: Any, qa: Attrs, ka: Attrs, scale: Attr, is_causal: Attr, mask: Any = None,
) -> Any:  # fmt: skip
    """Attention of rotated heads between Reshapes and Transposes: rows can be rotated, too."""
    queries, keys, values = (
        op.Transpose(op.Reshape(x, s), perm=[0, 2, 1, 3]) for x, s in ((q, qs), (k, ks), (v, vs))
    )
    queries = op.RotaryEmbedding(queries, qc, qt, **qa)
    keys = op.RotaryEmbedding(keys, kc, kt, **ka)
    attention = op.Attention(queries, keys, values, mask, scale=scale, is_causal=is_causal)
    return op.Reshape(op.Transpose(attention, perm=[0, 2, 1, 3]), back)


@attention_of_rotated_rows.to
def _(
    op: Any, q: Any, k: Any, v: Any, qc: Any, qt: Any, kc: Any, kt: Any, qa: Any, ka: Any,
    scale: Any, is_causal: Any, mask: Any, match: Any,
) -> Any:  # fmt: skip
    attention = match.roots[0].inputs[0].producer().inputs[0].producer()  # the Attention
    rotated = [attention.inputs[n].producer().inputs[0] for n in (0, 1)]
    heads = _heads_of_rows((q, k, v), [*rotated, attention.inputs[2]], match)
    if heads is None:
        return None
    queries = op.RotaryEmbedding(q, qc, qt, **{**qa, "num_heads": heads[0]})
    keys = op.RotaryEmbedding(k, kc, kt, **{**ka, "num_heads": heads[1]})
    return _attention_of_rows(op, (queries, keys, v), mask, heads, scale, is_causal)
