"""Quantization that is undone and done again."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.drawing import Draw
from onnxwright.optimizer.number import number
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rules import rule


def _quantized(rng: Any) -> Draw:
    zero = np.array(int(rng.integers(0, 255)), np.uint8)
    scale = np.array(rng.uniform(1e-3, 4), np.float32)
    return {
        "q": rng.integers(0, 256, size=(3, 5)).astype(np.uint8),
        "s": scale, "z": zero, "t": scale, "u": zero,
    }  # fmt: skip


@rule(since=10, level="rounding", cases=_quantized)
def quantized_again(op: Any, q: Any, s: Const, z: Const, t: Const, u: Const) -> Any:
    """A quantized value that is dequantized and quantized by the same scale and zero point."""
    return op.QuantizeLinear(op.DequantizeLinear(q, s, z), t, u)


@quantized_again.to
def _(op: Any, q: Any, s: Any, z: Any, t: Any, u: Any) -> Any:
    del op
    if q.dtype is not u.dtype or s.rank != 0 or t.rank != 0 or q.dtype is None:
        return None
    scale = number(s)
    if scale is None or not np.isfinite(scale) or scale < 1e-30 or scale != number(t):
        return None
    return q if number(z) is not None and number(z) == number(u) else None
