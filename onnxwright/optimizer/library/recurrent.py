"""Recurrent operators: states that are zeros need not be given."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.operators import facts
from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attrs
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import Rule, rule


def _is_zero(value: Any) -> bool:
    """Whether the graph shows that every element of a value is 0; weights are not read."""
    if value is None:
        return True
    backend, one = value.backend, value.value
    for _ in range(16):
        constant = backend.constant_value(backend.value_of(one))
        if constant is not None:
            return bool(constant.dtype != object and not constant.any())
        node = one.producer()
        if node is None or node.domain:
            return False
        if node.op_type == "ConstantOfShape":
            return _fills_zeros(node)
        if node.op_type == "Expand":
            filled = _number(backend, node.inputs[0])
            if filled is not None:
                return filled == 0
        moves = facts(node.op_type).moves_data and node.op_type != "Concat"
        if not moves or node.inputs[0] is None:
            return False
        one = node.inputs[0]
    return False


def _number(backend: Any, value: ir.Value | None) -> float | None:
    """The number that fills an expanded scalar; what has axes of its own may be a weight."""
    scalar = backend.value_of(value)
    return number(scalar) if scalar.rank == 0 else None


def _fills_zeros(node: ir.Node) -> bool:
    attr = node.attributes.get("value")
    if attr is None:
        return True
    return not attr.is_ref() and not attr.as_tensor().numpy().any()


def _gates(rng: Any, gates: int) -> Draw:
    size = 3
    return {
        "x": floats(rng, (4, 2, 5)),
        "w": floats(rng, (1, gates * size, 5)),
        "r": floats(rng, (1, gates * size, size)),
        "b": floats(rng, (1, 2 * gates * size)) if rng.integers(2) else None,
        "lens": np.array([4, 3], np.int32) if rng.integers(2) else None,
        "shape": np.array([1, 2, size]),
        "attrs": {"hidden_size": size},
    }


@rule(since=9, cases=lambda rng: _gates(rng, 4))
def lstm_of_zero_states(
    op: Any, x: Any, w: Any, r: Any, h: Any, c: Any, attrs: Attrs, b: Any = None, lens: Any = None
) -> Any:
    """An LSTM whose first states are zeros."""
    return op.LSTM(x, w, r, b, lens, h, c, _outputs=3, **attrs)


@lstm_of_zero_states.also
def _(
    op: Any, x: Any, w: Any, r: Any, h: Any, c: Any, attrs: Attrs, b: Any = None, lens: Any = None
) -> Any:
    return op.LSTM(x, w, r, b, lens, h, c, _outputs=2, **attrs)


@lstm_of_zero_states.also
def _(
    op: Any, x: Any, w: Any, r: Any, h: Any, c: Any, attrs: Attrs, b: Any = None, lens: Any = None
) -> Any:
    return op.LSTM(x, w, r, b, lens, h, c, **attrs)


@lstm_of_zero_states.also
def _(
    op: Any, x: Any, w: Any, r: Any, shape: Any, attrs: Attrs, b: Any = None, lens: Any = None
) -> Any:
    zeros = op.ConstantOfShape(shape)
    return op.LSTM(x, w, r, b, lens, zeros, zeros, _outputs=3, **attrs)


@lstm_of_zero_states.to
def _(
    op: Op, x: Any, w: Any, r: Any, h: Any, c: Any, attrs: Any, b: Any, lens: Any, match: Any
) -> Any:
    if not _is_zero(h) or not _is_zero(c) or (h is None and c is None and "shape" not in
                                              match.values):  # fmt: skip
        return None
    count = len(match.pattern.results)
    return op.LSTM(x, w, r, b, lens, _outputs=max(count, 1), **attrs)


def _of_zero_state(operator: str, gates: int, doc: str) -> Rule:
    """The rule for a recurrent operator with one state."""

    def both(
        op: Any, x: Any, w: Any, r: Any, h: Any, attrs: Attrs, b: Any = None, lens: Any = None
    ) -> Any:
        return getattr(op, operator)(x, w, r, b, lens, h, _outputs=2, **attrs)

    both.__doc__ = doc
    new_rule = rule(
        since=7, cases=lambda rng: _gates(rng, gates), name=f"{operator.lower()}_of_zero_states"
    )(both)

    @new_rule.also
    def _(
        op: Any, x: Any, w: Any, r: Any, h: Any, attrs: Attrs, b: Any = None, lens: Any = None
    ) -> Any:
        return getattr(op, operator)(x, w, r, b, lens, h, **attrs)

    @new_rule.also
    def _(
        op: Any, x: Any, w: Any, r: Any, shape: Any, attrs: Attrs, b: Any = None, lens: Any = None
    ) -> Any:
        zeros = op.ConstantOfShape(shape)
        return getattr(op, operator)(x, w, r, b, lens, zeros, _outputs=2, **attrs)

    @new_rule.to
    def _(op: Op, x: Any, w: Any, r: Any, h: Any, attrs: Any, b: Any, lens: Any, match: Any) -> Any:
        if not _is_zero(h) or (h is None and "shape" not in match.values):
            return None
        count = len(match.pattern.results)
        return getattr(op, operator)(x, w, r, b, lens, _outputs=count, **attrs)

    return new_rule


gru_of_zero_states = _of_zero_state("GRU", 3, "A GRU whose first state is zeros.")
rnn_of_zero_states = _of_zero_state("RNN", 1, "An RNN whose first state is zeros.")
