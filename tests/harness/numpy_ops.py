# ruff: noqa: N802 - the operators have ONNX's names
"""The few operators random programs call, in plain numpy: the oracle's `op`.

A program names its opset `op`.  Run with this object in its place it is ordinary numpy code, so
what it returns depends on nothing of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
"""A numpy array or scalar; the oracle is untyped on purpose, as numpy code is."""


class NumpyOps:
    """Operators by their ONNX names, computed by numpy."""

    @staticmethod
    def Identity(x: Array) -> Array:
        """The value itself."""
        return x

    @staticmethod
    def Abs(x: Array) -> Array:
        """Absolute value."""
        return np.abs(x)

    @staticmethod
    def Neg(x: Array) -> Array:
        """The negative."""
        return np.negative(x)

    @staticmethod
    def Relu(x: Array) -> Array:
        """The larger of the value and zero."""
        return np.maximum(x, 0)

    @staticmethod
    def Floor(x: Array) -> Array:
        """The largest integer not above."""
        return np.floor(x)

    @staticmethod
    def Not(x: Array) -> Array:
        """Logical negation."""
        return np.logical_not(x)

    @staticmethod
    def And(x: Array, y: Array) -> Array:
        """Logical and."""
        return np.logical_and(x, y)

    @staticmethod
    def Or(x: Array, y: Array) -> Array:
        """Logical or."""
        return np.logical_or(x, y)

    @staticmethod
    def Max(*xs: Array) -> Array:
        """The largest, element by element."""
        result = xs[0]
        for x in xs[1:]:
            result = np.maximum(result, x)
        return result

    @staticmethod
    def Min(*xs: Array) -> Array:
        """The smallest, element by element."""
        result = xs[0]
        for x in xs[1:]:
            result = np.minimum(result, x)
        return result

    @staticmethod
    def Where(condition: Array, x: Array, y: Array) -> Array:
        """One of two, element by element."""
        return np.where(condition, x, y)

    @staticmethod
    def MatMul(x: Array, y: Array) -> Array:
        """Matrix product."""
        return np.matmul(x, y)

    @staticmethod
    def Concat(*xs: Array, axis: int) -> Array:
        """Arrays one after the other along an axis."""
        return np.concatenate(xs, axis=axis)

    @staticmethod
    def Transpose(x: Array, perm: Sequence[int] | None = None) -> Array:
        """Axes in another order."""
        return np.transpose(x, perm)

    @staticmethod
    def ReduceSum(x: Array, axes: Array = None, keepdims: int = 1) -> Array:
        """The sum over the given axes, or over all."""
        axis = None if axes is None else tuple(int(a) for a in np.atleast_1d(axes))
        return np.sum(x, axis=axis, keepdims=bool(keepdims), dtype=np.asarray(x).dtype)

    @staticmethod
    def Split(x: Array, axis: int = 0, num_outputs: int = 2) -> tuple[Array, ...]:
        """Equal parts along an axis, the last one smaller where it does not fit."""
        size = -(-x.shape[axis] // num_outputs)
        return tuple(np.split(x, [size * k for k in range(1, num_outputs)], axis=axis))
