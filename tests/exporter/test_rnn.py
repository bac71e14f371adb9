"""Recurrent modules: one node each, dynamic time, states, projections, packing."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")

from torch import nn, randn  # noqa: E402

import onnxwright as ow  # noqa: E402
from tests.exporter.programs import Program, Programs, check, operators, run  # noqa: E402

PROGRAMS = Programs()
TIME = {"input": {0: "batch", 1: "time"}}
KINDS: dict[str, Any] = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}

for _name, _kind in KINDS.items():
    PROGRAMS.add(
        f"{_name}_batch_first",
        lambda k=_kind: k(4, 8, batch_first=True),
        randn(2, 5, 4),
        dynamic=TIME,
        ops={_name: 1},
    )
    PROGRAMS.add(
        f"{_name}_time_first",
        lambda k=_kind: k(4, 8),
        randn(5, 2, 4),
        dynamic={"input": {0: "time", 1: "batch"}},
        ops={_name: 1},
    )
    PROGRAMS.add(
        f"{_name}_both_ways",
        lambda k=_kind: k(4, 3, bidirectional=True, batch_first=True),
        randn(2, 5, 4),
        dynamic=TIME,
        ops={_name: 1},
    )
    PROGRAMS.add(
        f"{_name}_two_layers",
        lambda k=_kind: k(4, 3, 2, dropout=0.5).eval(),
        randn(5, 2, 4),
        dynamic=({0: "time"},),
        ops={_name: 2},
    )
    PROGRAMS.add(f"{_name}_no_bias", lambda k=_kind: k(4, 3, bias=False), randn(5, 2, 4))
    PROGRAMS.add(f"{_name}_unbatched", lambda k=_kind: k(4, 3), randn(5, 4), dynamic=({0: "time"},))

PROGRAMS.add(
    "LSTM_states", lambda: nn.LSTM(4, 3), lambda: (randn(5, 2, 4), (randn(1, 2, 3), randn(1, 2, 3)))
)
PROGRAMS.add("GRU_state", lambda: nn.GRU(4, 3), randn(5, 2, 4), randn(1, 2, 3))
PROGRAMS.add(
    "LSTM_projected",
    lambda: nn.LSTM(4, 6, proj_size=3, batch_first=True),
    randn(2, 5, 4),
    dynamic=TIME,
)
PROGRAMS.add("RNN_relu", lambda: nn.RNN(4, 3, nonlinearity="relu"), randn(5, 2, 4))
PROGRAMS.add(
    "LSTMCell", lambda: nn.LSTMCell(4, 3), lambda: (randn(2, 4), (randn(2, 3), randn(2, 3)))
)
PROGRAMS.add(
    "GRUCell", lambda: nn.GRUCell(4, 3), randn(2, 4), randn(2, 3), dynamic=({0: "b"}, {0: "b"})
)
PROGRAMS.add("RNNCell", lambda: nn.RNNCell(4, 3), randn(2, 4))


@PROGRAMS(lambda: (torch.tensor([[1, 2, 3], [4, 5, 0]]),), dynamic={"tokens": {0: "b", 1: "t"}})
class Tagger(nn.Module):
    """Embedding, LSTM, linear, last state."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.lstm = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.head = nn.Linear(6, 2)

    def forward(self, tokens):
        """Tags and the last states."""
        y, (h, c) = self.lstm(self.embed(tokens))
        return self.head(y), h.transpose(0, 1).flatten(1), c


@PROGRAMS(lambda: (randn(5, 2, 4),))
class OnlyTheStates(nn.Module):
    """The sequence itself is not read."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 3)

    def forward(self, x):
        """The last state."""
        return self.gru(x)[1][0]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_recurrent_module_is_one_node(program: Program) -> None:
    """Sequence and states, at other sizes too."""
    run(program)


@pytest.mark.parametrize("kind", KINDS)
def test_exporting_twice_gives_the_same_bytes(kind: str) -> None:
    """In one process, with a dynamic time axis."""
    torch.manual_seed(0)
    module, x = KINDS[kind](4, 3, batch_first=True), randn(2, 5, 4)
    first, second = (
        check(module, (x,), None, TIME).model_proto.SerializeToString(deterministic=True)
        for _ in range(2)
    )
    assert first == second
    assert operators(check(module, (x,), None, TIME))[kind] == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("capture", ["non-strict", "strict"])
def test_time_is_dynamic_in_what_comes_out(kind: str, capture: str) -> None:
    """One node, no sizes of the example, and no warnings of torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = KINDS[kind](4, 3, bidirectional=True, batch_first=True)
        program = ow.export(module, (randn(2, 5, 4),), dynamic_shapes=TIME, capture=capture)
    assert [list(v.shape) for v in program.model.graph.outputs][0] == ["batch", "time", 6]
    assert operators(program)[kind] == 1
    x = randn(3, 11, 4)
    torch.testing.assert_close(program(x)[0], module(x)[0].detach())
