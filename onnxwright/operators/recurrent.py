"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable

from onnxwright.operators.flops import Sized
from onnxwright.operators.record import Change, OperatorFacts


def _recurrent_flops(gates: int) -> Callable[[Sized], int]:
    """2 * gates * hidden * (input + hidden) for each step, batch row and direction, and gates."""

    def rule(n: Sized) -> int:
        steps, batch, width = n.input(0)
        directions, _, hidden = n.input(2)
        cell = 2 * gates * hidden * (width + hidden) + 8 * hidden
        return steps * batch * directions * cell

    return rule


FACTS = (
    OperatorFacts(
        "GRU",
        droppable_outputs=True,
        heavy=True,
        flops=_recurrent_flops(3),
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
    OperatorFacts(
        "LSTM",
        droppable_outputs=True,
        heavy=True,
        flops=_recurrent_flops(4),
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
    OperatorFacts(
        "RNN",
        droppable_outputs=True,
        heavy=True,
        flops=_recurrent_flops(1),
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
)

__all__ = ["FACTS"]
