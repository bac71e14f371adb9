"""Activations that are written out: Gelu, HardSwish, HardSigmoid, Mish and their like."""

from __future__ import annotations

import math
from typing import Any

from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

# HardSwish and Mish have no kernel for other types in ONNX Runtime.
_SINGLE = (DType.FLOAT,)


@rule(since=20, level="rounding")
def gelu_erf(op: Any, x: Any) -> Any:
    """Gelu written with Erf."""
    return x * 0.5 * (op.Erf(x / math.sqrt(2)) + 1)


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * 0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1)


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (op.Erf(x / math.sqrt(2)) + 1) * 0.5


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (op.Erf(x * (1 / math.sqrt(2))) + 1) * 0.5


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (0.5 * (op.Erf(x / math.sqrt(2)) + 1))


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1))


@gelu_erf.to
def _(op: Any, x: Any) -> Any:
    return op.Gelu(x)


_TANH = math.sqrt(2 / math.pi)


@rule(since=20, level="rounding")
def gelu_tanh(op: Any, x: Any) -> Any:
    """Gelu approximated with Tanh, the cube as a power."""
    return x * 0.5 * (op.Tanh((x + op.Pow(x, 3) * 0.044715) * _TANH) + 1)


@gelu_tanh.also
def _(op: Any, x: Any) -> Any:
    return x * (0.5 * (op.Tanh((x + op.Pow(x, 3) * 0.044715) * _TANH) + 1))


@gelu_tanh.also
def _(op: Any, x: Any) -> Any:
    return x * (op.Tanh((x + op.Pow(x, 3) * 0.044715) * _TANH) + 1) * 0.5


@gelu_tanh.to
def _(op: Any, x: Any) -> Any:
    return op.Gelu(x, approximate="tanh")


@rule(since=14, level="rounding")
def hard_swish(op: Any, x: Any) -> Any:
    """HardSwish written with Clip."""
    return x * op.Clip(x + 3, 0, 6) / 6


@hard_swish.also
def _(op: Any, x: Any) -> Any:
    return x * (op.Clip(x + 3, 0, 6) / 6)


@hard_swish.also
def _(op: Any, x: Any) -> Any:
    return x * (op.Clip(x + 3, 0, 6) * (1 / 6))


@hard_swish.also
def _(op: Any, x: Any) -> Any:
    return x * op.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@hard_swish.to
def _(op: Any, x: Any) -> Any:
    return op.HardSwish(x) if x.dtype in _SINGLE else None


@rule(level="rounding")
def hard_sigmoid(op: Any, x: Any) -> Any:
    """HardSigmoid written with Clip."""
    return op.Clip(x + 3, 0, 6) / 6


@hard_sigmoid.also
def _(op: Any, x: Any) -> Any:
    return op.Clip(x + 3, 0, 6) * (1 / 6)


@hard_sigmoid.to
def _(op: Any, x: Any) -> Any:
    return op.HardSigmoid(x, alpha=1 / 6, beta=0.5) if x.dtype in _SINGLE else None


@rule(since=18, level="rounding")
def mish(op: Any, x: Any) -> Any:
    """Mish written with Softplus."""
    return x * op.Tanh(op.Softplus(x))


@mish.to
def _(op: Any, x: Any) -> Any:
    return op.Mish(x) if x.dtype in _SINGLE else None


@rule
def relu_of_relu(op: Any, x: Any) -> Any:
    """Relu of a Relu."""
    return op.Relu(op.Relu(x))


@relu_of_relu.to
def _(op: Any, x: Any) -> Any:
    return op.Relu(x)
