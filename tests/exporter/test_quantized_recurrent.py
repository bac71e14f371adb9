"""Dynamic quantized cells, and LSTM and GRU over packed sequences: weights stay INT8 or FLOAT16."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization as aq
from torch import nn, randn
from torch.nn.utils import rnn
from torch.utils import _pytree as pytree

import onnxwright as ow
from tests.harness.modules import module_with

# torch says of its own quantization that torchao takes it over.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@module_with(lambda cell: {"cell": cell})
def Steps(self, x: Any) -> Any:
    """A cell that is called for three steps."""
    state = None
    for step in range(3):
        state = self.cell(x[:, step], state)
    return state


@module_with(lambda inner: {"inner": inner})
def Packing(self, x: Any, lengths: Any) -> Any:
    """A recurrent module between packing and padding."""
    packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, state = self.inner(packed)
    padded, _ = rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])
    return padded, state


def stored(program: Any, name: str) -> int:
    """How many initializer elements have a type."""
    values = program.model.graph.initializers.values()
    return sum(v.const_value.size for v in values if v.dtype.name == name)


def assert_close(program: Any, model: Any, args: Any, atol: float) -> None:
    for a, b in zip(
        pytree.tree_leaves(program(*args)), pytree.tree_leaves(model(*args)), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=atol)


CELLS = {
    "LSTM": (lambda: nn.LSTMCell(16, 24), 4),
    "GRU": (lambda: nn.GRUCell(16, 24), 3),
    "tanh": (lambda: nn.RNNCell(16, 24), 1),
    "relu": (lambda: nn.RNNCell(16, 24, nonlinearity="relu"), 1),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
@pytest.mark.parametrize("name", CELLS)
def test_cells(name: str, dtype: Any) -> None:
    """One step: products whose activations are rounded where torch rounds them."""
    torch.manual_seed(0)
    make, gates = CELLS[name]
    cell = make()
    model = aq.quantize_dynamic(Steps(cell).eval(), {type(cell)}, dtype=dtype)
    program = ow.export(model, (randn(2, 3, 16),), dynamic_shapes=({0: "N"},))
    assert_close(program, model, (randn(5, 3, 16),), atol=1e-4)
    kind = "INT8" if dtype is torch.qint8 else "FLOAT16"
    assert stored(program, kind) >= gates * 24 * (16 + 24)
    assert stored(program, "FLOAT") < 24 * 16  # biases and scales, no weight as floats


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}])
def test_packed_sequences(kind: Any, options: Any) -> None:
    """One node with `sequence_lens` for each layer, at other sizes and lengths."""
    torch.manual_seed(0)
    model = Packing(kind(16, 24, batch_first=True, **options)).eval()
    model = aq.quantize_dynamic(model, {kind}, dtype=torch.qint8)
    example = (randn(3, 5, 16), torch.tensor([5, 2, 3]))
    program = ow.export(model, example, dynamic_shapes=({0: "N", 1: "T"}, {0: "N"}))
    assert_close(program, model, example, atol=0.03)
    assert_close(program, model, (randn(2, 7, 16), torch.tensor([4, 7])), atol=0.03)
    nodes = [node for node in program.model.graph if node.op_type == kind.__name__]
    assert len(nodes) == options.get("num_layers", 1)
    assert all(node.inputs[4] is not None for node in nodes)
    assert stored(program, "INT8") >= (4 if kind is nn.LSTM else 3) * 24 * (16 + 24)
