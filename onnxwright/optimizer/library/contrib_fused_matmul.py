"""FusedMatMul of `com.microsoft`: products of transposed and scaled matrices.

As the operators of `contrib_fused`, it takes as long as the nodes or less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.contrib_domain import DOMAIN, LATE, contrib
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType


def _matrices(rng: Any) -> Draw:
    batch = tuple(int(d) for d in rng.integers(1, 4, size=int(rng.integers(0, 3))))
    m, k, n = (int(d) for d in rng.integers(1, 5, size=3))
    rank = len(batch)
    return {
        "a": floats(rng, (*batch, m, k)),
        "b": floats(rng, (*batch, k, n)),
        "at": floats(rng, (*batch, k, m)),
        "bt": floats(rng, (*batch, n, k)),
        "perm": [*range(rank), rank + 1, rank],
        "attrs": {"alpha": 0.5},
        "c": np.float32(rng.choice([0.25, -3.0])),
    }


def _fused(op: Any, a: Any, b: Any, attrs: Any) -> Any:
    return op.opset(DOMAIN).FusedMatMul(a, b, **attrs)


@rule(**LATE, cases=_matrices)
def fused_mat_mul_of_transposed(op: Op, at: Any, b: Any, perm: Attr) -> Any:
    """FusedMatMul: a product of which one side is transposed."""
    return op.MatMul(op.Transpose(at, perm=perm), b)


@fused_mat_mul_of_transposed.also
def _(op: Op, a: Any, bt: Any, perm: Attr) -> Any:
    return op.MatMul(a, op.Transpose(bt, perm=perm))


@fused_mat_mul_of_transposed.also
def _(op: Op, at: Any, b: Any, perm: Attr, attrs: Attrs) -> Any:
    return _fused(op, op.Transpose(at, perm=perm), b, attrs)


@fused_mat_mul_of_transposed.also
def _(op: Op, a: Any, bt: Any, perm: Attr, attrs: Attrs) -> Any:
    return _fused(op, a, op.Transpose(bt, perm=perm), attrs)


@fused_mat_mul_of_transposed.to
def _(op: Op, a: Any, at: Any, b: Any, bt: Any, perm: Any, attrs: Any) -> Any:
    left, right, flag = (a, bt, "transB") if at is None else (at, b, "transA")
    attributes = dict(attrs or {})
    rank = (left if at is not None else right).rank
    if rank is None or rank < 2:
        return None
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    if list(reversed(range(rank)) if perm is None else perm) != swapped:
        return None
    if any(attributes.get(name) for name in (flag, "transBatchA", "transBatchB")):
        return None
    # A side of one dimension is not transposed by the kernel, and the other one is then a matrix.
    if any(v.dtype is not DType.FLOAT or v.rank is None or v.rank < 2 for v in (left, right)):
        return None
    return contrib(op).FusedMatMul(left, right, **{**attributes, flag: 1})


@rule(**LATE, cases=_matrices)
def fused_mat_mul_of_scaled(op: Op, a: Any, b: Any, c: Const) -> Any:
    """FusedMatMul: a product and a factor of it, or of one side."""
    return op.MatMul(a, b) * c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a, b) / c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a * c, b)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a, b * c)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a / c, b)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a * c, b, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a / c, b, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b * c, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b, attrs) * c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b, attrs) / c


@fused_mat_mul_of_scaled.to
def _(op: Op, a: Any, b: Any, c: Any, attrs: Any, match: Any) -> Any:
    factor = number(c)
    if not factor:  # a factor of 0 would leave the product out, and NaN with it
        return None
    if any(v.dtype is not DType.FLOAT or v.rank is None or v.rank < 2 for v in (a, b)):
        return None
    if c.rank > max(a.rank, b.rank):
        return None  # the factor adds dimensions
    if any(n.op_type == "Div" for n in match.nodes.values()):
        factor = 1 / factor
    attributes = dict(attrs or {})
    attributes["alpha"] = factor * attributes.get("alpha", 1.0)
    # Of single precision, with its denormal numbers.
    if not 1e-30 < abs(attributes["alpha"]) < 1e30:
        return None
    return contrib(op).FusedMatMul(a, b, **attributes)
