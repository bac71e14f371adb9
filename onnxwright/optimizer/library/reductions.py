"""Reductions that one operator does: norms and sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import modern, runs
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.number import numbers
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule


def _reduced(rng: Any) -> Draw:
    shape = sizes(rng, 1, 3)
    return {"x": floats(rng, shape), "axes": np.array([int(rng.integers(len(shape)))]),
            "keepdims": int(rng.integers(2))}  # fmt: skip


@rule(since=2, level="rounding", cases=_reduced)
def l2_norm(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    """The root of a sum of squares."""
    return op.Sqrt(op.ReduceSum(x * x, axes, keepdims=keepdims))


@l2_norm.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.Sqrt(op.ReduceSum(op.Pow(x, 2), axes, keepdims=keepdims))


@l2_norm.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.Sqrt(op.ReduceSumSquare(x, axes, keepdims=keepdims))


@l2_norm.to
def _(op: Op, x: Any, axes: Any, keepdims: Any) -> Any:
    found = numbers(axes)
    if not found or not runs(op, "ReduceL2", x.dtype) or not x.dtype.is_float:
        return None
    return modern(op).ReduceL2(x, found, keepdims=keepdims)


@rule(since=2, level="rounding", cases=_reduced)
def sum_of_squares(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    """A sum of squares."""
    return op.ReduceSum(x * x, axes, keepdims=keepdims)


@sum_of_squares.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.ReduceSum(op.Pow(x, 2), axes, keepdims=keepdims)


@sum_of_squares.to
def _(op: Op, x: Any, axes: Any, keepdims: Any) -> Any:
    found = numbers(axes)
    if not found or not runs(op, "ReduceSumSquare", x.dtype) or not x.dtype.is_float:
        return None
    return modern(op).ReduceSumSquare(x, found, keepdims=keepdims)
