"""Activations that are written out: Gelu, HardSwish, HardSigmoid, Mish and their like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.optimizer.building import runs
from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType


@rule(since=20, level="rounding")
def gelu_erf(op: Op, x: Value) -> Any:
    """Gelu written with Erf."""
    return x * 0.5 * (op.Erf(x / math.sqrt(2)) + 1)


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * 0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1)


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Erf(x / math.sqrt(2)) + 1) * 0.5


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Erf(x * (1 / math.sqrt(2))) + 1) * 0.5


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (0.5 * (op.Erf(x / math.sqrt(2)) + 1))


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1))


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Erf(x / math.sqrt(2)) * 0.5 + 0.5)


@gelu_erf.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Erf(x * (1 / math.sqrt(2))) * 0.5 + 0.5)


@gelu_erf.to
def _(op: Op, x: Value) -> Any:
    return op.Gelu(x)


_TANH = math.sqrt(2 / math.pi)


@rule(since=20, level="rounding")
def gelu_tanh(op: Op, x: Value) -> Any:
    """Gelu approximated with Tanh; the cube is a power, or products."""
    return x * 0.5 * (op.Tanh((x + op.Pow(x, 3) * 0.044715) * _TANH) + 1)


def _add_forms_of_gelu(form: int) -> None:
    """Add the ways to halve, for one way to write the argument of Tanh."""

    @gelu_tanh.also
    def _(op: Op, x: Value) -> Any:
        return x * 0.5 * (op.Tanh(_cubes(op, x)[form]) + 1)

    @gelu_tanh.also
    def _(op: Op, x: Value) -> Any:
        return x * (0.5 * (op.Tanh(_cubes(op, x)[form]) + 1))

    @gelu_tanh.also
    def _(op: Op, x: Value) -> Any:
        return x * (op.Tanh(_cubes(op, x)[form]) + 1) * 0.5

    @gelu_tanh.also
    def _(op: Op, x: Value) -> Any:
        return x * (0.5 * op.Tanh(_cubes(op, x)[form]) + 0.5)


def _cubes(op: Op, x: Value) -> list[Any]:
    """The ways to write the argument of Tanh."""
    return [
        (x + op.Pow(x, 3) * 0.044715) * _TANH,
        (x + x * x * x * 0.044715) * _TANH,
        (x + x * 0.044715 * x * x) * _TANH,
        (x + x * x * 0.044715 * x) * _TANH,
        x * _TANH * (x * 0.044715 * x + 1),
        x * _TANH * (x * x * 0.044715 + 1),
        x * (x * x * 0.044715 + 1) * _TANH,
        x * (x * x * (0.044715 * _TANH) + _TANH),
    ]


for _form in range(8):
    _add_forms_of_gelu(_form)


@gelu_tanh.to
def _(op: Op, x: Value) -> Any:
    return op.Gelu(x, approximate="tanh")


@rule(since=14, level="rounding")
def hard_swish(op: Op, x: Value) -> Any:
    """HardSwish written with Clip."""
    return x * op.Clip(x + 3, 0, 6) / 6


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Clip(x + 3, 0, 6) / 6)


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x * (op.Clip(x + 3, 0, 6) * (1 / 6))


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x * op.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x * op.Clip(x + 3, 0, 6) * (1 / 6)


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x * (1 / 6) * op.Clip(x + 3, 0, 6)


@hard_swish.also
def _(op: Op, x: Value) -> Any:
    return x / 6 * op.Clip(x + 3, 0, 6)


@hard_swish.to
def _(op: Op, x: Value) -> Any:
    return op.HardSwish(x) if runs(op, "HardSwish", x.dtype) else None


@rule(level="rounding")
def hard_sigmoid(op: Op, x: Value) -> Any:
    """HardSigmoid written with Clip."""
    return op.Clip(x + 3, 0, 6) / 6


@hard_sigmoid.also
def _(op: Op, x: Value) -> Any:
    return op.Clip(x + 3, 0, 6) * (1 / 6)


@hard_sigmoid.to
def _(op: Op, x: Value) -> Any:
    return op.HardSigmoid(x, alpha=1 / 6, beta=0.5) if runs(op, "HardSigmoid", x.dtype) else None


def _line(rng: Any) -> Draw:
    numbers = {"a": rng.normal(), "b": rng.normal()}
    return {"x": floats(rng, sizes(rng, 1, 3)), **{k: np.float32(v) for k, v in numbers.items()}}


@rule(level="rounding", cases=_line)
def hard_sigmoid_of_line(op: Op, x: Value, a: Const, b: Const) -> Any:
    """HardSigmoid written as a line that is clipped to 0 and 1."""
    return op.Clip(x * a + b, 0, 1)


@hard_sigmoid_of_line.also
def _(op: Op, x: Value, a: Const, b: Const) -> Any:
    return op.Clip(x / a + b, 0, 1)


@hard_sigmoid_of_line.to
def _(op: Op, x: Value, a: Value, b: Value, match: Any) -> Any:
    alpha, beta = number(a), number(b)
    if alpha is None or beta is None or a.rank or b.rank or not runs(op, "HardSigmoid", x.dtype):
        return None
    if any(n.op_type == "Div" for n in match.nodes.values()):
        alpha = 1 / alpha if alpha else math.inf
    if not math.isfinite(alpha) or not math.isfinite(beta):
        return None
    return op.HardSigmoid(x, alpha=alpha, beta=beta)


@rule(since=18, level="rounding")
def mish(op: Op, x: Value) -> Any:
    """Mish written with Softplus."""
    return x * op.Tanh(op.Softplus(x))


@mish.also
def _(op: Op, x: Value) -> Any:
    # Where Exp overflows, Tanh is 1 as it is of any large number.
    return x * op.Tanh(op.Log(op.Exp(x) + 1))


@mish.to
def _(op: Op, x: Value) -> Any:
    return op.Mish(x) if x.dtype is DType.FLOAT else None  # it has no kernel of its own


# Only where it is asked for: ONNX Runtime inlines Swish, which takes it 1.2 times as long.
@rule(since=24, level="rounding", avoid=("onnxruntime",))
def swish(op: Op, x: Value) -> Any:
    """Swish written with Sigmoid."""
    return x * op.Sigmoid(x)


@swish.to
def _(op: Op, x: Value) -> Any:
    return op.Swish(x) if runs(op, "Swish", x.dtype) else None


@rule(level="rounding")
def sigmoid(op: Op, x: Value) -> Any:
    """Sigmoid written with Exp."""
    return 1.0 / (op.Exp(-x) + 1)


@sigmoid.also
def _(op: Op, x: Value) -> Any:
    return op.Reciprocal(op.Exp(-x) + 1)


@sigmoid.to
def _(op: Op, x: Value) -> Any:
    return op.Sigmoid(x) if runs(op, "Sigmoid", x.dtype) else None


@rule(level="rounding")
def softsign(op: Op, x: Value) -> Any:
    """Softsign written with Abs."""
    return x / (op.Abs(x) + 1)


@softsign.to
def _(op: Op, x: Value) -> Any:
    return op.Softsign(x) if runs(op, "Softsign", x.dtype) else None


@rule
def relu_of_relu(op: Op, x: Value) -> Any:
    """Relu of a Relu."""
    return op.Relu(op.Relu(x))


@relu_of_relu.to
def _(op: Op, x: Value) -> Any:
    return op.Relu(x)
