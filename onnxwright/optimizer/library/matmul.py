"""Products with scales, sums, transposes and reshapes before or after: Gemm and MatMul."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import is_read_once
from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

_FLOATS = (DType.FLOAT, DType.DOUBLE, DType.FLOAT16)


def _matrices(rng: Any) -> Draw:
    n, k, m = (int(d) for d in rng.integers(1, 5, size=3))
    bias = [(m,), (1, m)][int(rng.integers(2))]
    b, d = floats(rng, bias), floats(rng, bias)
    return {"x": floats(rng, (n, k)), "w": floats(rng, (k, m)), "b": b, "d": d}


def _summand(op: Op, b: Any, d: Any, match: Any) -> Any:
    """What is added: `b`, or the negative of `d`, unless others read `d`, which stays then."""
    if d is None:
        return b
    return op.Neg(d) if is_read_once(match, "d") else None


@rule(since=7, level="rounding", cases=_matrices)
def matmul_and_bias(op: Op, x: Value, w: Const, b: Const) -> Any:
    """A product of matrices and a sum are one Gemm."""
    return op.MatMul(x, w) + b


@matmul_and_bias.also
def _(op: Op, x: Value, w: Const, d: Const) -> Any:
    return op.MatMul(x, w) - d


@matmul_and_bias.to
def _(op: Op, x: Any, w: Any, b: Any, d: Any, match: Any) -> Any:
    b = _summand(op, b, d, match)
    if b is None or x.rank != 2 or w.rank != 2 or b.rank not in (1, 2) or x.dtype not in _FLOATS:
        return None
    if b.shape[-1] not in (w.shape[1], 1) or (b.rank == 2 and b.shape[0] != 1):
        return None
    return op.Gemm(x, w, b)


@rule(since=7, level="rounding", cases=lambda rng: {**_matrices(rng), "attrs": {}})
def gemm_and_bias(op: Op, x: Value, w: Value, b: Const, attrs: Attrs) -> Any:
    """A Gemm without a bias and a sum are one Gemm."""
    return op.Gemm(x, w, **attrs) + b


@gemm_and_bias.also
def _(op: Op, x: Value, w: Value, d: Const, attrs: Attrs) -> Any:
    return op.Gemm(x, w, **attrs) - d


@gemm_and_bias.to
def _(op: Op, x: Any, w: Any, b: Any, d: Any, attrs: Any, match: Any) -> Any:
    b = _summand(op, b, d, match)
    if b is None or w.rank != 2 or b.rank not in (1, 2) or (b.rank == 2 and b.shape[0] != 1):
        return None
    width = w.shape[0 if attrs.get("transB") else 1]
    if b.shape[-1] != 1 and (not isinstance(width, int) or b.shape[-1] != width):
        return None
    return op.Gemm(x, w, b, **{k: v for k, v in attrs.items() if k != "beta"})


def _transposed(rng: Any, which: str, shape: tuple[int, int]) -> Draw:
    """Matrices, one of them transposed before the Gemm, and half of the time by the Gemm too."""
    twice = int(rng.integers(2))
    inputs = {"x": floats(rng, (2, 3)), "w": floats(rng, (3, 4))}
    name = "x" if which == "transA" else "w"
    inputs[name] = floats(rng, shape[::-1] if twice else shape)
    return {**inputs, "attrs": {which: twice, "alpha": 0.5}}


@rule(since=7, cases=lambda rng: _transposed(rng, "transA", (3, 2)))
def gemm_of_transposed(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    """Gemm transposes its first matrix itself."""
    return op.Gemm(op.Transpose(x, perm=[1, 0]), w, b, **attrs)


@gemm_of_transposed.to
def _(op: Op, x: Value, w: Value, b: Value, attrs: Any) -> Any:
    other = {**attrs, "transA": 1 - attrs.get("transA", 0)}
    return op.Gemm(x, w, b, **other) if x.dtype in _FLOATS else None


@rule(since=7, cases=lambda rng: _transposed(rng, "transB", (4, 3)))
def gemm_by_transposed(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    """Gemm transposes its second matrix itself."""
    return op.Gemm(x, op.Transpose(w, perm=[1, 0]), b, **attrs)


@gemm_by_transposed.to
def _(op: Op, x: Value, w: Value, b: Value, attrs: Any) -> Any:
    other = {**attrs, "transB": 1 - attrs.get("transB", 0)}
    return op.Gemm(x, w, b, **other) if x.dtype in _FLOATS else None


# -- factors -----------------------------------------------------------------------------------


def _scaled(rng: Any) -> Draw:
    drawn = _matrices(rng)
    m = drawn["w"].shape[1]
    return {
        **drawn,
        "b": floats(rng, (m,)),
        "c": floats(rng, [(m,), (1, m), ()][int(rng.integers(3))]),
        "d": np.abs(floats(rng, [(m,), (1, m), ()][int(rng.integers(3))])) + np.float32(0.5),
        "attrs": {},
    }


def _factor(op: Op, w: Value, c: Value, x: Value, match: Any) -> Any:
    """A factor of each column of `w` or of all of it, as something that may be multiplied to it."""
    if w.rank != 2 or c.rank is None or c.rank > max(x.rank or 0, 1) or c.dtype is not w.dtype:
        return None
    if not is_read_once(match, "w", "b") or w.dtype not in (DType.FLOAT, DType.DOUBLE):
        return None  # half precision would be rounded twice
    if all(d == 1 for d in c.shape):
        return op.Reshape(c, [1])
    if any(d != 1 for d in c.shape[:-1]) or c.shape[-1] != w.shape[1]:
        return None
    return c if c.rank == 1 else op.Reshape(c, [-1])


@rule(since=7, level="rounding", cases=_scaled)
def matmul_and_scale(op: Op, x: Value, w: Const, c: Const) -> Any:
    """A factor of a product with a weight is part of the weight."""
    return op.MatMul(x, w) * c


@matmul_and_scale.also
def _(op: Op, x: Value, w: Const, c: Const, b: Const) -> Any:
    return (op.MatMul(x, w) + b) * c


@matmul_and_scale.also
def _(op: Op, x: Value, w: Const, d: Const) -> Any:
    return op.MatMul(x, w) / d


@matmul_and_scale.also
def _(op: Op, x: Value, w: Const, d: Const, b: Const) -> Any:
    return (op.MatMul(x, w) + b) / d


@matmul_and_scale.to
def _(op: Any, x: Any, w: Any, c: Any, d: Any, b: Any, match: Any) -> Any:
    factor = _factor(op, w, d if c is None else c, x, match)
    if factor is None or (b is not None and b.rank != 1):
        return None
    product = op.MatMul(x, _scaled_by(w, factor, c))
    return product if b is None else product + _scaled_by(b, factor, c)


def _scaled_by(weight: Any, factor: Any, c: Any) -> Any:
    """A weight times the factor; divided by it where there is no `c`."""
    return weight / factor if c is None else weight * factor


@rule(since=7, level="rounding", cases=_scaled)
def gemm_and_scale(
    op: Op, x: Value, w: Const, c: Const, attrs: Attrs, b: Const | None = None
) -> Any:
    """A factor of a Gemm with a weight is part of the weight and of the bias."""
    return op.Gemm(x, w, b, **attrs) * c


@gemm_and_scale.also
def _(op: Op, x: Value, w: Const, d: Const, attrs: Attrs, b: Const | None = None) -> Any:
    return op.Gemm(x, w, b, **attrs) / d


@gemm_and_scale.to
def _(op: Any, x: Any, w: Any, c: Any, d: Any, attrs: Any, b: Any, match: Any) -> Any:
    multiplier, c = c, d if c is None else c
    if attrs.get("transB"):
        if c.rank and any(d != 1 for d in c.shape):
            if w.rank != 2 or c.shape[-1] != w.shape[0] or any(d != 1 for d in c.shape[:-1]):
                return None
            if not is_read_once(match, "w", "b") or c.dtype is not w.dtype or c.rank > 2:
                return None
            factor, of_rows = op.Reshape(c, [-1]), op.Reshape(c, [-1, 1])
        else:
            factor = of_rows = _factor(op, w, c, x, match)
    else:
        factor = of_rows = _factor(op, w, c, x, match)
    if factor is None or w.dtype not in (DType.FLOAT, DType.DOUBLE):
        return None
    if b is not None and b.rank != 1:
        return None
    bias = None if b is None else _scaled_by(b, factor, multiplier)
    return op.Gemm(x, _scaled_by(w, of_rows, multiplier), bias, **attrs)


def _summed(rng: Any) -> Draw:
    return {**_scaled(rng), "c": floats(rng, (4, 1))[:1], "d": floats(rng, (4, 1))[:1]}


@rule(since=7, level="rounding", cases=_summed)
def gemm_with_bias_and_sum(op: Op, x: Value, w: Value, b: Const, c: Const, attrs: Attrs) -> Any:
    """A sum after a Gemm is part of its bias."""
    return op.Gemm(x, w, b, **attrs) + c


@gemm_with_bias_and_sum.also
def _(op: Op, x: Value, w: Value, b: Const, d: Const, attrs: Attrs) -> Any:
    return op.Gemm(x, w, b, **attrs) - d


@gemm_with_bias_and_sum.to
def _(op: Op, x: Any, w: Any, b: Any, c: Any, d: Any, attrs: Any, match: Any) -> Any:
    summand, c = c, d if c is None else c
    if b.rank != 1 or c.rank not in (0, 1, 2) or attrs.get("beta", 1.0) != 1.0:
        return None
    if (c.rank == 2 and c.shape[0] != 1) or not is_read_once(match, "b", "c", "d"):
        return None
    if c.rank and c.shape[-1] not in (1, b.shape[0]):
        return None
    row = op.Reshape(c, [-1])
    return op.Gemm(x, w, b - row if summand is None else b + row, **attrs)


# -- products of matrices that are made of more axes ---------------------------------------------


def _rows(rng: Any) -> Draw:
    n, t, k, m = (int(d) for d in rng.integers(1, 5, size=4))
    return {
        "x": floats(rng, (n, t, k)),
        "w": floats(rng, (k, m)),
        "b": floats(rng, (m,)),
        "flat": np.array([-1, k]),
        "back": np.array([n if rng.integers(2) else -1, t, m]),
    }


@rule(since=5, level="rounding", cases=_rows)
def product_of_rows(op: Op, x: Value, w: Value, flat: Const, back: Const) -> Any:
    """A product of all rows as one matrix, between two Reshapes: MatMul needs none of them."""
    return op.Reshape(op.MatMul(op.Reshape(x, flat), w), back)


@product_of_rows.also
def _(op: Op, x: Value, w: Value, flat: Const, back: Value) -> Any:
    return op.Reshape(op.MatMul(op.Reshape(x, flat), w), back)


@product_of_rows.to
def _(op: Op, x: Value, w: Value, flat: Value, back: Value, match: Any) -> Any:
    return op.MatMul(x, w) if _is_of_rows(x, w.shape, flat, back, match) else None


def _is_of_rows(x: Any, w: Any, flat: Any, back: Any, match: Any) -> bool:
    """Whether the rows of `x` are flattened, multiplied, and put back in their places."""
    dims, result = numbers(flat), match.kinds[0]
    if dims is None or x.shape is None or len(x.shape) < 3 or w is None or len(w) != 2:
        return False
    if len(dims) != 2 or dims[1] != x.shape[-1] or not isinstance(w[1], int):
        return False
    shape, back_shape = (*x.shape[:-1], w[1]), numbers(back)
    if result is not None and result.shape == shape and None not in shape:
        return True
    if back_shape is None or len(back_shape) != len(shape) or back_shape.count(-1) != 1:
        return False
    return all(g == -1 or (g == d and g != 0) for g, d in zip(back_shape, shape, strict=True))


@rule(since=7, level="rounding", cases=lambda rng: {**_rows(rng), "attrs": {}})
def gemm_of_rows(
    op: Op, x: Value, w: Const, b: Const, flat: Const, back: Const, attrs: Attrs
) -> Any:
    """A Gemm of all rows as one matrix, between two Reshapes, is a MatMul and a sum."""
    return op.Reshape(op.Gemm(op.Reshape(x, flat), w, b, **attrs), back)


@gemm_of_rows.also
def _(op: Op, x: Value, w: Const, b: Const, flat: Const, back: Value, attrs: Attrs) -> Any:
    return op.Reshape(op.Gemm(op.Reshape(x, flat), w, b, **attrs), back)


@gemm_of_rows.to
def _(
    op: Op, x: Value, w: Value, b: Value, flat: Value, back: Value, attrs: Any, match: Any
) -> Any:
    if set(attrs) - {"transB"} or b.rank != 1 or w.rank != 2:
        return None
    weight = op.Transpose(w, perm=[1, 0]) if attrs.get("transB") else w
    if not _is_of_rows(x, weight.shape, flat, back, match) or not is_read_once(match, "w"):
        return None
    return op.MatMul(x, weight) + b


# -- products of one value with several weights ----------------------------------------------------


def _several(rng: Any) -> Draw:
    n, k = (int(d) for d in rng.integers(1, 5, size=2))
    drawn: Draw = {"x": floats(rng, (2, n, k))}
    for name in "abc":
        m = int(rng.integers(1, 5))
        drawn |= {f"w{name}": floats(rng, (k, m)), f"b{name}": floats(rng, (m,))}
    return drawn


# What else could be made of each product comes first.
@rule(since=13, level="rounding", late=True, cases=_several)
def products_of_one_value(op: Op, x: Value, wa: Const, wb: Const, wc: Const) -> Any:
    """Products of a value with three weights, as queries, keys and values: one product, cut."""
    return op.MatMul(x, wa), op.MatMul(x, wb), op.MatMul(x, wc)


@products_of_one_value.to
def _(op: Op, x: Value, wa: Value, wb: Value, wc: Value, match: Any) -> Any:
    return _joined(op, x, [wa, wb, wc], [], match)


@rule(since=13, level="rounding", late=True, cases=_several)
def products_and_sums_of_one_value(
    op: Op, x: Value, wa: Const, wb: Const, wc: Const, ba: Const, bb: Const, bc: Const
) -> Any:
    """Products of a value with three weights and sums, as queries, keys and values."""
    return op.MatMul(x, wa) + ba, op.MatMul(x, wb) + bb, op.MatMul(x, wc) + bc


@products_and_sums_of_one_value.to
def _(
    op: Op, x: Value, wa: Value, wb: Value, wc: Value, ba: Value, bb: Value, bc: Value, match: Any
) -> Any:
    return _joined(op, x, [wa, wb, wc], [ba, bb, bc], match)


def _joined(op: Any, x: Any, weights: list[Any], biases: list[Any], match: Any) -> Any:
    """The slices of one product with the concatenated weights."""
    if x.rank is None or x.rank < 2 or x.dtype not in _FLOATS:
        return None
    if any(w.rank != 2 or not isinstance(w.shape[1], int) or w.shape[1] == 0 for w in weights):
        return None
    if any(b.rank != 1 or b.shape[0] != w.shape[1] for w, b in zip(weights, biases, strict=False)):
        return None
    if len({w.value for w in weights}) < len(weights) or len({w.shape[0] for w in weights}) != 1:
        return None
    if not is_read_once(match, "wa", "wb", "wc", "ba", "bb", "bc"):
        return None
    product = op.MatMul(x, op.Concat(*weights, axis=1))
    if biases:
        product = product + op.Concat(*biases, axis=0)
    return op.Split(product, [w.shape[1] for w in weights], axis=-1)
