"""Products with scales, sums and transposes before or after: Gemm, MatMul, Conv."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.number import numbers
from onnxwright.optimizer.patterns import Attrs, Const
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

_FLOATS = (DType.FLOAT, DType.DOUBLE, DType.FLOAT16)


def _matrices(rng: Any) -> Draw:
    n, k, m = (int(d) for d in rng.integers(1, 5, size=3))
    bias = [(m,), (1, m)][int(rng.integers(2))]
    return {"x": floats(rng, (n, k)), "w": floats(rng, (k, m)), "b": floats(rng, bias)}


@rule(since=7, level="rounding", cases=_matrices)
def matmul_and_bias(op: Any, x: Any, w: Const, b: Const) -> Any:
    """A product of matrices and a sum are one Gemm."""
    return op.MatMul(x, w) + b


@matmul_and_bias.to
def _(op: Any, x: Any, w: Any, b: Any) -> Any:
    if x.rank != 2 or w.rank != 2 or b.rank not in (1, 2) or x.dtype not in _FLOATS:
        return None
    if b.shape[-1] not in (w.shape[1], 1) or (b.rank == 2 and b.shape[0] != 1):
        return None
    return op.Gemm(x, w, b)


@rule(since=7, level="rounding", cases=lambda rng: {**_matrices(rng), "attrs": {}})
def gemm_and_bias(op: Any, x: Any, w: Any, b: Const, attrs: Attrs) -> Any:
    """A Gemm without a bias and a sum are one Gemm."""
    return op.Gemm(x, w, **attrs) + b


@gemm_and_bias.to
def _(op: Any, x: Any, w: Any, b: Any, attrs: Any, match: Any) -> Any:
    result = match.roots[0].outputs[0].shape
    if result is None or len(result) != 2 or b.rank not in (1, 2):
        return None
    width = result[1]
    if b.shape[-1] != 1 and (not isinstance(width, int) or b.shape[-1] != width):
        return None
    if b.rank == 2 and b.shape[0] != 1:
        return None
    return op.Gemm(x, w, b, **{k: v for k, v in attrs.items() if k != "beta"})


@rule(since=7, cases=lambda rng: {"x": floats(rng, (3, 2)), "w": floats(rng, (3, 4))})
def gemm_of_transposed(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    """A Gemm reads its first matrix transposed by itself."""
    return op.Gemm(op.Transpose(x, perm=[1, 0]), w, b)


@gemm_of_transposed.to
def _(op: Any, x: Any, w: Any, b: Any) -> Any:
    return op.Gemm(x, w, b, transA=1) if x.dtype in _FLOATS else None


@rule(since=7, cases=lambda rng: {"x": floats(rng, (2, 3)), "w": floats(rng, (4, 3))})
def gemm_by_transposed(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    """A Gemm reads its second matrix transposed by itself."""
    return op.Gemm(x, op.Transpose(w, perm=[1, 0]), b)


@gemm_by_transposed.to
def _(op: Any, x: Any, w: Any, b: Any) -> Any:
    return op.Gemm(x, w, b, transB=1) if x.dtype in _FLOATS else None


# -- convolutions ----------------------------------------------------------------------------------


def _image(rng: Any) -> Draw:
    channels, made = (int(n) for n in rng.integers(1, 4, size=2))
    return {
        "x": floats(rng, (2, channels, 5, 5)),
        "w": floats(rng, (made, channels, 3, 3)),
        "b": floats(rng, (made,)) if rng.integers(2) else None,
        "c": floats(rng, [(made, 1, 1), (1, made, 1, 1)][int(rng.integers(2))]),
        "attrs": {"pads": [1, 1, 1, 1]} if rng.integers(2) else {},
    }


def _of_channels(c: Any, w: Any, rank: int) -> bool:
    """Whether a constant has one number for each channel of a convolution's result."""
    if c.rank is None or w.shape is None or c.dtype is not w.dtype or c.rank > rank:
        return False
    shape = (1,) * (rank - c.rank) + tuple(c.shape)
    return shape[1] == w.shape[0] and all(d == 1 for n, d in enumerate(shape) if n != 1)


def _vector(op: Any, c: Any) -> Any:
    return op.Reshape(c, [-1])


@rule(since=13, level="rounding", cases=_image)
def conv_and_bias(op: Any, x: Any, w: Const, c: Const, attrs: Attrs, b: Const | None = None) -> Any:
    """A sum for each channel after a convolution is its bias."""
    return op.Conv(x, w, b, **attrs) + c


@conv_and_bias.to
def _(op: Any, x: Any, w: Any, c: Any, attrs: Any, b: Any) -> Any:
    if w.rank is None or not _of_channels(c, w, w.rank):
        return None
    bias = _vector(op, c)
    return op.Conv(x, w, bias if b is None else b + bias, **attrs)


@rule(since=13, level="rounding", cases=_image)
def conv_and_scale(
    op: Any, x: Any, w: Const, c: Const, attrs: Attrs, b: Const | None = None
) -> Any:
    """A factor for each channel after a convolution is part of its weights."""
    return op.Conv(x, w, b, **attrs) * c


@conv_and_scale.to
def _(op: Any, x: Any, w: Any, c: Any, attrs: Any, b: Any) -> Any:
    if w.rank is None or not _of_channels(c, w, w.rank) or w.dtype is DType.FLOAT16:
        return None
    factor = _vector(op, c)
    scaled = w * op.Reshape(factor, [-1] + [1] * (w.rank - 1))
    return op.Conv(x, scaled, None if b is None else b * factor, **attrs)


def _padded(rng: Any) -> Draw:
    sides = [0, 0, *(int(n) for n in rng.integers(0, 2, size=2))] * 2
    x = np.abs(floats(rng, (1, 2, 5, 5)))
    return {"x": x, "pads": np.array(sides), "attrs": {"kernel_shape": [2, 2],
                                                        "count_include_pad": 1}}  # fmt: skip


@rule(since=13, level="rounding", cases=_padded)
def pad_into_average_pool(op: Any, x: Any, pads: Const, attrs: Attrs) -> Any:
    """Zeros around an image are padding of an AveragePool that counts them."""
    return op.AveragePool(op.Pad(x, pads), **attrs)


@pad_into_average_pool.to
def _(op: Any, x: Any, pads: Any, attrs: Any) -> Any:
    sides = numbers(pads)
    rank = x.rank
    if sides is None or rank is None or min(sides) < 0 or attrs.get("ceil_mode"):
        return None
    if not attrs.get("count_include_pad") or attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return None
    if any(sides[:2]) or any(sides[rank : rank + 2]):
        return None
    before = attrs.get("pads") or [0] * (2 * rank - 4)
    added = [*sides[2:rank], *sides[rank + 2 :]]
    made = [a + b for a, b in zip(before, added, strict=True)]
    kernel = attrs["kernel_shape"] * 2
    if any(p >= k for p, k in zip(made, kernel, strict=True)):
        return None
    return op.AveragePool(x, **{**attrs, "pads": made})
