"""Quantization that is undone and done again, at once or after what only moves elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType


def _quantized(rng: Any) -> Draw:
    zero = np.array(int(rng.integers(0, 255)), np.uint8)
    scale = np.array(rng.uniform(1e-3, 4), np.float32)
    return {
        "q": rng.integers(0, 256, size=(3, 5)).astype(np.uint8),
        "s": scale, "z": zero, "t": scale, "u": zero,
    }  # fmt: skip


@rule(since=10, level="rounding", cases=_quantized)
def quantized_again(op: Op, q: Value, s: Const, z: Const, t: Const, u: Const) -> Any:
    """A quantized value that is dequantized and quantized by the same scale and zero point."""
    return op.QuantizeLinear(op.DequantizeLinear(q, s, z), t, u)


@quantized_again.to
def _(op: Op, q: Value, s: Value, z: Value, t: Value, u: Value) -> Any:
    del op
    return q if _kept(q, s, z, t, u) else None


# -- what moves elements works on quantized ones, too ----------------------------------------------


def _moved(rng: Any) -> Draw:
    drawn = _quantized(rng)
    q = drawn["q"][:, :4].reshape(1, 3, 2, 2)
    kinds: dict[str, Any] = {"perm": [0, 2, 1, 3], "shape": np.array([3, -1])}
    return {**drawn, **kinds, "q": q, "axes": np.array([0]), "starts": np.array([1]),
            "ends": np.array([3]), "attrs": {"kernel_shape": [2, 2]}}  # fmt: skip


def _kept(q: Any, s: Any, z: Any, t: Any, u: Any) -> bool:
    """Whether a value is dequantized and quantized in the same way, by one scale."""
    if q.dtype is None or q.dtype is not u.dtype or s.rank != 0 or t.rank != 0:
        return False
    scale = number(s)
    if scale is None or not np.isfinite(scale) or scale < 1e-30 or scale != number(t):
        return False
    return number(z) is not None and number(z) == number(u)


@rule(since=13, level="rounding", cases=lambda rng: {**_moved(rng), "attrs": {}})
def reshape_of_quantized(
    op: Op, q: Value, s: Const, z: Const, t: Const, u: Const, shape: Any, attrs: Attrs
) -> Any:
    """A Reshape between DequantizeLinear and QuantizeLinear of the same scale."""
    real = op.DequantizeLinear(q, s, z)
    return op.QuantizeLinear(op.Reshape(real, shape, **attrs), t, u)


@reshape_of_quantized.to
def _(op: Op, q: Value, s: Value, z: Value, t: Value, u: Value, shape: Any, attrs: Any) -> Any:
    return op.Reshape(q, shape, **attrs) if _kept(q, s, z, t, u) else None


@rule(since=13, level="rounding", cases=_moved)
def transpose_of_quantized(
    op: Op, q: Value, s: Const, z: Const, t: Const, u: Const, perm: Attr
) -> Any:
    """A Transpose between DequantizeLinear and QuantizeLinear of the same scale."""
    real = op.DequantizeLinear(q, s, z)
    return op.QuantizeLinear(op.Transpose(real, perm=perm), t, u)


@transpose_of_quantized.to
def _(op: Op, q: Value, s: Value, z: Value, t: Value, u: Value, perm: Any) -> Any:
    return op.Transpose(q, perm=perm) if _kept(q, s, z, t, u) else None


@rule(since=13, level="rounding", cases=_moved)
def max_pool_of_quantized(
    op: Op, q: Value, s: Const, z: Const, t: Const, u: Const, attrs: Attrs
) -> Any:
    """A MaxPool between DequantizeLinear and QuantizeLinear of the same scale."""
    return op.QuantizeLinear(op.MaxPool(op.DequantizeLinear(q, s, z), **attrs), t, u)


@max_pool_of_quantized.to
def _(op: Op, q: Value, s: Value, z: Value, t: Value, u: Value, attrs: Any) -> Any:
    small = q.dtype in (DType.INT8, DType.UINT8)
    return op.MaxPool(q, **attrs) if small and _kept(q, s, z, t, u) else None


@rule(since=13, level="rounding", cases=lambda rng: {**_moved(rng), "axes": np.array([1])})
def slice_of_quantized(
    op: Op, q: Value, s: Const, z: Const, t: Const, u: Const, starts: Value, ends: Value, axes: Any
) -> Any:
    """A Slice between DequantizeLinear and QuantizeLinear of the same scale."""
    real = op.Slice(op.DequantizeLinear(q, s, z), starts, ends, axes)
    return op.QuantizeLinear(real, t, u)


@slice_of_quantized.to
def _(
    op: Op, q: Value, s: Value, z: Value, t: Value, u: Value, starts: Value, ends: Value, axes: Any
) -> Any:  # fmt: skip
    return op.Slice(q, starts, ends, axes) if _kept(q, s, z, t, u) else None


@rule(since=13, level="rounding", cases=_moved)
def squeeze_of_quantized(
    op: Op, q: Value, s: Const, z: Const, t: Const, u: Const, axes: Any
) -> Any:
    """A Squeeze between DequantizeLinear and QuantizeLinear of the same scale."""
    return op.QuantizeLinear(op.Squeeze(op.DequantizeLinear(q, s, z), axes), t, u)


@squeeze_of_quantized.to
def _(op: Op, q: Value, s: Value, z: Value, t: Value, u: Value, axes: Any) -> Any:
    return op.Squeeze(q, axes) if _kept(q, s, z, t, u) else None
