"""Gelu and normalizations of rows, of com.microsoft, in numpy.

Half precision is computed in single precision and rounded once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def wide(*inputs: Array | None) -> list[Any]:
    """Inputs of half precision in single precision, others as they are.

    Args:
        inputs: arrays; None stays.

    Example:
        >>> wide(np.ones(1, np.float16), None)
        [array([1.], dtype=float32), None]
    """
    return [x.astype(np.float32) if x is not None and x.itemsize == 2 else x for x in inputs]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _erf(x: Array) -> Array:
    values: Array = np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))
    return values


def gelu(x: Array) -> tuple[Array]:
    """Gelu with Erf."""
    return ((x * 0.5 * (1 + _erf(x / math.sqrt(2)))).astype(x.dtype),)


def bias_gelu(x: Array, bias: Array) -> tuple[Array]:
    """Gelu of a sum."""
    return gelu(x + bias)


def fast_gelu(x: Array, bias: Array | None = None) -> tuple[Array]:
    """Gelu approximated with Tanh, of a sum."""
    (y,) = wide(x if bias is None else x + bias)
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return ((0.5 * y * (1 + np.tanh(inner))).astype(x.dtype),)


def quick_gelu(x: Array, *, alpha: float = 1.702) -> tuple[Array]:
    """A value times the Sigmoid of a multiple of it."""
    (y,) = wide(x)
    return ((y * sigmoid(y * np.float32(alpha))).astype(x.dtype),)


def skip_layer_normalization(
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Array, Array, Array, Array]:
    """LayerNormalization of a sum along the last dimension; the mean, 1 / deviation and the sum."""
    wide_x, other, factor, offset, vector = wide(x, skip, gamma, beta, bias)
    total = wide_x + other if vector is None else wide_x + other + vector
    normal, mean, inverse = _normalized(total, factor, offset, epsilon)
    kind = x.dtype
    mean, inverse = mean.astype(np.float32), inverse.astype(np.float32)
    return normal.astype(kind), mean, inverse, total.astype(kind)


def skip_simplified_layer_normalization(
    x: Array, skip: Array, gamma: Array, bias: Array | None = None, *, epsilon: float = 1e-12
) -> tuple[Array, Array, Array, Array]:
    """RMSNormalization of a sum along the last dimension; the mean, 1 / deviation and the sum."""
    wide_x, other, factor, vector = wide(x, skip, gamma, bias)
    total = wide_x + other if vector is None else wide_x + other + vector
    inverse = 1 / np.sqrt(np.square(total).mean(axis=-1, keepdims=True) + epsilon)
    kind, mean = x.dtype, total.mean(axis=-1, keepdims=True).astype(np.float32)
    normalized = (total * inverse * factor).astype(kind)
    return normalized, mean, inverse.astype(np.float32), total.astype(kind)


def embed_layer_normalization(
    input_ids: Array,
    segment_ids: Array | None,
    word_embedding: Array,
    position_embedding: Array,
    segment_embedding: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    position_ids: Array | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> tuple[Array, Array, Array]:
    """LayerNormalization of the sum of embeddings; how many tokens each row has; the sum."""
    del mask_index_type  # how many tokens: the one way that kernels know
    words, places, segments, factor, offset = wide(
        word_embedding, position_embedding, segment_embedding, gamma, beta
    )
    count = input_ids.shape[1]
    total = words[input_ids] + places[np.arange(count) if position_ids is None else position_ids]
    if segment_ids is not None and segments is not None:
        total = total + segments[segment_ids]
    normal, _, _ = _normalized(total, factor, offset, epsilon)
    tokens = np.zeros(len(input_ids)) if mask is None else mask.sum(axis=1)
    kind = word_embedding.dtype
    return normal.astype(kind), tokens.astype(np.int32), total.astype(kind)


def _normalized(
    rows: Array, gamma: Array, beta: Array | None, epsilon: float
) -> tuple[Array, Array, Array]:
    """Rows less their mean, over their deviation; both beside them."""
    mean = rows.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(np.square(rows - mean).mean(axis=-1, keepdims=True) + epsilon)
    normalized = (rows - mean) * inverse * gamma
    return normalized if beta is None else normalized + beta, mean, inverse
