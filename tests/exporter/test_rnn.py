"""Recurrent modules: one node each, dynamic time, states, projections, packing."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pad_packed_sequence,
)

import onnxwright as ow
from tests.exporter.programs import Program, Programs, check, operators, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
TIME = {"input": {0: "batch", 1: "time"}}
KINDS: dict[str, Any] = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}

VARIANTS: dict[str, Any] = {
    "batch_first": (lambda k: k(4, 8, batch_first=True), (2, 5, 4), TIME, 1),
    "time_first": (lambda k: k(4, 8), (5, 2, 4), {"input": {0: "time", 1: "batch"}}, 1),
    "both_ways": (lambda k: k(4, 3, bidirectional=True, batch_first=True), (2, 5, 4), TIME, 1),
    "two_layers": (lambda k: k(4, 3, 2, dropout=0.5).eval(), (5, 2, 4), ({0: "time"},), 2),
}

for _name, _kind in KINDS.items():
    for _variant, (_make, _shape, _dynamic, _count) in VARIANTS.items():
        PROGRAMS.add(
            f"{_name}_{_variant}",
            partial(_make, _kind),
            randn(_shape),
            dynamic=_dynamic,
            ops={_name: _count},
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
        y, (h, c) = self.lstm(self.embed(tokens))
        return self.head(y), h.transpose(0, 1).flatten(1), c


@PROGRAMS(lambda: (randn(5, 2, 4),))
@module_with(lambda: {"gru": nn.GRU(4, 3)})
def OnlyTheStates(self, x):
    """The sequence itself is not read."""
    return self.gru(x)[1][0]


@pytest.mark.share(2)
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


# -- packed sequences ------------------------------------------------------------------------------


@module_with(lambda kind, options, **around: {"net": kind(4, 5, **options), "around": around})
def Packed(self, x: Any, lengths: Any) -> Any:
    """Pack, run, and pad again."""
    first, total = self.net.batch_first, self.around.get("total")
    packed = pack_padded_sequence(
        x, lengths, batch_first=first, enforce_sorted=self.around.get("sorted", False)
    )
    y, state = self.net(packed)
    y, counts = pad_packed_sequence(
        y,
        batch_first=first,
        padding_value=self.around.get("padding", 0.0),
        total_length=x.size(1 if first else 0) if total == "time" else total,
    )
    return y, counts, state


PACKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "batch first": ({"batch_first": True}, {}),
    "sorted": ({}, {"sorted": True}),
    "several": ({"num_layers": 2, "bidirectional": True, "batch_first": True}, {}),
    "to the time of the input": ({"batch_first": True}, {"total": "time", "padding": -1.0}),
    "to a given time": ({"bidirectional": True}, {"total": 12}),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("LSTM", name) for name in PACKED), ("GRU", "several"), ("RNN", "several"),
     ("GRU", "to a given time")],
)  # fmt: skip
def test_packed_sequences(kind: str, name: str) -> None:
    """One node for each layer with the lengths, at other lengths, batches and times."""
    torch.manual_seed(0)
    options, around = PACKED[name]
    module = Packed(KINDS[kind], options, **around).eval()
    first = options.get("batch_first", False)

    def inputs(time: int, *lengths: int) -> Any:
        given = sorted(lengths, reverse=True) if around.get("sorted") else list(lengths)
        shape = (len(lengths), time, 4) if first else (time, len(lengths), 4)
        return randn(*shape), torch.tensor(given)

    dynamic = ({0: "batch", 1: "time"} if first else {0: "time", 1: "batch"}, {0: "batch"})
    program = ow.export(module, inputs(7, 3, 7, 5), dynamic_shapes=dynamic)
    nodes = [n for n in program.model.graph if n.op_type == kind]
    assert len(nodes) == options.get("num_layers", 1)
    assert all(n.inputs[4] is not None for n in nodes)
    for given in (inputs(7, 3, 7, 5), inputs(9, 1, 4), inputs(8, 6, 2, 6, 8), inputs(6, 2, 1)):
        torch.testing.assert_close(program(*given), module(*given), rtol=1e-4, atol=1e-5)


class BetweenLayers(nn.Module):
    """Functions of each element on packed data, a first state, lengths that are a list."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.lin = nn.Embedding(9, 4), nn.Linear(5, 3)
        self.one, self.two = nn.GRU(4, 5), nn.LSTM(3, 6, proj_size=2)

    def forward(self, tokens: Any, state: Any) -> Any:
        packed = pack_padded_sequence(self.embed(tokens), [4, 2], enforce_sorted=True)
        packed, last = self.one(packed, state)
        data = torch.relu(self.lin(packed.data)) + 1.0
        packed, (h, c) = self.two(PackedSequence(data, packed.batch_sizes))
        return pad_packed_sequence(packed)[0], last, h, c


def test_packed_sequences_between_layers() -> None:
    """What is packed may go through other modules first."""
    torch.manual_seed(0)
    module = BetweenLayers().eval()
    given = (torch.randint(0, 9, (6, 2)), randn(1, 2, 5))
    program = ow.export(module, given, dynamic_shapes=({0: "time"}, None))
    for steps in (6, 4):
        other = (torch.randint(0, 9, (steps, 2)), randn(1, 2, 5))
        torch.testing.assert_close(program(*other), module(*other), rtol=1e-4, atol=1e-5)


@module_with(lambda: {"gru": nn.GRU(3, 4)})
def LastSteps(self, x: Any, lengths: Any) -> Any:
    """The last step of each sequence, whose number is `len(lengths)`: a number of Python."""
    outputs = self.gru(pack_padded_sequence(x, lengths, enforce_sorted=False))[0]
    outputs = pad_packed_sequence(outputs, batch_first=True)[0]
    return outputs[torch.arange(len(lengths)), lengths - 1]


def test_len_of_the_lengths_is_dynamic() -> None:
    """Torch's compiler takes no packed sequences, so that `len` is read by our rewriting."""
    module, dynamic = LastSteps().eval(), torch.export.Dim.DYNAMIC
    axes = ({0: dynamic, 1: dynamic}, {0: dynamic})
    program = ow.export(module, (randn(5, 3, 3), torch.tensor([5, 2, 3])), dynamic_shapes=axes)
    for lengths in ([2, 4], [3], [1, 2, 2, 6]):
        given = randn(max(lengths), len(lengths), 3), torch.tensor(lengths)
        torch.testing.assert_close(program(*given), module(*given), rtol=1e-4, atol=1e-5)


def test_torch_is_as_it_was() -> None:
    """What a capture changes in packing is undone."""
    before = nn.LSTM.forward
    ow.export(nn.LSTM(4, 3), (randn(5, 2, 4),))
    assert nn.LSTM.forward is before
    assert "_pack_padded_sequence" not in vars(torch._VF)
