"""Recurrent networks: one LSTM, GRU or RNN node for each layer, both directions in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, known_array, scalar, vector
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.dropout import drop
from onnxwright.atenlib.ops.rnn_cells import State, Weights, scanned
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


class Kind(NamedTuple):
    """A kind of recurrent network.

    Fields:
        name: the ONNX operator.
        order: where torch has each of ONNX's gates.
        options: attributes of the operator.
    """

    name: str
    order: tuple[int, ...]
    options: dict[str, Any]


# ONNX has the gates i, o, f, c; torch i, f, c, o.
LSTM = Kind("LSTM", (0, 3, 1, 2), {})
# ONNX has z, r, h; torch r, z, n, with the reset after the product.
GRU = Kind("GRU", (1, 0, 2), {"linear_before_reset": 1})
TANH = Kind("RNN", (0,), {})
RELU = Kind("RNN", (0,), {"activations": ["Relu"]})


class Network(NamedTuple):
    """A network.

    Fields:
        kind: its kind.
        layers: for each layer its directions, one or two.
        dropout: how much is dropped between layers, 0 in inference.
    """

    kind: Kind
    layers: list[list[Weights]]
    dropout: float


def network(
    kind: Kind,
    params: Sequence[Any],
    biases: bool,
    count: int,
    dropout: float,
    train: bool,
    both: bool,
) -> Network:
    """The network of torch's flat list of weights."""
    each = len(params) // (count * (2 if both else 1))
    projects = kind is LSTM and each == (5 if biases else 3)
    layers = []
    rest = iter(params)
    for _ in range(count):
        directions = []
        for _ in range(2 if both else 1):
            weights = [next(rest) for _ in range(each)]
            hr = weights.pop() if projects else None
            directions.append(Weights(*weights, **({} if hr is None else {"w_hr": hr})))
        layers.append(directions)
    return Network(kind, layers, dropout if train else 0.0)


def run(
    op: Op, net: Network, x: Value, hidden: Any, cell: Any, lengths: Sequence[Size] | Value | None
) -> list[Any]:
    """Run a network.

    Args:
        x: `[T, B, input]`.
        hidden: `[layers * directions, B, H]`.
        cell: the same for an LSTM, else None.
        lengths: INT32 `[B]` or None.

    Returns:
        The output `[T, B, directions * H]`, the last hidden states, and the last cells.
    """
    many = len(net.layers)
    width = len(net.layers[0])
    hiddens, cells = [], []
    for n, layer in enumerate(net.layers):
        if n and net.dropout > 0:
            x, _ = drop(op, x, net.dropout)

        def own(v: Value | None, n: int = n) -> Value | None:
            if v is None or many == 1:
                return v
            return op.Slice(v, [n * width], [(n + 1) * width], [0])

        state = State(own(hidden), own(cell), lengths)
        x, last, last_cell = _layer(op, net.kind, layer, x, state)
        hiddens.append(last)
        cells.append(last_cell)
    joined = [
        v[0] if many == 1 else op.Concat(*v, axis=0)
        for v in ([hiddens, cells] if cell is not None else [hiddens])
    ]
    return [x, *joined]


def _layer(
    op: Op, kind: Kind, layer: list[Weights], x: Value, state: State
) -> tuple[Any, Any, Any]:
    if x.onnx_dtype is DType.DOUBLE:
        return scanned(op, kind.name, kind.options, layer, x, state)
    projection = None
    if layer[0].w_hr is not None:
        layer, x, state, projection = _without_projection(op, layer, x, state)
    gates = len(kind.order)
    hidden_size = layer[0].w_hh.shape[0] // gates
    operands = [x, *_packed(op, kind, layer, hidden_size), state.lengths, state.hidden]
    options: dict[str, Any] = {"hidden_size": hidden_size, **kind.options}
    if len(layer) == 2:
        options["direction"] = "bidirectional"
        if "activations" in options:
            options["activations"] = options["activations"] * 2
    if kind is LSTM:
        y, last, last_cell = op.LSTM(*operands, state.cell, **options, _outputs=3)
    else:
        y, last = getattr(op, kind.name)(*operands, **options, _outputs=2)
        last_cell = None
    if projection is not None:
        # [T, D, B, H] @ [D, H, P], and the same for the last states.
        y, last = op.MatMul(y, projection), op.MatMul(last, projection)
    return _joined(op, y, len(layer)), last, last_cell


