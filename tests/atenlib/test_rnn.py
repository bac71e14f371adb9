"""Recurrent networks in every mode against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxwright.sweep import aten_runs
from onnxwright.sweep.tape import Call
from tests.atenlib.one_op import check, outcomes
from tests.harness.tables import each

aten = torch.ops.aten
KINDS = {
    "lstm": torch.nn.LSTM,
    "gru": torch.nn.GRU,
    "rnn_tanh": torch.nn.RNN,
    "rnn_relu": torch.nn.RNN,
}


def network(kind: str, dtype: torch.dtype, **options: Any) -> torch.nn.RNNBase:
    torch.manual_seed(0)
    if kind.startswith("rnn_"):
        options["nonlinearity"] = kind[4:]
    module = KINDS[kind](3, 4, dtype=dtype, **options)
    return module.requires_grad_(False)


def states(net: torch.nn.RNNBase, batch: int, dtype: torch.dtype) -> list[torch.Tensor]:
    rows = net.num_layers * (2 if net.bidirectional else 1)
    first = [torch.randn(rows, batch, net.proj_size or 4, dtype=dtype)]
    return [*first, torch.randn(rows, batch, 4, dtype=dtype)] if net.mode == "LSTM" else first


def arguments(net: torch.nn.RNNBase) -> tuple[Any, ...]:
    return (net._flat_weights, net.bias, net.num_layers, 0.0, False, net.bidirectional)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_networks(kind: str, layers: int, both: bool, bias: bool, batch_first: bool) -> None:
    net = network(kind, torch.float32, num_layers=layers, bidirectional=both, bias=bias)
    x = torch.randn(5, 2, 3)
    hx = states(net, 5 if batch_first else 2, torch.float32)
    target = getattr(aten, kind).input
    state = hx if kind == "lstm" else hx[0]
    check(target, x, state, *arguments(net), batch_first, tol=(1e-5, 1e-5), dynamic=(0, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_packed_sequences(kind: str, both: bool, dtype: torch.dtype) -> None:
    net = network(kind, dtype, num_layers=2, bidirectional=both)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        torch.randn(6, 3, 3, dtype=dtype), torch.tensor([6, 4, 1]), enforce_sorted=True
    )
    hx = states(net, 3, dtype)
    target = getattr(aten, kind).data
    state = hx if kind == "lstm" else hx[0]
    check(
        target,
        packed.data,
        packed.batch_sizes,
        state,
        *arguments(net),
        tol=(1e-5, 1e-5),
        dynamic=(0, 1, 2),
    )


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_projection(both: bool, layers: int, bias: bool, dtype: torch.dtype) -> None:
    net = network("lstm", dtype, proj_size=2, bidirectional=both, num_layers=layers, bias=bias)
    hx = states(net, 2, dtype)
    x = torch.randn(5, 2, 3, dtype=dtype)
    check(aten.lstm.input, x, hx, *arguments(net), False, tol=(1e-5, 1e-5), dynamic=(0,))


@pytest.mark.parametrize("both", [False, True])
def test_projection_of_packed_sequences(both: bool) -> None:
    net = network("lstm", torch.float32, proj_size=2, bidirectional=both)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(6, 3, 3), torch.tensor([6, 4, 1]))
    hx = states(net, 3, torch.float32)
    check(aten.lstm.data, packed.data, packed.batch_sizes, hx, *arguments(net), tol=(1e-5, 1e-5))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "tol"),
    [(torch.float64, (1e-7, 1e-7)), (torch.float16, (5e-3, 5e-3)), (torch.bfloat16, (5e-2, 5e-2))],
)
def test_dtypes(kind: str, dtype: torch.dtype, tol: tuple[float, float]) -> None:
    net = network(kind, dtype, bidirectional=True)
    hx = states(net, 2, dtype)
    state = hx if kind == "lstm" else hx[0]
    x = torch.randn(5, 2, 3, dtype=dtype)
    check(getattr(aten, kind).input, x, state, *arguments(net), False, tol=tol)


@each("kind", ["lstm", "gru", "rnn_tanh"])
def test_one_node_for_each_layer(kind: str) -> None:
    net = network(kind, torch.float32, num_layers=3, bidirectional=True)
    hx = states(net, 2, torch.float32)
    state = hx if kind == "lstm" else hx[0]
    args = (torch.randn(5, 2, 3), state, *arguments(net), False)
    target = getattr(aten, kind).input
    result = target(*args)
    built = aten_runs.build_graph([Call(target, args, {}, result)], result, 23)
    names = [node.op_type for node in built.model.graph.node]
    assert names.count(kind.split("_")[0].upper()) == 3


def test_dropout_between_layers() -> None:
    net = network("gru", torch.float32, num_layers=2)
    hx = states(net, 2, torch.float32)[0]
    x = torch.randn(5, 2, 3)
    plain = aten.gru.input(x, hx, net._flat_weights, True, 2, 0.0, False, False, False)
    _, ours = outcomes(
        aten.gru.input, x, hx, net._flat_weights, True, 2, 0.5, True, False, False, dynamic=()
    )
    for output, hidden in ours.values():
        assert output.shape == plain[0].shape
        torch.testing.assert_close(hidden[0], plain[1][0])  # the first layer is not touched
        assert not torch.allclose(hidden[1], plain[1][1])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_cells(kind: str, bias: bool) -> None:
    torch.manual_seed(0)
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    h = torch.randn(2, 4)
    weights = [torch.randn(gates * 4, 3), torch.randn(gates * 4, 4)]
    weights += [torch.randn(gates * 4), torch.randn(gates * 4)] if bias else []
    state = [h, torch.randn(2, 4)] if kind == "lstm" else h
    check(
        getattr(aten, f"{kind}_cell").default,
        torch.randn(2, 3),
        state,
        *weights,
        tol=(1e-5, 1e-5),
    )
