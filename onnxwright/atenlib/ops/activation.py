"""Activation functions of networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math, random_numbers
from onnxwright.atenlib.helpers.constants import scalar
from onnxwright.atenlib.helpers.sizes import axis_of, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.binary import factor
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

SELF = elementwise()
# One ONNX operator, or so few that FLOAT16 needs no FLOAT.
FEW = elementwise(no_bfloat16=True)
STEPS = elementwise(at_least=DType.FLOAT)


@aten("aten::relu", rule=SELF, tests=[OpTest("nn.functional.relu")])
def relu(op: Op, self: Value) -> Value:
    """Nothing below zero."""
    if self.onnx_dtype.is_unsigned:
        return self
    return op.Max(self, 0) if self.onnx_dtype is DType.INT64 else op.Relu(self)


@aten("aten::relu6", rule=SELF, tests=[OpTest("nn.functional.relu6")])
def relu6(op: Op, self: Value) -> Value:
    """Nothing below zero or above six."""
    return op.Clip(self, 0, 6)


@aten("aten::hardtanh", rule=SELF, tests=[OpTest("nn.functional.hardtanh")])
def hardtanh(op: Op, self: Value, min_val: Number = -1, max_val: Number = 1) -> Value:
    """Kept to [min_val, max_val]."""
    dtype = self.onnx_dtype
    return op.Clip(self, scalar(op, min_val, dtype), scalar(op, max_val, dtype))


@aten("aten::leaky_relu", rule=FEW, tests=[OpTest("nn.functional.leaky_relu")])
def leaky_relu(op: Op, self: Value, negative_slope: Number | Value = 0.01) -> Value:
    """Below zero scaled by the slope."""
    if is_value(negative_slope) or self.onnx_dtype is DType.DOUBLE:
        slope = factor(op, negative_slope, self.onnx_dtype)
        return op.Where(op.Less(self, 0.0), op.Mul(self, slope), self)
    return op.LeakyRelu(self, alpha=float(negative_slope))


@aten("aten::prelu", rule=SELF, tests=[OpTest("nn.functional.prelu")])
def prelu(op: Op, self: Value, weight: Value) -> Any:
    """Below zero scaled by a slope for each channel."""
    if self.rank == 0:
        weight = op.Reshape(weight, op.constant(np.zeros(0, np.int64)))
    elif self.rank > 2 and weight.shape not in ((), (1,)):
        weight = op.Reshape(weight, [-1] + [1] * (self.rank - 2))
    return prelu_kernel.body(op, self, weight)


@aten("aten::_prelu_kernel", rule=SELF, untested="OpInfo runs aten::prelu, which uses this body")
def prelu_kernel(op: Op, self: Value, weight: Value) -> Value:
    """Below zero scaled by slopes that broadcast."""
    if self.onnx_dtype is DType.DOUBLE or weight.rank > self.rank:
        return op.Where(op.Less(self, 0.0), op.Mul(self, weight), self)
    return op.PRelu(self, weight)


@aten(
    "aten::rrelu",
    rule=STEPS,
    tests=[OpTest("nn.functional.rrelu", compare="shape")],
)
def rrelu(
    op: Op,
    self: Value,
    lower: Number = 1.0 / 8,
    upper: Number = 1.0 / 3,
    training: bool = False,
    generator: object = None,
) -> Any:
    """Below zero scaled by a random slope while training, by the middle one after it."""
    if not training:
        return leaky_relu.body(op, self, (lower + upper) / 2)
    slopes = random_numbers.uniform(op, sizes(op, self), self.onnx_dtype)
    slopes = op.Add(op.Mul(slopes, float(upper) - float(lower)), float(lower))
    return op.Where(op.LessOrEqual(self, 0.0), op.Mul(self, slopes), self)


@aten("aten::elu", rule=FEW, tests=[OpTest("nn.functional.elu")])
def elu(
    op: Op, self: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1
) -> Value:
    """`scale * x` above zero, `scale * alpha * (exp(input_scale * x) - 1)` below."""
    dtype = self.onnx_dtype
    if dtype is not DType.DOUBLE and input_scale == 1 and scale == 1:
        return op.Elu(self, alpha=float(alpha))
    return _elu_steps(op, in_float(op, self), alpha, scale, input_scale)


def in_float(op: Op, x: Value) -> Value:
    """A FLOAT16 value in FLOAT, for several steps; the rule rounds the result."""
    return op.Cast(x, to=DType.FLOAT) if x.onnx_dtype is DType.FLOAT16 else x


def _elu_steps(op: Op, x: Value, alpha: Number, scale: Number, input_scale: Any) -> Value:
    below = op.Min(x, 0.0)
    below = below if input_scale == 1 else op.Mul(below, float(input_scale))
    curve = accurate.expm1(op, below)
    curve = curve if alpha * scale == 1 else op.Mul(curve, float(alpha) * float(scale))
    above = x if scale == 1 else op.Mul(x, float(scale))
    return op.Where(op.LessOrEqual(x, 0.0), curve, above)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@aten("aten::selu", rule=FEW, tests=[OpTest("nn.functional.selu")])
def selu(op: Op, self: Value) -> Value:
    """The scaled exponential unit that keeps mean and variance."""
    if self.onnx_dtype is DType.DOUBLE:
        return _elu_steps(op, self, _SELU_ALPHA, _SELU_SCALE, 1)
    return op.Selu(self)


@aten("aten::celu", rule=STEPS, tests=[OpTest("nn.functional.celu")])
def celu(op: Op, self: Value, alpha: Number = 1.0) -> Value:
    """`x` above zero, `alpha * (exp(x / alpha) - 1)` below."""
    if self.onnx_dtype is DType.FLOAT:
        return op.Celu(self, alpha=float(alpha))
    return _elu_steps(op, self, alpha, 1, 1.0 / alpha)


@aten("aten::gelu", rule=FEW, tests=[OpTest("nn.functional.gelu")])
def gelu(op: Op, self: Value, approximate: str = "none") -> Value:
    """`x` times the normal distribution's `P(X <= x)`, exact or by tanh."""
    if op.version >= 20 and self.onnx_dtype is not DType.DOUBLE:
        return op.Gelu(self, approximate=approximate)
    self = in_float(op, self)
    if approximate == "tanh":
        cube = op.Mul(op.Mul(self, self), self)
        inner = op.Mul(op.Add(self, op.Mul(cube, 0.044715)), math.sqrt(2.0 / math.pi))
        chance = op.Add(op.Tanh(inner), 1.0)
    else:
        chance = op.Add(accurate.erf(op, op.Mul(self, math.sqrt(0.5))), 1.0)
    return op.Mul(op.Mul(self, 0.5), chance)