def _joined(op: Op, y: Value, directions: int) -> Value:
    """`[T, D, B, H]` as `[T, B, D * H]`."""
    if directions == 1:
        return op.Squeeze(y, [1])
    return op.Reshape(op.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])


def _packed(op: Op, kind: Kind, layer: list[Weights], hidden_size: int) -> list[Any]:
    """W, R and B of a node: rows in ONNX's order of gates, directions along a first axis."""
    gates = np.arange(len(kind.order) * hidden_size).reshape(-1, hidden_size)
    rows = gates[list(kind.order)].ravel()

    def stacked(parts: list[Any], per_direction: int) -> Value:
        whole = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
        order = np.concatenate([rows + n * rows.size for n in range(per_direction)])
        table = order + np.arange(len(layer))[:, None] * order.size
        return op.Gather(whole, op.constant(table), axis=0)

    stacked_weights = [stacked([w.w_ih for w in layer], 1), stacked([w.w_hh for w in layer], 1)]
    if layer[0].b_ih is None:
        return [*stacked_weights, None]
    return [*stacked_weights, stacked([b for w in layer for b in (w.b_ih, w.b_hh)], 2)]


def _without_projection(
    op: Op, layer: list[Weights], x: Value, state: State
) -> tuple[list[Weights], Any, State, Any]:
    """An LSTM whose hidden state is projected, as one that projects its output only.

    The recurrent weights take the projection in: `R @ (P @ h) == (R @ P) @ h`.  A first state is
    given already projected; as it counts in the first step only, it becomes more input there.
    """
    width = layer[0].w_hr.shape[0]
    without_hr = [w._replace(w_hh=op.MatMul(w.w_hh, w.w_hr), w_hr=None) for w in layer]
    outward = [op.Unsqueeze(algebra.transpose(op, w.w_hr), [0]) for w in layer]
    projection = outward[0] if len(layer) == 1 else op.Concat(*outward, axis=0)
    first = known_array(op, state.hidden)
    if first is None or np.any(first):
        extra = []
        for n, w in enumerate(layer):
            at_start = op.Slice(state.hidden, [n], [n + 1], [0])
            extra.append(_in_first_step(op, x, at_start, state.lengths if n else None, back=n == 1))
            nothing = op.constant(np.zeros((w.w_hh.shape[0], width), w.w_hh.onnx_dtype.numpy))
            columns = [w.w_hh if k == n else nothing for k in range(len(layer))]
            without_hr[n] = without_hr[n]._replace(w_ih=op.Concat(w.w_ih, *columns, axis=1))
        x = op.Concat(x, *extra, axis=2)
    zeros = op.Expand(
        op.constant(np.zeros((1, 1, 1), state.cell.onnx_dtype.numpy)), op.Shape(state.cell)
    )
    return without_hr, x, state._replace(hidden=zeros), projection


def _in_first_step(op: Op, x: Value, state: Any, lengths: Any, *, back: bool) -> Value:
    """`[T, B, P]`: a state `[1, B, P]` in the step a direction begins with, zero in others."""
    steps = scalar(op, size(op, x, 0), DType.INT64)
    count = op.Range(scalar(op, 0, DType.INT64), steps, scalar(op, 1, DType.INT64))
    begins: Any = scalar(op, 0, DType.INT64)
    if back:
        begins = op.Sub(steps if lengths is None else op.Cast(lengths, to=DType.INT64), 1)
    here = op.Equal(op.Unsqueeze(count, [1]), begins)
    return op.Mul(op.Unsqueeze(op.Cast(here, to=state.onnx_dtype), [2]), state)


