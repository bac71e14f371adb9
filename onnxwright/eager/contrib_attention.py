"""Attention of com.microsoft in numpy: projections, heads, shared heads, rotary positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.eager.contrib_rows import Array, wide

_LOWEST = float(np.finfo(np.float32).min)


def attention(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    mask_index: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_sequence_length: Array | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    qkv_hidden_sizes: Sequence[int] = (),
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
    **others: Any,
) -> tuple[Array, Array | None]:
    """Attention with the product that makes query, key and value; the rows so far are `past`."""
    if past_sequence_length is not None or any(others.values()):
        raise NotImplementedError("rotary positions and shared buffers are not known here")
    rows, matrix, vector = wide(x, weights, bias)
    product = np.matmul(rows, matrix)
    product = product if vector is None else product + vector
    sizes = list(qkv_hidden_sizes) or [product.shape[-1] // 3] * 3
    q, k, v = (_heads(part, num_heads) for part in np.split(product, np.cumsum(sizes)[:-1], -1))
    if past is not None:
        old = wide(past)[0]
        k, v = np.concatenate([old[0], k], axis=2), np.concatenate([old[1], v], axis=2)
    added = _mask(mask_index, q, k, mask_filter_value, causal=bool(unidirectional))
    attended = _attended(q, k, v, scale, added, attention_bias)
    present = np.stack([k, v]).astype(x.dtype) if k.shape == v.shape else None
    return _rows(attended).astype(x.dtype), present


def multi_head_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    *others: Any,
    num_heads: int,
    scale: float | None = None,
    unidirectional: int = 0,
    mask_filter_value: float = -10000.0,
) -> tuple[Array, Array, Array]:
    """Attention of rows whose heads stand side by side; the rows so far are `past_key/value`.

    Keys and values may be rows, heads (B, N, T, H), packed with the keys (B, T, N, 2, H) or with
    the query (B, S, N, 3, H).
    """
    if any(operand is not None for operand in others):
        raise NotImplementedError("shared buffers and beams of a cache are not known here")
    q, k, v = _three(query, key, value, num_heads)
    if bias is not None:
        q, k, v = _with_bias(q, k, v, wide(bias)[0], is_cross=key is not None and key.ndim == 4)
    if past_key is not None and past_value is not None:
        old_k, old_v = wide(past_key, past_value)
        k, v = np.concatenate([old_k, k], axis=2), np.concatenate([old_v, v], axis=2)
    added = _mask(key_padding_mask, q, k, mask_filter_value, causal=bool(unidirectional))
    attended = _attended(q, k, v, scale or 0.0, added, attention_bias)
    kind = query.dtype
    return _rows(attended).astype(kind), k.astype(kind), v.astype(kind)


def group_query_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    seqlens_k: Array | None = None,
    total_sequence_length: Array | None = None,
    cos_cache: Array | None = None,
    sin_cache: Array | None = None,
    position_ids: Array | None = None,
    attention_bias: Array | None = None,
    head_sink: Array | None = None,
    *others: Any,
    num_heads: int,
    kv_num_heads: int,
    scale: float = 0.0,
    softcap: float = 0.0,
    local_window_size: int = -1,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    smooth_softmax: int = 0,
    **more: Any,
) -> tuple[Array, Array, Array]:
    """Causal attention where several heads of the query share one of keys, with a cache.

    `seqlens_k` has for each row of the batch the number of keys, less one; a first call has as many
    rows as `total_sequence_length`.
    """
    if any(operand is not None for operand in others) or any(more.values()):
        raise NotImplementedError("quantized caches and the products as an output are unknown here")
    assert seqlens_k is not None
    assert total_sequence_length is not None
    if key is None or value is None:
        width = query.shape[-1] // (num_heads + 2 * kv_num_heads)
        cuts = [num_heads * width, (num_heads + kv_num_heads) * width]
        query, key, value = np.split(query, cuts, axis=-1)
    rows = wide(query, key, value)
    q, k, v = (_heads(r, n) for r, n in zip(rows, (num_heads, *[kv_num_heads] * 2), strict=True))
    batch, _, count, width = q.shape
    total = int(np.asarray(total_sequence_length).reshape(-1)[0])
    is_first = count == total
    before = [0 if is_first else int(n) + 1 - count for n in seqlens_k.reshape(-1)]
    if do_rotary:
        assert cos_cache is not None
        assert sin_cache is not None
        places = np.array([[b + s for s in range(count)] for b in before])
        places = places if position_ids is None else position_ids
        tables = wide(cos_cache, sin_cache)
        q, k = (_rotated(part, places, *tables, interleaved=rotary_interleaved) for part in (q, k))
    length = max(total, 0 if past_key is None else past_key.shape[2])
    keys, values = (_cached(old, new, before, length)
                    for old, new in ((past_key, k), (past_value, v)))  # fmt: skip
    output = np.zeros((batch, num_heads, count, v.shape[-1]), np.float32)
    sinks = None if head_sink is None else wide(head_sink)[0].reshape(-1)
    shared = num_heads // kv_num_heads
    factor = scale or 1 / math.sqrt(width)
    for b, head, s in np.ndindex(batch, num_heads, count):
        stop = before[b] + s + 1
        start = max(stop - local_window_size, 0) if local_window_size >= 0 else 0
        scores = keys[b, head // shared, start:stop] @ q[b, head, s] * factor
        scores = softcap * np.tanh(scores / softcap) if softcap else scores
        if attention_bias is not None:
            offset = wide(attention_bias)[0]
            scores = scores + offset[b % len(offset), head % offset.shape[1], s, start:stop]
        sink = sinks[head] if sinks is not None else 0.0 if smooth_softmax else None
        output[b, head, s] = _softmax(scores, sink) @ values[b, head // shared, start:stop]
    kind = query.dtype
    return _rows(output).astype(kind), keys.astype(kind), values.astype(kind)


def rotary_embedding(
    x: Array,
    position_ids: Array,
    cos_cache: Array,
    sin_cache: Array,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
    is_packed_batching: int = 0,
) -> tuple[Array]:
    """Pairs of elements of each head, turned by an angle of their position."""
    if is_packed_batching or scale != 1.0:
        raise NotImplementedError("packed batches and a scale are not known here")
    rows, cos, sin = wide(x, cos_cache, sin_cache)
    width = cos.shape[1] * 2
    if rows.ndim == 3:
        count = num_heads or rows.shape[-1] // width
        heads = _heads(rows, count)
    else:
        heads = rows
    del rotary_embedding_dim  # twice the columns of the tables
    places = position_ids
    if position_ids.size == 1 and position_ids.ndim == 1:
        places = position_ids.reshape(1, 1) + np.arange(heads.shape[2])
        places = np.repeat(places, len(heads), axis=0)
    rotated = _rotated(heads, places, cos, sin, interleaved=interleaved)
    return ((_rows(rotated) if rows.ndim == 3 else rotated).astype(x.dtype),)


# -- parts -----------------------------------------------------------------------------------------


def _heads(rows: Array, count: int) -> Array:
    """(B, S, N * H) as (B, N, S, H)."""
    return np.moveaxis(rows.reshape(*rows.shape[:2], count, rows.shape[2] // count), 2, 1)


def _rows(heads: Array) -> Array:
    """(B, N, S, H) as (B, S, N * H)."""
    moved = np.moveaxis(heads, 1, 2)
    return moved.reshape(*moved.shape[:2], -1)


def _three(
    query: Array, key: Array | None, value: Array | None, count: int
) -> tuple[Array, Array, Array]:
    """The heads of query, key and value, from whichever form they have."""
    packed = query if key is None else key if value is None else None
    if packed is not None:
        parts = wide(packed)[0].transpose(3, 0, 2, 1, 4)  # (2 or 3, B, N, S, H)
        if key is None:
            return parts[0], parts[1], parts[2]
        return _heads(wide(query)[0], count), parts[0], parts[1]
    assert key is not None
    assert value is not None
    q, k, v = wide(query, key, value)
    if k.ndim == 4:
        return _heads(q, count), k, v
    return _heads(q, count), _heads(k, count), _heads(v, count)


def _with_bias(
    q: Array, k: Array, v: Array, bias: Array, *, is_cross: bool
) -> tuple[Array, Array, Array]:
    """Heads plus their parts of a bias; keys that come as heads have theirs already."""
    count = q.shape[1]
    widths = np.cumsum([count * part.shape[-1] for part in (q, k, v)])[:-1]
    q_bias, k_bias, v_bias = (part.reshape(1, count, 1, -1) for part in np.split(bias, widths))
    return (q + q_bias, k, v) if is_cross else (q + q_bias, k + k_bias, v + v_bias)


def _mask(mask: Array | None, q: Array, k: Array, filler: float, *, causal: bool) -> Array:
    """What is added to the products (B, 1, S, T): 0 where a key is seen."""
    batch, count, length = len(q), q.shape[2], k.shape[2]
    added = np.zeros((batch, 1, count, length), np.float32)
    if mask is not None:
        seen = np.ones((batch, count, length), bool)
        places = np.arange(length)
        if mask.ndim == 1 and mask.size in (batch, 2 * batch):
            ends, starts = mask[:batch], mask[batch:] if mask.size > batch else np.zeros(batch)
            inside = (places < ends[:, None]) & (places >= starts[:, None])
            seen = np.broadcast_to(inside[:, None], seen.shape)
        elif mask.ndim == 2:
            seen = np.broadcast_to(mask[:, None] > 0, seen.shape)
        elif mask.ndim == 3:
            seen = mask > 0
        elif mask.ndim == 4:
            past = length - count
            seen = mask[:, 0, past : past + count, :length] > 0
        else:
            raise NotImplementedError(f"a mask of the shape {mask.shape} is not known here")
        added += np.where(seen, np.float32(0), np.float32(filler))[:, None]
    if causal:
        ahead = np.triu(np.ones((count, length), bool), 1 + length - count)
        added = np.where(ahead, np.float32(_LOWEST), added)
    return added


def _attended(
    q: Array, k: Array, v: Array, scale: float, added: Array, attention_bias: Array | None
) -> Array:
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (scale or 1 / math.sqrt(q.shape[-1]))
    if attention_bias is not None:
        added = np.maximum(added + wide(attention_bias)[0], np.float32(_LOWEST))
    with np.errstate(over="ignore"):
        weighted: Array = np.matmul(_softmax(scores + added, None), v)
    return weighted


def _softmax(scores: Array, sink: float | None) -> Array:
    """Softmax along the last axis; a sink is one score more, whose share is lost."""
    top = scores.max(axis=-1, keepdims=True)
    top = top if sink is None else np.maximum(top, sink)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    shares: Array = weights / (total if sink is None else total + np.exp(sink - top))
    return shares


def _rotated(heads: Array, places: Array, cos: Array, sin: Array, *, interleaved: int) -> Array:
    """Heads (B, N, S, H) whose first columns are turned; `places` is (B, S)."""
    width = cos.shape[1] * 2
    turned, rest = heads[..., :width], heads[..., width:]
    c, s = (table[places][:, None] for table in (cos, sin))
    if interleaved:
        one, other = turned[..., 0::2], turned[..., 1::2]
        pairs = np.stack([one * c - other * s, other * c + one * s], axis=-1)
        pairs = pairs.reshape(turned.shape)
    else:
        one, other = np.split(turned, 2, axis=-1)
        pairs = np.concatenate([one * c - other * s, other * c + one * s], axis=-1)
    return np.concatenate([pairs, rest], axis=-1)


def _cached(old: Array | None, new: Array, before: Sequence[int], length: int) -> Array:
    """The cache: of each row of the batch, the old rows that it has, the new ones, and zeros."""
    cache = np.zeros((*new.shape[:2], length, new.shape[-1]), np.float32)
    for b, start in enumerate(before):
        if old is not None:
            cache[b, :, :start] = wide(old)[0][b, :, :start]
        cache[b, :, start : start + new.shape[2]] = new[b]
    return cache
