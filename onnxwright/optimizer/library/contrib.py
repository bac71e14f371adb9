"""Operators of `com.microsoft`, for `target="onnxruntime"` only, where they were measured faster.

`benchmarks/contrib.py` measures them.  The modules `contrib_*` have those that a default session
makes of plain nodes by itself.  Some take longer (SkipSimplifiedLayerNormalization twice as long,
GroupQueryAttention 1.2 times): there are no rules for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.contrib_domain import contrib
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.optimizer.scores import scores_of
from onnxwright.types.dtypes import DType


def _sigmoid(rng: Any) -> Draw:
    return {"x": floats(rng, (2, 3)), "alpha": np.float32(rng.choice([1.702, 0.5, -2.0]))}


@rule(level="rounding", target="onnxruntime", cases=_sigmoid)
def quick_gelu(op: Op, x: Value, alpha: Const) -> Any:
    """QuickGelu: a value times the Sigmoid of it, or of a multiple."""
    return x * op.Sigmoid(x * alpha)


@quick_gelu.also
def _(op: Op, x: Value) -> Any:
    return x * op.Sigmoid(x)


@quick_gelu.to
def _(op: Op, x: Any, alpha: Any) -> Any:
    factor = 1.0 if alpha is None else number(alpha)
    if x.dtype is not DType.FLOAT or factor is None or not math.isfinite(factor):
        return None
    if alpha is not None and (x.rank is None or (alpha.rank or 0) > x.rank):
        return None
    return contrib(op).QuickGelu(x, alpha=factor)


def _rows(rng: Any) -> Draw:
    b, h, s, t, d = (int(x) for x in rng.integers(1, 5, size=5))
    masks = [(b, 1, s, t), (1, 1, s, t), (b, h, s, t)]
    mask = floats(rng, masks[int(rng.integers(3))])
    mask[..., rng.integers(2, size=t).astype(bool)] = np.finfo(np.float32).min
    return {
        "q": floats(rng, (b, s, h * d)),
        "k": floats(rng, (b, t, h * d)),
        "v": floats(rng, (b, t, h * d)),
        "mask": mask,
        "qs": np.array([0, 0, h, d]),
        "vs": np.array([b, t, h, d]),
        "back": np.array([0, 0, h * d]),
        "scale": np.float32(0.5),
    }


def _end(op: Op, scores: Value, v: Value, vs: Const, back: Const) -> Any:
    heads = op.Transpose(op.Reshape(v, vs), perm=[0, 2, 1, 3])
    product = op.MatMul(op.Softmax(scores, axis=-1), heads)
    return op.Reshape(op.Transpose(product, perm=[0, 2, 1, 3]), back)


def _products(op: Op, q: Value, k: Value, qs: Const, vs: Const) -> Any:
    heads = op.Transpose(op.Reshape(q, qs), perm=[0, 2, 1, 3])
    return op.MatMul(heads, op.Transpose(op.Reshape(k, vs), perm=[0, 2, 3, 1]))


# Of opset 23 on, Attention of rows is the faster one.
@rule(since=13, until=22, level="rounding", target="onnxruntime", cases=_rows)
def multi_head_attention(op: Any, scores: Any, v: Any, vs: Const, back: Const) -> Any:
    """MultiHeadAttention: rows to heads, products and Softmax, heads to rows."""
    return _end(op, scores, v, vs, back)


@multi_head_attention.also
def _(op: Any, q: Any, k: Any, v: Any, qs: Const, vs: Const, back: Const, scale: Const) -> Any:
    return _end(op, _products(op, q, k, qs, vs) * scale, v, vs, back)


@multi_head_attention.also
def _(
    op: Any, q: Any, k: Any, v: Any, qs: Const, vs: Const, back: Const, scale: Const, mask: Any
) -> Any:
    return _end(op, _products(op, q, k, qs, vs) / scale + mask, v, vs, back)


@multi_head_attention.to
def _(op: Op, v: Value, match: Any) -> Any:
    softmax = next(n for n in match.nodes.values() if n.op_type == "Softmax")
    scores = scores_of(softmax.inputs[0])
    if scores is None or scores.perm is not None or scores.turned or scores.factor <= 0:
        return None
    product = match.roots[0].inputs[0].producer().inputs[0].producer()
    q, kt, vt = (match.resolve(x) for x in (scores.q, scores.kt, product.inputs[1]))
    rows = [heads_of(op, q, [0, 2, 1, 3]), heads_of(op, kt, [0, 2, 3, 1]),
            heads_of(op, vt, [0, 2, 1, 3])]  # fmt: skip
    result = match.kinds[0]
    if any(r is None for r in rows) or result is None or v.dtype is not DType.FLOAT:
        return None
    (query, heads), (key, of_keys), (value, of_values) = rows
    if not heads == of_keys == of_values or result.shape != (*query.shape[:2], value.shape[2]):
        return None
    mask = None
    if scores.mask is not None:
        mask = match.resolve(scores.mask)
        whole = (query.shape[0], heads, query.shape[1], key.shape[1])
        if mask is None or mask.dtype is not DType.FLOAT or mask.rank != 4:
            return None
        if mask.shape[2:] != whole[2:] or any(
            m not in (1, w) for m, w in zip(mask.shape[:2], whole[:2], strict=True)
        ):
            return None
    inputs = [query, key, value] if mask is None else [query, key, value, None, None, mask]
    return contrib(op).MultiHeadAttention(*inputs, num_heads=heads, scale=scores.factor)


def heads_of(op: Op, value: Value, perm: list[int]) -> Any:
    """The rows `[batch, length, heads * size]` that heads are made of, and how many heads."""
    turn = op.backend.made_by(value, "Transpose")
    if turn is None or list(turn.attributes["perm"].as_ints()) != perm:
        return None
    apart = op.backend.value_of(turn.inputs[0])
    reshape = op.backend.made_by(apart, "Reshape")
    if reshape is None or apart.shape is None or len(apart.shape) != 4:
        return None
    rows = op.backend.value_of(reshape.inputs[0])
    heads, size = apart.shape[2:]
    if rows.rank != 3 or not isinstance(heads, int) or not isinstance(size, int):
        return None
    if None in rows.shape or rows.shape != (*apart.shape[:2], heads * size):
        return None
    return rows, heads
