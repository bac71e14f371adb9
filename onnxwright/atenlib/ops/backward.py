"""Derivatives of activations, which programs that differentiate while they infer contain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers import accurate
from onnxwright.atenlib.helpers.constants import full_like, scalar, vector
from onnxwright.atenlib.helpers.sizes import sizes
from onnxwright.atenlib.op import TABLE, aten
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.atenlib.rules import elementwise, like
from onnxwright.types.dtypes import DType

BY_HAND = "no OpInfo runs a backward operator; tests/atenlib/test_backward.py does"
OF_INPUT = elementwise(("grad_output", "self"), at_least=DType.FLOAT)
OF_OUTPUT = elementwise(("grad_output", "output"), at_least=DType.FLOAT)


def _where(op: Op, condition: Value, gradient: Any) -> Value:
    """The gradient where a condition holds, zero elsewhere."""
    return op.Where(condition, gradient, op.constant(np.array(0, gradient.onnx_dtype.numpy)))


@aten("aten::sigmoid_backward", rule=OF_OUTPUT, untested=BY_HAND)
def sigmoid_backward(op: Op, grad_output: Value, output: Value) -> Value:
    """`g y (1 - y)`."""
    return op.Mul(grad_output, op.Mul(output, op.Sub(1.0, output)))


@aten("aten::tanh_backward", rule=OF_OUTPUT, untested=BY_HAND)
def tanh_backward(op: Op, grad_output: Value, output: Value) -> Value:
    """`g (1 - y^2)`."""
    return op.Mul(grad_output, op.Sub(1.0, op.Mul(output, output)))


@aten("aten::threshold_backward", rule=OF_INPUT, untested=BY_HAND)
def threshold_backward(op: Op, grad_output: Value, self: Value, threshold: Number) -> Value:
    """`g` above the threshold, zero elsewhere."""
    above = op.Greater(self, scalar(op, threshold, self.onnx_dtype))
    return _where(op, above, grad_output)


@aten("aten::hardtanh_backward", rule=OF_INPUT, untested=BY_HAND)
def hardtanh_backward(
    op: Op, grad_output: Value, self: Value, min_val: Number, max_val: Number
) -> Value:
    """`g` between the limits, zero elsewhere."""
    low, high = (scalar(op, v, self.onnx_dtype) for v in (min_val, max_val))
    return _where(op, op.And(op.Greater(self, low), op.Less(self, high)), grad_output)


@aten("aten::silu_backward", rule=OF_INPUT, untested=BY_HAND)
def silu_backward(op: Op, grad_output: Value, self: Value) -> Value:
    """`g s (1 + x (1 - s))` with `s = sigmoid(x)`."""
    s = op.Sigmoid(self)
    inner = op.Add(op.Mul(self, op.Sub(1.0, s)), 1.0)
    return op.Mul(grad_output, op.Mul(s, inner))


@aten("aten::gelu_backward", rule=OF_INPUT, untested=BY_HAND)
def gelu_backward(op: Op, grad_output: Value, self: Value, approximate: str = "none") -> Value:
    """`g` times the derivative of gelu."""
    if approximate == "tanh":
        square = op.Mul(self, self)
        k = math.sqrt(2.0 / math.pi)
        t = op.Tanh(op.Mul(op.Mul(self, op.Add(op.Mul(square, 0.044715), 1.0)), k))
        inner = op.Mul(op.Add(op.Mul(square, 3 * 0.044715), 1.0), k)
        slope = op.Mul(op.Mul(self, op.Sub(1.0, op.Mul(t, t))), inner)
        return op.Mul(grad_output, op.Mul(op.Add(op.Add(t, 1.0), slope), 0.5))
    chance = op.Mul(op.Add(accurate.erf(op, op.Mul(self, math.sqrt(0.5))), 1.0), 0.5)
    density = op.Mul(op.Exp(op.Mul(op.Mul(self, self), -0.5)), 1.0 / math.sqrt(2 * math.pi))
    return op.Mul(grad_output, op.Add(chance, op.Mul(self, density)))


@aten("aten::logit_backward", rule=OF_INPUT, untested=BY_HAND)
def logit_backward(op: Op, grad_output: Value, self: Value, eps: float | None = None) -> Value:
    """`g / (x (1 - x))`; zero where logit keeps x at `eps`, NaN outside of [0, 1] without it."""
    slope = op.Div(grad_output, op.Mul(self, op.Sub(1.0, self)))
    low = 0.0 if eps is None else eps
    inside = op.And(op.GreaterOrEqual(self, low), op.LessOrEqual(self, 1.0 - low))
    other = math.nan if eps is None else 0.0
    return op.Where(inside, slope, op.constant(np.array(other, slope.onnx_dtype.numpy)))


@aten("aten::leaky_relu_backward", rule=OF_INPUT, untested=BY_HAND)
def leaky_relu_backward(
    op: Op, grad_output: Value, self: Value, negative_slope: Number, self_is_result: bool
) -> Value:
    """`g` above zero, scaled by the slope below."""
    slope = scalar(op, negative_slope, self.onnx_dtype)
    return op.Where(op.Greater(self, 0.0), grad_output, op.Mul(grad_output, slope))


@aten(
    "aten::elu_backward",
    rule=elementwise(("grad_output", "self_or_result"), at_least=DType.FLOAT),
    untested=BY_HAND,
)
def elu_backward(
    op: Op,
    grad_output: Value,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    self_or_result: Value,
) -> Value:
    """`g` times the slope of elu, from what went in or from what came out."""
    x = self_or_result
    if is_result:
        below = op.Mul(op.Add(x, float(alpha) * float(scale)), float(input_scale))
    else:
        curve = op.Exp(op.Mul(op.Min(x, 0.0), float(input_scale)))
        below = op.Mul(curve, float(input_scale) * float(alpha) * float(scale))
    slope = op.Where(op.LessOrEqual(x, 0.0), below, scalar(op, float(scale), x.onnx_dtype))
    return op.Mul(grad_output, slope)


@aten("aten::hardsigmoid_backward", rule=OF_INPUT, untested=BY_HAND)
def hardsigmoid_backward(op: Op, grad_output: Value, self: Value) -> Value:
    """`g / 6` between -3 and 3, zero elsewhere."""
    return _where(op, op.Less(op.Abs(self), 3.0), op.Div(grad_output, 6.0))


@aten("aten::hardswish_backward", rule=OF_INPUT, untested=BY_HAND)
def hardswish_backward(op: Op, grad_output: Value, self: Value) -> Value:
    """`g (x / 3 + 1/2)` between -3 and 3, `g` above, zero below."""
    middle = op.Mul(grad_output, op.Add(op.Div(self, 3.0), 0.5))
    upper = op.Where(op.GreaterOrEqual(self, 3.0), grad_output, middle)
    return _where(op, op.Greater(self, -3.0), upper)


@aten("aten::softplus_backward", rule=OF_INPUT, untested=BY_HAND)
def softplus_backward(
    op: Op, grad_output: Value, self: Value, beta: Number, threshold: Number
) -> Value:
    """`g sigmoid(beta x)`; `g` itself above the threshold."""
    scaled = op.Mul(self, float(beta))
    slope = op.Mul(grad_output, op.Sigmoid(scaled))
    return op.Where(op.Greater(scaled, float(threshold)), grad_output, slope)


@aten("aten::mish_backward", rule=OF_INPUT, untested=BY_HAND)
def mish_backward(op: Op, grad_output: Value, self: Value) -> Value:
    """`g (t + x s (1 - t^2))` with `t = tanh(softplus(x))`, `s = sigmoid(x)`."""
    t = op.Tanh(accurate.softplus(op, self))
    slope = op.Mul(op.Mul(self, op.Sigmoid(self)), op.Sub(1.0, op.Mul(t, t)))
    return op.Mul(grad_output, op.Add(t, slope))


@aten("aten::log_sigmoid_backward", rule=OF_INPUT, untested=BY_HAND)
def log_sigmoid_backward(op: Op, grad_output: Value, self: Value, buffer: Value) -> Value:
    """`g sigmoid(-x)`."""
    return op.Mul(grad_output, op.Sigmoid(op.Neg(self)))


@aten("aten::native_dropout_backward", rule=elementwise(("grad_output",), "int_to_float"))
def native_dropout_backward(op: Op, grad_output: Value, mask: Value, scale: float) -> Value:
    """`g` of what was kept, as much larger as that was."""
    kept = op.Mul(grad_output, op.Cast(mask, to=grad_output.onnx_dtype))
    return op.Mul(kept, scalar(op, scale, grad_output.onnx_dtype))


@aten("aten::max_pool2d_with_indices_backward", rule=like("grad_output"))  # fmt: skip
def max_pool2d_with_indices_backward(
    op: Op,
    grad_output: Value,
    self: Value,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
    indices: Value,
) -> Value:
    """`g` at the places of the largest elements, zeros elsewhere; `indices` says all of them."""
    del kernel_size, stride, padding, dilation, ceil_mode
    front = sizes(op, self)[:-2]
    nothing = op.Reshape(full_like(op, self, 0), vector(op, [*front, -1]))
    flat = [op.Reshape(x, vector(op, [*front, -1])) for x in (indices, grad_output)]
    gradient = TABLE["aten::scatter_add"](op, nothing, self.rank - 2, *flat)
    return op.Reshape(gradient, vector(op, sizes(op, self)))
