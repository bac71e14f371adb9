"""Single steps of recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import scalar
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_UNTESTED = "torch has no OpInfo for it"


class Weights(NamedTuple):
    """The weights of one layer in one direction, as torch orders them; None where there is none."""

    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    w_hr: Any = None


class State(NamedTuple):
    """What a layer starts from and where sequences end.

    Fields:
        hidden: `[directions, B, H]`.
        cell: the same for an LSTM.
        lengths: INT32 `[B]`, None where all sequences are as long as the tensor.
    """

    hidden: Any
    cell: Any
    lengths: Any


def scanned(
    op: Op, name: str, options: Arguments, layer: list[Weights], x: Value, state: State
) -> tuple[Any, Any, Any]:
    """A layer as a Scan over its steps, for DOUBLE: ONNX Runtime's nodes have no kernel for it.

    Args:
        name: the ONNX operator of the network.
        x: `[T, B, input]`.
        state: where it begins.

    Returns:
        The output `[T, B, directions * H]`, the last hidden states, and the last cells or None.
    """
    inside = _inside(op, x, state)
    outputs: list[Any] = []
    lasts: list[Any] = []
    cells: list[Any] = []
    for n, w in enumerate(layer):
        first = [
            op.Squeeze(op.Slice(v, [n], [n + 1], [0]), [0])
            for v in (state.hidden, state.cell)
            if v is not None
        ]
        results = op.Scan(
            *first,
            x,
            inside,
            body=_step(op, name, options, w, len(first)),
            num_scan_inputs=2,
            scan_input_directions=[n, n],
            scan_output_directions=[n],
        )
        outputs.append(results[-1])
        lasts.append(op.Unsqueeze(results[0], [0]))
        cells.extend(op.Unsqueeze(v, [0]) for v in results[1:-1])

    def joined(parts: list[Any], axis: int) -> Value:
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)

    return joined(outputs, 2), joined(lasts, 0), joined(cells, 0) if cells else None


def _inside(op: Op, x: Value, state: State) -> Value:
    """`[T, B, 1]`: whether a step is within its sequence."""
    steps = scalar(op, size(op, x, 0), DType.INT64)
    count = op.Range(scalar(op, 0, DType.INT64), steps, scalar(op, 1, DType.INT64))
    if state.lengths is None:
        return op.GreaterOrEqual(op.Unsqueeze(count, [1, 2]), 0)
    ends = op.Unsqueeze(op.Cast(state.lengths, to=DType.INT64), [1])
    return op.Less(op.Unsqueeze(count, [1, 2]), ends)


def _step(op: Op, name: str, options: Arguments, w: Weights, states: int) -> Callable[..., Any]:
    """The body of a Scan: states, one step and whether it counts -> new states, output."""
    relu = "activations" in options

    def cell(x: Value, old: list[Any]) -> list[Any]:
        weights = (w.w_ih, w.w_hh, w.b_ih, w.b_hh)
        if name == "GRU":
            return [gru_cell.body(op, x, old[0], *weights)]
        gates = _gates(op, x, old[0], *weights)
        if name == "RNN":
            return [op.Relu(gates) if relu else op.Tanh(gates)]
        hidden, new, _ = _lstm_step(op, gates, old[1])
        return [hidden if w.w_hr is None else _linear(op, hidden, w.w_hr, None), new]

    def body(*states_and_row: Any) -> tuple[Any, ...]:
        old, x, counts = (
            list(states_and_row[:states]),
            states_and_row[states],
            states_and_row[states + 1],
        )
        new = cell(x, old)
        kept = [op.Where(counts, a, b) for a, b in zip(new, old, strict=True)]
        output = op.Where(counts, new[0], op.constant(np.zeros((), np.float64)))
        return (*kept, output)

    return body


def _linear(op: Op, x: Value, weight: Value, bias: Value | None) -> Value:
    if x.rank == 2 and bias is not None:
        return op.Gemm(x, weight, bias, transB=1)
    product = op.MatMul(x, algebra.transpose(op, weight))
    return product if bias is None else op.Add(product, bias)


def _gates(op: Op, x: Value, hidden: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Value:
    return op.Add(_linear(op, x, w_ih, b_ih), _linear(op, hidden, w_hh, b_hh))


def _split(op: Op, x: Value, count: int) -> Sequence[Value]:
    if op.version >= 18:
        return op.Split(x, axis=-1, num_outputs=count)
    return op.Split(x, axis=-1, _outputs=count)


def _lstm_step(op: Op, gates: Any, cell: Value) -> tuple[Any, Any, Any]:
    i, f, g, o = _split(op, gates, 4)
    i, f, g, o = op.Sigmoid(i), op.Sigmoid(f), op.Tanh(g), op.Sigmoid(o)
    new = op.Add(op.Mul(f, cell), op.Mul(i, g))
    workspace = op.Concat(i, f, g, o, axis=-1)
    return op.Mul(o, op.Tanh(new)), new, workspace


@aten("aten::lstm_cell", rule=like("input"), untested=_UNTESTED)
def lstm_cell(
    op: Op,
    input: Value,
    hx: Sequence[Value],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> tuple[Value, ...]:
    """One step of an LSTM: the hidden state and the cell."""
    gates = _gates(op, input, hx[0], w_ih, w_hh, b_ih, b_hh)
    return _lstm_step(op, gates, hx[1])[:2]


@aten(
    "aten::_thnn_fused_lstm_cell",
    rule=like("input_gates"),
    untested="torch has it on CUDA only",
)
def fused_lstm_cell(
    op: Op,
    input_gates: Value,
    hidden_gates: Value,
    cx: Value,
    input_bias: Value | None = None,
    hidden_bias: Value | None = None,
) -> tuple[Value, ...]:
    """One step of an LSTM from its products; the gates are kept for the gradient."""
    gates = op.Add(input_gates, hidden_gates)
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else op.Add(gates, bias)
    return _lstm_step(op, gates, cx)


@aten("aten::gru_cell", rule=like("input"), untested=_UNTESTED)
def gru_cell(
    op: Op,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """One step of a GRU."""
    xr, xz, xn = _split(op, _linear(op, input, w_ih, b_ih), 3)
    hr, hz, hn = _split(op, _linear(op, hx, w_hh, b_hh), 3)
    reset, update = op.Sigmoid(op.Add(xr, hr)), op.Sigmoid(op.Add(xz, hz))
    new = op.Tanh(op.Add(xn, op.Mul(reset, hn)))
    return op.Add(new, op.Mul(update, op.Sub(hx, new)))


def _simple(name: str, activation: str) -> None:
    """Register one step of a simple network with an activation."""

    def body(
        op: Op,
        input: Value,
        hx: Value,
        w_ih: Value,
        w_hh: Value,
        b_ih: Value | None = None,
        b_hh: Value | None = None,
    ) -> Any:
        return getattr(op, activation)(_gates(op, input, hx, w_ih, w_hh, b_ih, b_hh))

    doc = f"One step of a simple network with {activation.lower()}."
    aten(f"aten::{name}", rule=like("input"), untested=_UNTESTED, doc=doc)(body)


_simple("rnn_tanh_cell", "Tanh")
_simple("rnn_relu_cell", "Relu")
