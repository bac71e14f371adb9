"""Random counts by the inverse of their distribution function, and gamma and Dirichlet numbers.

An iteration of a Loop never draws what an earlier one has drawn for the same element: the masks
that `random_numbers` uses from opset 22 on are not independent from call to call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers import random_numbers
from onnxwright.atenlib.helpers.constants import INT64_MAX, cast, full_like, scalar
from onnxwright.atenlib.helpers.sizes import sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.random import working
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_UNTIL_DONE = np.array(INT64_MAX)
_BY_HAND = "torch has no OpInfo for it; tests/atenlib/test_random.py looks at its moments"
# So many standard deviations, and so many more, above its mean a Poisson count is never drawn: the
# probability is below the rounding of DOUBLE.
_FAR, _FARTHER = 12.0, 60.0


def _some(op: Op, condition: Value) -> Value:
    """Whether a condition holds anywhere; false without elements."""
    flat = op.Cast(op.Reshape(condition, [-1]), to=DType.INT64)
    return op.Greater(op.ReduceSum(flat, [0], keepdims=0), 0)


def _inverted(op: Op, log_of_none: Any, most: Any, ratio: Callable[[Any], Any]) -> Any:
    """The least count whose distribution function is above a uniform number.

    Args:
        log_of_none: the logarithm of the probability of zero, DOUBLE.
        most: the greatest count of each element.
        ratio: the probability of a count divided by that of one less.
    """
    drawn = random_numbers.uniform(op, sizes(op, log_of_none), DType.DOUBLE)

    def wanted(total: Size, count: Size) -> Value:
        return op.And(op.LessOrEqual(total, drawn), op.Less(count, most))

    def step(i: Any, go: Any, log: Any, total: Size, count: Size) -> tuple[Any, ...]:
        number = op.Cast(op.Add(i, 1), to=DType.DOUBLE)
        count = op.Where(wanted(total, count), number, count)
        log = op.Add(log, op.Log(op.Max(ratio(number), 0.0)))
        total = op.Add(total, op.Exp(log))
        return _some(op, wanted(total, count)), log, total, count

    start, nothing = op.Exp(log_of_none), full_like(op, log_of_none, 0)
    first = _some(op, wanted(start, nothing))
    results = op.Loop(op.constant(_UNTIL_DONE), first, log_of_none, start, nothing, body=step)
    return results[2]


@aten("aten::poisson", rule=like("self"), untested=_BY_HAND)
def poisson(op: Op, self: Value) -> Value:
    """The number of events in unit time for a rate; about as many iterations as the rate."""
    rate = cast(op, self, DType.DOUBLE)
    most = op.Ceil(op.Add(op.Add(rate, op.Mul(op.Sqrt(rate), _FAR)), _FARTHER))
    most = op.Where(op.Greater(rate, 0.0), most, scalar(op, 0.0, DType.DOUBLE))
    counts = _inverted(op, op.Neg(rate), most, lambda n: op.Div(rate, n))
    return cast(op, counts, self.onnx_dtype)


@aten("aten::binomial", rule=like("count"), untested=_BY_HAND)
def binomial(op: Op, count: Value, prob: Value) -> Value:
    """How many of `count` trials succeed; about as many iterations as there are successes."""
    trials, chance = cast(op, count, DType.DOUBLE), cast(op, prob, DType.DOUBLE)
    sure = op.GreaterOrEqual(chance, 1.0)
    chance = op.Where(sure, scalar(op, 0.5, DType.DOUBLE), chance)
    odds = op.Div(chance, op.Sub(1.0, chance))

    def ratio(n: Size) -> Value:
        return op.Mul(op.Div(op.Add(op.Sub(trials, n), 1.0), n), odds)

    none = op.Mul(trials, op.Log(op.Sub(1.0, chance)))
    counts = op.Where(sure, trials, _inverted(op, none, trials, ratio))
    return cast(op, counts, count.onnx_dtype)


def _gamma(op: Op, shape: Value) -> Value:
    """Marsaglia and Tsang, A simple method for generating gamma variables, 2000."""
    dtype = shape.onnx_dtype
    small = op.Less(shape, 1.0)
    above = op.Where(small, op.Add(shape, 1.0), shape)
    d = op.Sub(above, 1.0 / 3.0)
    c = op.Div(scalar(op, 1.0, dtype), op.Sqrt(op.Mul(d, 9.0)))

    def step(i: Any, go: Any, draws: Any) -> tuple[Any, ...]:
        drawn = op.Sub(1.0, random_numbers.uniform(op, [3, *sizes(op, shape)], dtype))
        one, two, three = op.Split(drawn, axis=0, num_outputs=3)
        radius = op.Sqrt(op.Mul(op.Log(op.Squeeze(one, [0])), -2.0))
        x = op.Mul(radius, op.Cos(op.Mul(op.Squeeze(two, [0]), 2 * math.pi)))
        root = op.Add(op.Mul(c, x), 1.0)
        v = op.Mul(op.Mul(root, root), root)
        positive = op.Greater(v, 0.0)
        log = op.Log(op.Where(positive, v, scalar(op, 1.0, dtype)))
        bound = op.Add(op.Mul(op.Mul(x, x), 0.5), op.Mul(d, op.Add(op.Sub(1.0, v), log)))
        good = op.And(positive, op.Less(op.Log(op.Squeeze(three, [0])), bound))
        draws = op.Where(op.And(good, op.Less(draws, 0.0)), op.Mul(d, v), draws)
        return _some(op, op.Less(draws, 0.0)), draws

    start = _some(op, op.Equal(shape, shape))
    draws = op.Loop(op.constant(_UNTIL_DONE), start, full_like(op, shape, -1), body=step)
    # What is below one is drawn for one more, and brought down by a power of a uniform number.
    last = op.Sub(1.0, random_numbers.uniform(op, sizes(op, shape), dtype))
    power = op.Pow(last, op.Div(scalar(op, 1.0, dtype), shape))
    return op.Where(small, op.Mul(draws, power), draws)


@aten("aten::_standard_gamma", rule=like("self"), untested=_BY_HAND)
def standard_gamma(op: Op, self: Value) -> Value:
    """Draws from the gamma distributions of the rate one."""
    shape = cast(op, self, working(self.onnx_dtype))
    return cast(op, _gamma(op, shape), self.onnx_dtype)


@aten("aten::_sample_dirichlet", rule=like("self"), untested=_BY_HAND)
def sample_dirichlet(op: Op, self: Value) -> Value:
    """Positive numbers whose sum is one along the last axis."""
    drawn = _gamma(op, cast(op, self, working(self.onnx_dtype)))
    total = op.ReduceSum(drawn, [drawn.rank - 1], keepdims=1)
    return cast(op, op.Div(drawn, total), self.onnx_dtype)