def _from_tensor(
    op: Op, net: Network, x: Value, hx: Sequence[Value], batch_first: bool
) -> list[Any]:
    if batch_first:
        x = op.Transpose(x, perm=[1, 0, 2])
    results = run(op, net, x, hx[0], hx[1] if len(hx) > 1 else None, None)
    if batch_first:
        results[0] = op.Transpose(results[0], perm=[1, 0, 2])
    return results


def _from_packed(
    op: Op, net: Network, data: Value, batch_sizes: Value, hx: Sequence[Value]
) -> list[Any]:
    """Sequences packed step by step: padded, run with their lengths, and packed again."""
    batch_sizes = cast(op, batch_sizes, DType.INT64)
    many = scalar(op, size(op, hx[0], 1), DType.INT64)
    number = op.Range(scalar(op, 0, DType.INT64), many, scalar(op, 1, DType.INT64))
    sizes = op.Unsqueeze(batch_sizes, [1])
    inside = op.Less(number, sizes)  # [T, B]
    begins = op.Sub(op.CumSum(sizes, scalar(op, 0, DType.INT64)), sizes)
    place = op.Where(inside, op.Add(begins, number), op.constant(np.array(0)))
    lengths = op.ReduceSum(op.Cast(inside, to=DType.INT32), [0], keepdims=0)
    x = op.Gather(data, place, axis=0)
    results = run(op, net, x, hx[0], hx[1] if len(hx) > 1 else None, lengths)
    flat = op.Reshape(results[0], vector(op, [-1, size(op, results[0], 2)]))
    results[0] = op.Compress(flat, op.Reshape(inside, [-1]), axis=0)
    return results


_UNTESTED = "torch has no OpInfo for it"


def _register(name: str, kind: Kind) -> None:
    """The overloads of a network, which differ in their kind only.

    Its state `hx` is one tensor, or a list of the hidden state and the cells.
    """

    @aten(f"aten::{name}.input", rule=like("input"), untested=_UNTESTED)
    def of_tensor(
        op: Op,
        input: Value,
        hx: Value | Sequence[Value],
        params: list[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Any, ...]:
        """A recurrent network: outputs, last hidden states, and last cells if it has them."""
        net = network(kind, params, has_biases, num_layers, dropout, train, bidirectional)
        return tuple(_from_tensor(op, net, input, _states(hx), batch_first))

    @aten(f"aten::{name}.data", rule=like("data"), untested=_UNTESTED)
    def of_packed(
        op: Op,
        data: Value,
        batch_sizes: Value,
        hx: Value | Sequence[Value],
        params: list[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Any, ...]:
        """A recurrent network of packed sequences."""
        net = network(kind, params, has_biases, num_layers, dropout, train, bidirectional)
        return tuple(_from_packed(op, net, data, batch_sizes, _states(hx)))

    @aten(f"onnxwright::{name}_lengths", rule=like("input"), untested=_UNTESTED)
    def with_lengths(
        op: Op,
        input: Value,
        lengths: Value,
        hx: Value | Sequence[Value],
        params: list[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Any, ...]:
        """A recurrent network of a padded batch with the lengths of its rows."""
        net = network(kind, params, has_biases, num_layers, dropout, train, bidirectional)
        hidden, cells = (*_states(hx), None)[:2]
        return tuple(run(op, net, input, hidden, cells, cast(op, lengths, DType.INT32)))


def _states(hx: Any) -> list[Any]:
    return list(hx) if isinstance(hx, (list, tuple)) else [hx]


for _name, _kind in (("lstm", LSTM), ("gru", GRU), ("rnn_tanh", TANH), ("rnn_relu", RELU)):
    _register(_name, _kind)
