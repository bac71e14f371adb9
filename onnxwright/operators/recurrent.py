"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from onnxwright.operators.record import Change, OperatorFacts

FACTS = (
    OperatorFacts(
        "GRU",
        heavy=True,
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
    OperatorFacts(
        "LSTM",
        heavy=True,
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
    OperatorFacts(
        "RNN",
        heavy=True,
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    ),
)

__all__ = ["FACTS"]
