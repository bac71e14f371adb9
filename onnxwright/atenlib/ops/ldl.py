"""Factorizations as LAPACK packs them: LU taken apart, and LDL of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib import algebra
from onnxwright.atenlib.complexes import as_complex
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops import decompositions as factors
from onnxwright.atenlib.ops.decompositions import numbers_below, only, real
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.rules import like
from onnxwright.atenlib.support import full, size, sizes, vector
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's.
_TOL = {name: Tol(2e-3, 2e-4) for name in ("float32", "complex64")}


def _tests(*names: str) -> list[OpTest]:
    return [OpTest(name, tol=_TOL) for name in names]


def _exchanged(op: Any, rows: Any, a: Any, b: Any) -> Any:
    """Numbers of rows, two of them exchanged; `a` and `b` are `[..., 1]`."""
    return op.Where(op.Equal(rows, a), b, op.Where(op.Equal(rows, b), a, rows))


def _order(op: Any, pivots: Any, n: Any) -> Any:
    """Where each row came from, `[..., n]`, by which one each was exchanged with, one by one."""
    rows = numbers_below(op, n)
    start = op.Expand(rows, vector(op, [*sizes(op, pivots)[:-1], n]))
    others = op.Sub(op.Cast(pivots, to=DType.INT64), 1)

    def step(k: Any, states: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        other = op.Gather(others, op.Unsqueeze(k, [0]), axis=-1)
        return [op.GatherElements(states[0], _exchanged(op, rows, k, other), axis=-1)], []

    if 0 in pivots.shape:
        return start
    return factors.repeat(op, size(op, pivots, -1), [start], step)[0][0]


@aten("aten::lu_unpack", rule=like("LU_data"), tests=_tests("lu_unpack"))
def lu_unpack(
    op: Any, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """`P`, `L` and `U` of a packed factorization; what is not asked for is empty."""
    x = real(LU_data)
    m, n = size(op, x, -2), size(op, x, -1)
    like_data = (lambda v: as_complex(op, v, v.onnx_dtype)) if x is not LU_data else (lambda v: v)
    nothing = like_data(full(op, [0], 0, x.onnx_dtype))
    p, lower, upper = nothing, nothing, nothing
    if unpack_pivots:
        order = _order(op, LU_pivots, m)
        rows = op.Unsqueeze(numbers_below(op, m), [1])
        p = like_data(op.Cast(op.Equal(rows, op.Unsqueeze(order, [-2])), to=x.onnx_dtype))
    if unpack_data:
        rows, columns = op.Unsqueeze(numbers_below(op, m), [1]), numbers_below(op, n)
        least = factors.least_size(op, m, n)
        one = factors.unit(op, m, x.onnx_dtype, columns=least)
        below = only(op, op.Greater(rows, columns), LU_data)
        above = only(op, op.LessOrEqual(rows, columns), LU_data)
        lower = algebra.add(op, _first(op, below, least, -1), like_data(one))
        upper = _first(op, above, least, -2)
    return p, lower, upper


@lu_unpack.on_complex
def lu_unpack_complex(
    op: Any, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    return lu_unpack.body(op, LU_data, LU_pivots, unpack_data, unpack_pivots)


def _first(op: Any, x: Any, count: Any, axis: int) -> Any:
    """The first of an axis."""
    end = vector(op, [count])
    return algebra.each(lambda v: op.Slice(v, [0], end, [v.rank + axis]), x)
