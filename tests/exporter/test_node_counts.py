"""How many nodes a model has beside torch.onnx's, optimized and of the same opset.

pytest tests/exporter/test_node_counts.py -m "slow or not slow"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytest.importorskip("onnxscript", reason="torch.onnx needs it")

from torch import nn, randn  # noqa: E402

import onnxwright as ow  # noqa: E402

_OPSET = 23


def _assert_no_more_nodes(
    model: Any, args: Any, kwargs: Any, dynamic: Any, rules: list[str] | None = None
) -> None:
    program = ow.export(model, args, kwargs, dynamic_shapes=dynamic, opset_version=_OPSET)
    theirs = torch.onnx.export(program.exported_program, opset_version=_OPSET, verbose=False)
    ours = program.model if rules is None else ow.optimize(program.model, rules=rules)
    counts = [Counter(n.op_type for n in m.graph) for m in (ours, theirs.model)]
    more = {
        name: (counts[0][name], counts[1][name])
        for name in sorted({*counts[0], *counts[1]})
        if counts[0][name] != counts[1][name]
    }
    allowed = counts[1].total() + _turned_ties(program.model)
    assert counts[0].total() <= allowed, f"ours, theirs: {more}"


def _turned_ties(model: Any) -> int:
    """The Transposes of tied weights: torch.onnx writes small ones a second time."""
    turned = [n.inputs[0] for n in model.graph if n.op_type == "Transpose"]
    return sum(len(v.uses()) > 1 for v in turned if v.is_initializer())


def _convolutions(*size: int) -> list[nn.Module]:
    return [
        nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
            nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
        )
        for a, b in zip(size, size[1:], strict=False)
    ]  # fmt: skip


class UNet(nn.Module):
    """Two levels down, two up."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(_convolutions(3, 8, 16, 32))
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.join = nn.ModuleList([*_convolutions(32, 16), *_convolutions(16, 8)])

    def forward(self, x: Any) -> Any:
        first = self.down[0](x)
        second = self.down[1](nn.functional.max_pool2d(first, 2))
        y = self.down[2](nn.functional.max_pool2d(second, 2))
        y = self.join[0](torch.cat([self.up[0](y), second], 1))
        return self.join[1](torch.cat([self.up[1](y), first], 1))


def _decoder() -> nn.Module:
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 2)


_MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "unet": (UNet, (2, 3, 16, 16)),
    "lstm": (lambda: nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), (2, 4, 6)),
    "rnn": (lambda: nn.RNN(6, 5, batch_first=True), (2, 4, 6)),
    "lstm cell": (lambda: nn.LSTMCell(6, 5), (2, 6)),
    "gru cell": (lambda: nn.GRUCell(6, 5), (2, 6)),
    "linear, normalized": (
        lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4, bias=False)),
        (3, 6),
    ),
    "three axes": (
        lambda: nn.Sequential(nn.Conv3d(3, 4, 3), nn.BatchNorm3d(4), nn.MaxPool3d(2)),
        (2, 3, 9, 9, 9),
    ),
    "padded": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, (3, 2), padding="same"), nn.ZeroPad2d(1),
                              nn.Conv2d(4, 4, 3), nn.ReflectionPad2d(1), nn.Conv2d(4, 4, 3)),
        (2, 3, 9, 9),
    ),
    "weight norm": (
        lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 3)),
                              nn.utils.parametrizations.spectral_norm(nn.Linear(6, 5))),
        (2, 4, 8),
    ),
    "group norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU()), (2, 3, 8, 8)
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", _MODULES)
def test_modules_of_torch_have_no_more_nodes(name: str, dynamic: bool) -> None:
    make, shape = _MODULES[name]
    shapes = ({0: torch.export.Dim.DYNAMIC},) if dynamic else None
    # Of operators that ONNX Runtime has no kernel for on a CPU, the rules are asked for.
    rules = ["group_normalization", "swish"] if name == "group norm" else None
    _assert_no_more_nodes(make().eval(), (randn(shape),), {}, shapes, rules)


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True, reason="keys and values of one product are taken apart in more nodes"
)
def test_a_decoder_has_no_more_nodes() -> None:
    inputs = (randn(2, 5, 16), randn(2, 4, 16))
    _assert_no_more_nodes(_decoder().eval(), inputs, {}, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["bert", "roberta", "distilbert", "albert", "mpnet", "modernbert", "llama"]
)
def test_networks_have_no_more_nodes(name: str) -> None:
    pytest.importorskip("transformers", minversion="5.20", reason="it has the networks")
    from tests.exporter.networks import NETWORKS, made

    (network,) = [n for n in NETWORKS if n.name == name]
    model, kwargs, _ = made(network)
    _assert_no_more_nodes(model, (), kwargs, None)