# Rounded after each of two steps.
_TWICE = {"float16": Tol(2e-3, 1e-3)}


@aten(
    "aten::silu",
    rule=FEW,
    tests=[OpTest("nn.functional.silu", tol=_TWICE), OpTest("nn.functional.silu:complex")],
)
def silu(op: Op, self: Value) -> Value:
    """`x * sigmoid(x)`."""
    return op.Mul(self, op.Sigmoid(self))


@silu.on_complex
def _silu_complex(op: Op, self: Complex) -> Complex:
    return complex_math.multiply(op, self, complex_math.sigmoid(op, self))


@aten("aten::mish", rule=FEW, tests=[OpTest("nn.functional.mish")])
def mish(op: Op, self: Value) -> Value:
    """`x * tanh(log(1 + exp(x)))`."""
    if self.onnx_dtype is not DType.DOUBLE:
        return op.Mish(self)
    return op.Mul(self, op.Tanh(accurate.softplus(op, self)))


@aten("aten::softplus", rule=FEW, tests=[OpTest("nn.functional.softplus")])
def softplus(op: Op, self: Value, beta: Number = 1, threshold: Number = 20) -> Value:
    """`log(1 + exp(beta x)) / beta`, and `x` itself where `beta x` is above the threshold."""
    if beta != 1 or threshold < 20:
        self = in_float(op, self)
    scaled = self if beta == 1 else op.Mul(self, float(beta))
    soft = accurate.softplus(op, scaled)
    soft = soft if beta == 1 else op.Div(soft, float(beta))
    if threshold >= 20 and self.onnx_dtype is not DType.DOUBLE:
        return soft
    return op.Where(op.Greater(scaled, float(threshold)), self, soft)


