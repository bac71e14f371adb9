"""Attention of opset 23, written with products and Softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.number import number
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType


def _heads(rng: Any) -> Draw:
    b, h, s, t, d = (int(n) for n in rng.integers(1, 5, size=5))
    masks = [(s, t), (1, 1, s, t), (b, 1, s, t), (b, h, s, t), (b, 1, 1, t), (1, 1, 1, t)]
    return {
        "q": floats(rng, (b, h, s, d)),
        "kt": floats(rng, (b, h, d, t)),
        "v": floats(rng, (b, h, t, int(rng.integers(1, 4)))),
        "mask": floats(rng, masks[int(rng.integers(len(masks)))]),
        "scale": np.float32(0.5),
        "other": np.float32(0.25),
    }


@rule(since=23, level="rounding", cases=_heads)
def attention(op: Any, q: Any, kt: Any, v: Any) -> Any:
    """Attention without a mask."""
    return op.MatMul(op.Softmax(op.MatMul(q, kt), axis=-1), v)


@attention.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q, kt) * scale, axis=-1), v)


@attention.also
def _(op: Any, q: Any, kt: Any, v: Any, divisor: Const) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q, kt) / divisor, axis=-1), v)


@attention.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const, other: Const) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q * scale, kt * other), axis=-1), v)


@attention.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q * scale, kt), axis=-1), v)


@rule(since=23, level="rounding", cases=_heads)
def attention_with_mask(op: Any, q: Any, kt: Any, v: Any, mask: Any) -> Any:
    """Attention with a mask that is added."""
    return op.MatMul(op.Softmax(op.MatMul(q, kt) + mask, axis=-1), v)


@attention_with_mask.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const, mask: Any) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q, kt) * scale + mask, axis=-1), v)


@attention_with_mask.also
def _(op: Any, q: Any, kt: Any, v: Any, divisor: Const, mask: Any) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q, kt) / divisor + mask, axis=-1), v)


@attention_with_mask.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const, other: Const, mask: Any) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q * scale, kt * other) + mask, axis=-1), v)


@attention_with_mask.also
def _(op: Any, q: Any, kt: Any, v: Any, scale: Const, mask: Any) -> Any:
    return op.MatMul(op.Softmax(op.MatMul(q * scale, kt) + mask, axis=-1), v)


def _factor(scale: Any, divisor: Any, other: Any) -> float | None:
    """The factor of the products, None where it is not known or not one number."""
    found = 1.0
    for value in (scale, other):
        if value is not None:
            n = number(value)
            if n is None or value.rank != 0:
                return None
            found *= n
    if divisor is not None:
        n = number(divisor)
        if not n or divisor.rank != 0:
            return None
        found /= n
    return found


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


def _mask_fits(mask: Any, q: Any, kt: Any) -> bool:
    """Whether a mask has both lengths written out: the runtime broadcasts batch and heads only."""
    if mask.dtype is not DType.FLOAT or mask.rank not in (2, 4):
        return False
    whole = (*q.shape[:3], kt.shape[3])
    if mask.rank == 2:
        return bool(mask.shape == whole[2:])
    if mask.shape[2:] != whole[2:]:
        return False
    return all(m in (1, w) for m, w in zip(mask.shape[:2], whole[:2], strict=True))


def _attention(op: Any, q: Any, kt: Any, v: Any, mask: Any, factor: float) -> Any:
    k = op.Transpose(kt, perm=[0, 1, 3, 2])
    if mask is None:
        return op.Attention(q, k, v, scale=factor)
    return op.Attention(q, k, v, mask, scale=factor)


@attention.to
def _(op: Any, q: Any, kt: Any, v: Any, scale: Any, divisor: Any, other: Any) -> Any:
    factor = _factor(scale, divisor, other)
    if factor is None or factor <= 0 or not _fits(q, kt, v):
        return None
    return _attention(op, q, kt, v, None, factor)


@attention_with_mask.to
def _(op: Any, q: Any, kt: Any, v: Any, mask: Any, scale: Any, divisor: Any, other: Any) -> Any:
    factor = _factor(scale, divisor, other)
    if factor is None or factor <= 0 or not _fits(q, kt, v) or not _mask_fits(mask, q, kt):
        return None
    return _attention(op, q, kt, v, mask, factor)
