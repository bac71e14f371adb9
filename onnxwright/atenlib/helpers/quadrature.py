"""Special functions as short sums: every element against a row of points, then one product.

A row of values times a constant matrix (`MatMul`) is a polynomial, a rule of quadrature or a
series in three operators.  Values are DOUBLE; memory is the number of points times the elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from onnxwright.atenlib.protocols import Op, Value

Weights: TypeAlias = Sequence[float] | np.ndarray[Any, Any]


def row(op: Op, x: Value) -> Value:
    """A value with a new last axis of one, to meet a row of points."""
    return op.Unsqueeze(x, [-1])


def points(op: Op, numbers: Any) -> Value:
    """Numbers as a DOUBLE constant."""
    return op.constant(np.asarray(numbers, np.float64))


def weighted(op: Op, rows: Value, weights: Weights) -> Value:
    """The sums of rows with weights.

    Args:
        rows: a value `[..., n]`.
        weights: n numbers.

    Returns:
        A value `[...]`.
    """
    return op.Squeeze(_products(op, rows, [weights]), [-1])


def weighted_twice(op: Op, rows: Value, weights: Weights, others: Weights) -> tuple[Value, Value]:
    """`weighted` with two lists of weights, by one product."""
    products = _products(op, rows, [weights, others])
    return op.Gather(products, 0, axis=-1), op.Gather(products, 1, axis=-1)


def _products(op: Op, rows: Value, weights: Sequence[Weights]) -> Value:
    columns = points(op, np.stack([np.asarray(w, np.float64) for w in weights], axis=-1))
    return op.MatMul(rows, columns)


def powers(op: Op, x: Value, exponents: Sequence[float]) -> Value:
    """A row of powers of each element."""
    return op.Pow(row(op, x), points(op, exponents))


def quotient(op: Op, x: Value, above: Sequence[float], below: Sequence[float]) -> Value:
    """A quotient of two polynomials of one degree; coefficients from the constant one upward."""
    top, bottom = weighted_twice(op, powers(op, x, range(len(above))), above, below)
    return op.Div(top, bottom)


def midpoints(count: int, end: float = math.pi) -> np.ndarray[Any, Any]:
    """The middles of so many equal parts of `[0, end]`.

    Example:
        >>> midpoints(2, 1.0)
        array([0.25, 0.75])
    """
    points: np.ndarray[Any, Any] = (np.arange(count) + 0.5) * (end / count)
    return points