@aten("aten::log_sigmoid", rule=FEW, tests=[OpTest("nn.functional.logsigmoid")])
def log_sigmoid(op: Op, self: Value) -> Value:
    """`log(sigmoid(x))`."""
    return op.Neg(accurate.softplus(op, op.Neg(self)))


@aten(
    "aten::log_sigmoid_forward",
    rule=STEPS,
    untested="OpInfo runs aten::log_sigmoid; its second result is for the gradient",
)
def log_sigmoid_forward(op: Op, self: Value) -> tuple[Any, Any]:
    """`log(sigmoid(x))`, and `exp(-|x|)` as torch's CPU keeps it."""
    return log_sigmoid.body(op, self), op.Exp(op.Neg(op.Abs(self)))


@aten("aten::hardsigmoid", rule=FEW, tests=[OpTest("nn.functional.hardsigmoid")])
def hardsigmoid(op: Op, self: Value) -> Value:
    """`x / 6 + 1/2`, kept to [0, 1]."""
    if self.onnx_dtype is not DType.DOUBLE:
        return op.HardSigmoid(self, alpha=1.0 / 6, beta=0.5)
    return op.Div(op.Clip(op.Add(self, 3.0), 0.0, 6.0), 6.0)


@aten("aten::hardswish", rule=FEW, tests=[OpTest("nn.functional.hardswish")])
def hardswish(op: Op, self: Value) -> Value:
    """`x * hardsigmoid(x)`."""
    if self.onnx_dtype is not DType.DOUBLE:
        return op.HardSwish(self)
    return op.Mul(self, hardsigmoid.body(op, self))


@aten("aten::hardshrink", rule=SELF, tests=[OpTest("nn.functional.hardshrink")])
def hardshrink(op: Op, self: Value, lambd: Number = 0.5) -> Value:
    """Zero within `lambd` of zero."""
    dtype = self.onnx_dtype
    small = op.LessOrEqual(op.Abs(self), scalar(op, lambd, dtype))
    return op.Where(small, op.constant(np.array(0, dtype.numpy)), self)


@aten("aten::softshrink", rule=STEPS, tests=[OpTest("nn.functional.softshrink")])
def softshrink(op: Op, self: Value, lambd: Number = 0.5) -> Value:
    """Nearer to zero by `lambd`, zero within it."""
    return op.Sub(self, op.Clip(self, -float(lambd), float(lambd)))


@aten("aten::threshold", rule=SELF, tests=[OpTest("nn.functional.threshold")])
def threshold_(op: Op, self: Value, threshold: Number, value: Number) -> Value:
    """`value` where a number is not above the threshold."""
    dtype = self.onnx_dtype
    low = op.LessOrEqual(self, scalar(op, threshold, dtype))
    return op.Where(low, scalar(op, value, dtype), self)


# torch rounds sigmoid and product to the half type, the runtime may not.
_GLU = {"float16": Tol(2e-3, 1e-3), "bfloat16": Tol(2e-2, 1e-2)}


@aten("aten::glu", rule=FEW, tests=[OpTest("nn.functional.glu", tol=_GLU)])
def glu(op: Op, self: Value, dim: int = -1) -> Value:
    """The first half of an axis times the sigmoid of the second."""
    axis = axis_of(dim, self.rank)
    first, second = op.Split(self, axis=axis, num_outputs=2)
    return op.Mul(first, op.Sigmoid(second))
