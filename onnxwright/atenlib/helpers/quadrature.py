"""Special functions as short sums: every element against a row of points, then one product.

A row of values times a constant matrix (`MatMul`) is a polynomial, a rule of quadrature or a
series in three operators.  Values are DOUBLE; memory is the number of points times the elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def row(op: Any, x: Any) -> Any:
    """A value with a new last axis of one, to meet a row of points."""
    return op.Unsqueeze(x, [-1])


def points(op: Any, numbers: Any) -> Any:
    """Numbers as a DOUBLE constant."""
    return op.constant(np.asarray(numbers, np.float64))


def weighted(op: Any, rows: Any, *weights: Any) -> Any:
    """Sums of rows with weights: one value, or one for each list of weights.

    Args:
        op: the operators.
        rows: a value `[..., n]`.
        weights: n numbers each.

    Returns:
        A value `[...]`, a tuple of them where there are several lists.
    """
    columns = points(op, np.stack([np.asarray(w, np.float64) for w in weights], axis=-1))
    made = op.MatMul(rows, columns)
    if len(weights) == 1:
        return op.Squeeze(made, [-1])
    return tuple(op.Gather(made, n, axis=-1) for n in range(len(weights)))


def powers(op: Any, x: Any, exponents: Sequence[float]) -> Any:
    """A row of powers of each element."""
    return op.Pow(row(op, x), points(op, exponents))


def quotient(op: Any, x: Any, above: Sequence[float], below: Sequence[float]) -> Any:
    """A quotient of two polynomials of one degree; coefficients from the constant one upward."""
    top, bottom = weighted(op, powers(op, x, range(len(above))), above, below)
    return op.Div(top, bottom)


def midpoints(count: int, end: float = math.pi) -> np.ndarray[Any, Any]:
    """The middles of so many equal parts of `[0, end]`.

    Example:
        >>> midpoints(2, 1.0)
        array([0.25, 0.75])
    """
    made: np.ndarray[Any, Any] = (np.arange(count) + 0.5) * (end / count)
    return made
