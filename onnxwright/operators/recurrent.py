"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable

from onnxwright.operators.flops import Sized
from onnxwright.operators.op_call import (
    ContradictionError,
    OpCall,
    UnknownError,
    listed,
    same_shape,
)
from onnxwright.operators.record import Change, InferRule, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.kinds import OnnxType, TensorType


def _recurrent_flops(gates: int) -> Callable[[Sized], int]:
    """2 * gates * hidden * (input + hidden) for each step, batch row and direction, and gates."""

    def rule(n: Sized) -> int:
        steps, batch, width = n.input(0)
        directions, _, hidden = n.input(2)
        cell = 2 * gates * hidden * (width + hidden) + 8 * hidden
        return steps * batch * directions * cell

    return rule


def _recurrent_types(gates: int) -> InferRule:
    """The outputs of a recurrent layer with `gates` gates, after a check of its weights.

    Source:
        ONNX LSTM, GRU and RNN: X is [steps, batch, width], W [directions, gates * hidden, width],
        R [directions, gates * hidden, hidden]; with `layout=1` the batch is the first axis.
    """

    def rule(call: OpCall) -> list[OnnxType | None]:
        kind, x, w, r = call.tensor(0), call.shape(0), call.shape(1), call.shape(2)
        for name, shape in (("X", x), ("W", w), ("R", r)):
            if len(shape) != 3:
                raise ContradictionError(f"`{name}` with 3 axes", listed(shape))
        direction = call.attr("direction")
        directions = 2 if direction in ("bidirectional", b"bidirectional") else 1
        hidden = call.attr("hidden_size", None) or r[2]
        rows = dims.mul(hidden, gates)
        same_shape((directions, rows, x[2]), w, "W")
        same_shape((directions, rows, hidden), r, "R")
        if call.has(3):
            same_shape((directions, dims.mul(rows, 2)), call.shape(3), "B")
        if call.attr("layout", 0) or call.since < 7:
            raise UnknownError
        last = TensorType(kind.dtype, (directions, x[1], hidden))
        every = TensorType(kind.dtype, (x[0], directions, x[1], hidden))
        return [every, *(last,) * (call.count - 1)]

    return rule


FACTS = tuple(
    OperatorFacts(
        name,
        droppable_outputs=True,
        heavy=True,
        infer=_recurrent_types(gates),
        flops=_recurrent_flops(gates),
        changes={
            7: Change("outputs are optional; before, output_sequence said whether there is Y")
        },
    )
    for name, gates in (("GRU", 3), ("LSTM", 4), ("RNN", 1))
)
