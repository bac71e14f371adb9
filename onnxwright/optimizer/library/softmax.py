"""Softmax that is written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule


def _scores(rng: Any) -> Draw:
    shape = sizes(rng, 1, 3)
    return {"x": floats(rng, shape), "axes": np.array([int(rng.integers(len(shape)))])}


@rule(since=13, level="rounding", cases=_scores)
def softmax(op: Op, x: Value, axes: Const) -> Any:
    """Softmax written with the largest element taken away."""
    e = op.Exp(x - op.ReduceMax(x, axes))
    return e / op.ReduceSum(e, axes)


@softmax.to
def _(op: Op, x: Value, axes: Any) -> Any:
    axis_numbers = numbers(axes)
    if axis_numbers is None or len(axis_numbers) != 1 or x.rank is None:
        return None
    return op.Softmax(x, axis=axis_numbers[0])
