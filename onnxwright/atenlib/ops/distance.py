"""Distances and similarities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import iota, is_small, scalar
from onnxwright.atenlib.helpers.reduce import in_working_type, reduce
from onnxwright.atenlib.helpers.shape import flat
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.loss import HALF_STEPS, difference, p_norm_of_rows
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Number, Op, Size, Value
from onnxwright.atenlib.rules import custom, elementwise
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import promote_types, real_of

# From this many rows on, torch takes Euclidean distances from products of matrices.
_MANY_ROWS = 25


def _euclidean(op: Op, a: Value, b: Value) -> Value:
    """Distances of rows from one product of matrices."""
    a_squares = reduce(op, "ReduceSum", op.Mul(a, a), [a.rank - 1], True)
    b_squares = reduce(op, "ReduceSum", op.Mul(b, b), [b.rank - 1], True)
    turned = [*range(b.rank - 2), b.rank - 1, b.rank - 2]
    products = op.MatMul(op.Mul(a, -2), op.Transpose(b, perm=turned))
    squares = op.Add(op.Add(products, a_squares), op.Transpose(b_squares, perm=turned))
    return op.Sqrt(op.Max(squares, 0))


def _distances(op: Op, a: Value, b: Value, p: float, mode: int | None) -> Value:
    """The distances of all rows of one tensor from all rows of another."""
    rows = [n for n in (a.shape[-2], b.shape[-2]) if isinstance(n, int)]
    by_product = mode == 1 or (mode in (None, 0) and any(n > _MANY_ROWS for n in rows))
    empty = 0 in (*a.shape, *b.shape)
    if p == 2 and by_product and mode != 2 and not empty:
        return _euclidean(op, a, b)
    away = op.Sub(op.Unsqueeze(a, [-2]), op.Unsqueeze(b, [-3]))
    return p_norm_of_rows(op, away, p)


@aten("aten::cdist", "aten::_cdist_forward", rule=elementwise(("x1", "x2")))
def cdist(op: Op, x1: Value, x2: Value, p: float = 2.0, compute_mode: int | None = None) -> Value:
    """The distances of order p of all rows from all rows, `[..., m, d]` and `[..., n, d]`."""
    return _distances(op, x1, x2, float(p), compute_mode)


@aten(
    "aten::_euclidean_dist",
    rule=elementwise(("x1", "x2")),
    untested="torch.cdist is recorded as a whole",
)
def euclidean_dist(op: Op, x1: Value, x2: Value) -> Value:
    """The Euclidean distances of all rows from all rows."""
    return _euclidean(op, x1, x2)


def _pairs(op: Op, count: Size) -> tuple[Any, Any]:
    """The rows and columns above the diagonal, row by row."""
    if isinstance(count, int) and is_small(count, count):
        first, second = (n.astype(np.int64) for n in np.triu_indices(count, 1))
        return op.constant(first), op.constant(second)
    steps = iota(op, count)
    above = op.NonZero(op.Less(op.Unsqueeze(steps, [1]), steps))
    if isinstance(count, int):
        above = op.Reshape(above, [2, count * (count - 1) // 2])
    return op.Gather(above, 0, axis=0), op.Gather(above, 1, axis=0)


@aten(
    "aten::pdist",
    "aten::_pdist_forward",
    rule=elementwise(),
    tests=[OpTest("nn.functional.pdist")],
)
def pdist(op: Op, self: Value, p: float = 2.0) -> Value:
    """The distances of order p of each row from all later ones, one after another."""
    first, second = _pairs(op, size(op, self, 0))
    a, b = op.Gather(self, first, axis=0), op.Gather(self, second, axis=0)
    return p_norm_of_rows(op, op.Sub(a, b), float(p))


@aten(
    "aten::cosine_similarity",
    rule=elementwise(("x1", "x2"), promote="int_to_float"),
    tests=[OpTest("nn.functional.cosine_similarity", tol=HALF_STEPS)],
)
def cosine_similarity(op: Op, x1: Value, x2: Value, dim: int = 1, eps: float = 1e-08) -> Value:
    """The cosine of the angle between vectors along an axis; lengths are at least `eps`."""
    a, b = in_working_type(op, x1), in_working_type(op, x2)
    rank = max(a.rank, b.rank)
    axis = axis_of(dim, rank)

    def unit(x: Value, other: Value) -> Value:
        # Lengths are those after broadcasting: an axis that is stretched counts as often.
        own, theirs = (axis - (rank - v.rank) if v.rank else -1 for v in (x, other))
        length = reduce(op, "ReduceL2", x, [own] if own >= 0 else [], True)
        alone = own < 0 or x.shape[own] == 1
        if alone and theirs >= 0 and other.shape[theirs] != 1:
            times = scalar(op, size(op, other, theirs), x.onnx_dtype)
            length = op.Mul(length, op.Sqrt(times))
        return op.Div(x, op.Max(length, eps))

    product = op.Mul(unit(a, b), unit(b, a))
    return reduce(op, "ReduceSum", product, [axis] if rank else [])


def _real_type(arguments: Arguments) -> DType:
    common = promote_types(
        *[real_of(arguments[name].onnx_dtype) for name in arguments if name in _TENSORS]
    )
    return common if common.is_float else DType.FLOAT


_TENSORS = ("x1", "x2", "self", "other")


@aten(
    "aten::pairwise_distance",
    rule=custom(_real_type),
    tests=[
        OpTest("nn.functional.pairwise_distance", tol=HALF_STEPS),
        OpTest("nn.functional.triplet_margin_with_distance_loss", tol=HALF_STEPS),
    ],
    complex="same",
)
def pairwise_distance(
    op: Op, x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Value:
    """The norm of order p of `x1 - x2 + eps` along the last axis."""
    work = _working(_real_type({"x1": x1, "x2": x2}))
    return p_norm_of_rows(op, difference(op, x1, x2, eps, work), float(p), keepdim)


def _working(dtype: DType) -> DType:
    return DType.FLOAT if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype


@aten("aten::dist", rule=custom(_real_type), tests=[OpTest("dist", tol=HALF_STEPS)], complex="same")
def dist(op: Op, self: Value, other: Value, p: Number = 2) -> Value:
    """The norm of order p of the difference of two tensors, all elements together."""
    work = _working(_real_type({"self": self, "other": other}))
    away = flat(op, difference(op, self, other, 0.0, work))
    if away.shape[0] == 0:
        return scalar(op, math.inf if p < 0 else 0, work)
    return p_norm_of_rows(op, away, float(p))
