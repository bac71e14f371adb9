"""Gelu and its sum with a vector, as operators of `com.microsoft`.

Without the optimizations of a default session BiasGelu takes up to 1.25 times as long as the nodes
(`python benchmarks/contrib.py --plain`), so that it needs `assume=["default_session"]`.
"""

from __future__ import annotations

from typing import Any

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.activation import gelu_erf, gelu_tanh
from onnxwright.optimizer.library.contrib_domain import DOMAIN, LATE, OF_DEFAULT_SESSION, contrib
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.types.dtypes import DType


def _rows(rng: Any) -> Draw:
    *outer, width = (int(d) for d in rng.integers(1, 5, size=int(rng.integers(1, 4))))
    return {"x": floats(rng, (*outer, width)), "b": floats(rng, (width,))}


def _of_runtime(standard: Rule, name: str, operator: str, doc: str) -> Rule:
    """A rule that puts an operator of `com.microsoft` where the standard one is too new."""

    def to(op: Op, x: Any) -> Any:
        return getattr(contrib(op), operator)(x) if x.dtype is DType.FLOAT else None

    def described() -> None: ...

    described.__doc__ = doc
    new_rule = Rule(
        described, name=name, until=19, pattern=standard.patterns[0], cases=_rows, **LATE
    )
    new_rule.patterns = list(standard.patterns)
    return new_rule.to(to)


gelu_of_runtime = _of_runtime(
    gelu_erf, "gelu_of_runtime", "Gelu", "Gelu written with Erf, below opset 20."
)
fast_gelu = _of_runtime(
    gelu_tanh, "fast_gelu", "FastGelu", "Gelu approximated with Tanh, below opset 20."
)


def _is_bias(b: Any, x: Any) -> bool:
    """Whether a vector is added to the rows of a value, without broadcasting."""
    if x.dtype is not DType.FLOAT or x.rank in (None, 0) or b.rank != 1:
        return False
    return isinstance(b.shape[0], int) and bool(b.shape[0] == x.shape[-1])


@rule(**OF_DEFAULT_SESSION, cases=_rows)
def bias_gelu(op: Op, x: Any, b: Const) -> Any:
    """BiasGelu: Gelu of a sum with a vector."""
    return op.Gelu(x + b)


@bias_gelu.also
def _(op: Any, x: Any, b: Const) -> Any:
    return op.opset(DOMAIN).Gelu(x + b)


@bias_gelu.to
def _(op: Op, x: Any, b: Any) -> Any:
    return contrib(op).BiasGelu(x, b) if _is_bias(b, x) else None


@rule(**OF_DEFAULT_SESSION, cases=_rows)
def fast_gelu_and_bias(op: Op, x: Any, b: Const) -> Any:
    """FastGelu: Gelu approximated with Tanh, of a sum with a vector."""
    return op.Gelu(x + b, approximate="tanh")


@fast_gelu_and_bias.also
def _(op: Any, x: Any, b: Const) -> Any:
    return op.opset(DOMAIN).FastGelu(x + b)


@fast_gelu_and_bias.to
def _(op: Op, x: Any, b: Any) -> Any:
    return contrib(op).FastGelu(x, b) if _is_bias(b, x) else None
