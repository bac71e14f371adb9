"""Activations that are written out: Gelu, HardSwish, Mish, Silu and their like."""

from __future__ import annotations

import math
from typing import Any

from onnxwright.optimizer.rules import rule


@rule(since=20, level="rounding")
def gelu_erf(op: Any, x: Any) -> Any:
    """Gelu written with Erf."""
    return x * 0.5 * (op.Erf(x / math.sqrt(2)) + 1)


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * 0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1)


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return 0.5 * (x * (op.Erf(x / math.sqrt(2)) + 1))


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return 0.5 * (x * (op.Erf(x * (1 / math.sqrt(2))) + 1))


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (0.5 * (op.Erf(x / math.sqrt(2)) + 1))


@gelu_erf.also
def _(op: Any, x: Any) -> Any:
    return x * (0.5 * (op.Erf(x * (1 / math.sqrt(2))) + 1))


@gelu_erf.to
def _(op: Any, x: Any) -> Any:
    return op.Gelu(x)
