"""Random draws from distributions, most by the inverse of their distribution function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import random_numbers
from onnxwright.atenlib.helpers.constants import cast, scalar, vector
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.random import whole, working
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType


def _uniform(op: Op, self: Value) -> Value:
    return random_numbers.uniform(op, sizes(op, self), working(self.onnx_dtype))


def _above_zero(op: Op, self: Value) -> Value:
    """Numbers in (0, 1]."""
    return op.Sub(1.0, _uniform(op, self))


def _test(name: str) -> list[OpTest]:
    return [OpTest(name, compare="shape")]


@aten("aten::uniform", rule=like("self"), tests=_test("uniform"))
def uniform(op: Op, self: Value, from_: float = 0.0, to: float = 1.0) -> Value:
    """Numbers in `[from, to)`, all alike."""
    drawn = op.Add(op.Mul(_uniform(op, self), to - from_), from_)
    return cast(op, drawn, self.onnx_dtype)


@uniform.on_complex
def uniform_complex(op: Op, self: Complex, from_: float = 0.0, to: float = 1.0) -> Value:
    parts = (uniform.body(op, part, from_, to) for part in (self.real, self.imag))
    return Complex(*parts)


@aten("aten::exponential", rule=like("self"), tests=_test("exponential"))
def exponential(op: Op, self: Value, lambd: float = 1.0) -> Value:
    """Waiting times of a rate."""
    drawn = op.Mul(op.Log(_above_zero(op, self)), -1.0 / lambd)
    return cast(op, drawn, self.onnx_dtype)


@aten("aten::cauchy", rule=like("self"), tests=_test("cauchy"))
def cauchy(op: Op, self: Value, median: float = 0.0, sigma: float = 1.0) -> Value:
    """Draws from the Cauchy distribution."""
    angle = op.Mul(op.Sub(_uniform(op, self), 0.5), math.pi)
    drawn = op.Add(op.Mul(op.Div(op.Sin(angle), op.Cos(angle)), sigma), median)
    return cast(op, drawn, self.onnx_dtype)


@aten("aten::log_normal", rule=like("self"), tests=_test("log_normal"))
def log_normal(op: Op, self: Value, mean: float = 1.0, std: float = 2.0) -> Value:
    """Exponentials of normally distributed numbers."""
    drawn = random_numbers.normal(op, sizes(op, self), working(self.onnx_dtype))
    return cast(op, op.Exp(op.Add(op.Mul(drawn, std), mean)), self.onnx_dtype)


@aten("aten::geometric", rule=like("self"), tests=_test("geometric"))
def geometric(op: Op, self: Value, p: float) -> Value:
    """How many trials until the first success, each with the probability `p`."""
    if p == 1:
        drawn = op.Add(op.Mul(_uniform(op, self), 0.0), 1.0)
    else:
        drawn = op.Ceil(op.Div(op.Log(_above_zero(op, self)), math.log1p(-p)))
        drawn = op.Max(drawn, 1.0)
    return cast(op, drawn, self.onnx_dtype)


@aten("aten::bernoulli", rule=like("self"), tests=_test("bernoulli"))
def bernoulli(op: Op, self: Value) -> Value:
    """1 with the probability that the tensor says, else 0."""
    return _bernoulli(op, self, cast(op, self, working(self.onnx_dtype)))


@aten("aten::bernoulli.p", rule=like("self"), untested="its OpInfo calls the other overload")
def bernoulli_p(op: Op, self: Value, p: float) -> Value:
    """1 with the probability `p`, else 0, in the shape of a tensor."""
    return _bernoulli(op, self, float(p))


@aten("aten::bernoulli.Tensor", rule=like("self"), untested="its OpInfo calls the other overload")
def bernoulli_tensor(op: Op, self: Value, p: Value) -> Value:
    """1 with the probabilities `p`, else 0, in the shape of a tensor."""
    return _bernoulli(op, self, cast(op, p, working(self.onnx_dtype)))


def _bernoulli(op: Op, self: Value, p: Any) -> Value:
    return op.Cast(op.Less(_uniform(op, self), p), to=self.onnx_dtype)


@aten("aten::multinomial", rule=custom(lambda _: DType.INT64), tests=_test("multinomial"))
def multinomial(op: Op, self: Value, num_samples: Size, replacement: bool = False) -> Value:
    """Numbers of columns, drawn with the weights of a row.

    Without replacement: the first of exponential waiting times with the weights as rates
    (Efraimidis and Spirakis, 2006).
    """
    weights = cast(op, self, working(self.onnx_dtype))
    front = [size(op, weights, n) for n in range(weights.rank - 1)]
    if not replacement:
        times = op.Log(
            op.Sub(1.0, random_numbers.uniform(op, sizes(op, weights), weights.onnx_dtype))
        )
        # Larger is earlier; a weight of zero never comes.
        keys = op.Div(times, weights)
        keys = op.Where(op.Greater(weights, 0.0), keys, scalar(op, -math.inf, weights.onnx_dtype))
        return op.TopK(keys, vector(op, [num_samples]), axis=-1, _outputs=2)[1]
    sums = op.CumSum(weights, scalar(op, weights.rank - 1, DType.INT64))
    total = op.ReduceSum(weights, [weights.rank - 1])
    drawn = op.Mul(random_numbers.uniform(op, [*front, num_samples], weights.onnx_dtype), total)
    below = op.LessOrEqual(op.Unsqueeze(sums, [-2]), op.Unsqueeze(drawn, [-1]))
    return op.ReduceSum(op.Cast(below, to=DType.INT64), [weights.rank], keepdims=0)


@aten("aten::random.to", rule=like("self"), untested="torch has no OpInfo for it")
def random_to(op: Op, self: Value, to: int) -> Value:
    """Whole numbers from 0 up to but not `to`."""
    return whole(op, sizes(op, self), 0, to, self.onnx_dtype)


# torch.Tensor.random_: the largest whole number drawn is the largest that all below are held.
_MANTISSAS = {DType.FLOAT: 24, DType.DOUBLE: 53, DType.FLOAT16: 11, DType.BFLOAT16: 8}


def _beyond(dtype: DType) -> int:
    """The first number that is not drawn for a type."""
    if dtype is DType.BOOL:
        return 2
    bits = _MANTISSAS.get(dtype)
    return 2**bits + 1 if bits else int(np.iinfo(dtype.numpy).max)


@aten("aten::random", rule=like("self"), untested="torch has no OpInfo for it")
def random(op: Op, self: Value) -> Value:
    """Whole numbers from 0 up to the largest of the type."""
    return whole(op, sizes(op, self), 0, _beyond(self.onnx_dtype), self.onnx_dtype)


@aten("aten::random.from", rule=like("self"), untested="torch has no OpInfo for it")
def random_from(op: Op, self: Value, from_: int, to: int | None) -> Value:
    """Whole numbers from `from` up to but not `to`."""
    high = _beyond(self.onnx_dtype) if to is None else to
    if high - from_ > np.iinfo(np.int64).max:
        unsupported("there are more numbers than INT64 counts", name="aten::random.from")
    return whole(op, sizes(op, self), from_, high, self.onnx_dtype)
