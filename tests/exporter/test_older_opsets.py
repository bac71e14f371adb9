"""Exports to opsets below the one that the ATen library is written for: each is run beside PyTorch.

Each module of the table is exported to a few of these versions, so that together they have all of
them; the corpus of `tests/optimizer/corpus` was exported to every version once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import onnxwright as ow
from onnxwright.errors import ConversionError
from tests.harness.modules import module_with


@module_with(lambda function: {"function": function})
def Call(self, *args: Any) -> Any:
    """A function as a module."""
    return self.function(*args)


@module_with(lambda: {"all": nn.Linear(16, 48), "out": nn.Linear(16, 16), "norm": nn.RMSNorm(16)})
def Attention(self, x: torch.Tensor) -> torch.Tensor:
    """Attention with a causal mask, and rotated positions."""
    b, n, _ = x.shape
    q, k, v = self.all(self.norm(x)).view(b, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
    turned = torch.cat((-q[..., 4:], q[..., :4]), -1)
    angles = torch.arange(n)[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])[None]
    q = q * torch.cat((angles.cos(),) * 2, -1) + turned * torch.cat((angles.sin(),) * 2, -1)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return x + self.out(y.transpose(1, 2).reshape(b, n, 16))


class Scored(nn.Module):
    """Values chosen by their scores."""

    def forward(self, x: torch.Tensor) -> Any:
        values, places = x.topk(2, dim=1)
        order = x.argsort(1, descending=True)
        return values, places, x.gather(1, order), x.cumsum(1), (x > 0).any(1), x.amax(1)


class Recurrent(nn.Module):
    """Two recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 5, batch_first=True)

    def forward(self, x: torch.Tensor) -> Any:
        y, (h, _) = self.lstm(x)
        return self.gru(y)[0], h


def image() -> torch.Tensor:
    return torch.randn(2, 4, 8, 8)


def rows() -> torch.Tensor:
    return torch.randn(2, 6, 16)


def conv(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), *layers)


Case = tuple[Callable[[], Any], Callable[[], tuple[Any, ...]], tuple[int, ...]]
ROWS: dict[str, Case] = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)),
                   lambda: (rows(),), (17, 13, 9, 7)),
    "convolutions": (lambda: conv(nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2)),
                     lambda: (image(),), (16, 13, 10, 8, 7)),
    "group norm": (lambda: conv(nn.GroupNorm(2, 8), nn.SiLU()), lambda: (image(),), (17, 13, 7)),
    "layer norm, gelu": (lambda: nn.Sequential(nn.LayerNorm(16), nn.GELU(), nn.Softmax(-1)),
                         lambda: (rows(),), (16, 14, 11, 9)),
    "tanh gelu, mish": (lambda: nn.Sequential(nn.GELU("tanh"), nn.Mish(), nn.Hardswish()),
                        lambda: (rows(),), (17, 13, 9)),
    "hard activations": (lambda: nn.Sequential(nn.Hardsigmoid(), nn.ELU(), nn.SELU(), nn.CELU()),
                         lambda: (rows(),), (15, 13, 8)),
    "nearest": (lambda: conv(nn.Upsample(scale_factor=2)), lambda: (image(),), (17, 13, 11, 9)),
    "bilinear": (lambda: conv(nn.Upsample(scale_factor=2, mode="bilinear")),
                 lambda: (image(),), (16, 13, 11)),
    "transposed": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 3, 2, 2), nn.Tanh()),
                   lambda: (image(),), (17, 13, 7)),
    "shuffled": (lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2)),
                 lambda: (image(),), (15, 13, 10, 7)),
    "padded": (lambda: nn.Sequential(nn.ReflectionPad2d(1), nn.ReplicationPad2d(1),
                                     nn.AvgPool2d(2)),
               lambda: (image(),), (17, 13, 10, 7)),
    "adaptive pools": (lambda: nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()),
                       lambda: (image(),), (15, 13, 7)),
    "attention": (Attention, lambda: (rows(),), (17, 14, 13, 11)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
                lambda: (rows(),), (16, 13)),
    "recurrent": (Recurrent, lambda: (torch.randn(2, 5, 8),), (17, 14, 13, 9)),
    "scores": (Scored, lambda: (torch.randn(3, 5),), (17, 13, 12, 11)),
    "embedding": (lambda: nn.Sequential(nn.Embedding(9, 16), nn.Linear(16, 3)),
                  lambda: (torch.randint(0, 9, (2, 6)),), (15, 13, 7)),
    "shapes": (lambda: Call(lambda x: (x.flip(1), x.roll(1, 1), x[:, ::2], x.unfold(1, 2, 2),
                                       x.repeat(1, 2, 1), torch.stack((x, x), 1))),
               lambda: (rows(),), (17, 13, 11)),
    "triangles": (lambda: Call(lambda x: (x.tril(), x.triu(1), x.clamp(-1, 1), x.clamp(min=0))),
                  lambda: (rows(),), (16, 13, 11)),
    "masks": (lambda: Call(lambda x, m: (x.masked_fill(m, -1.0), torch.where(m, x, 0.0), ~m)),
              lambda: (rows(), rows() > 0), (17, 15, 13, 9)),
    "numbers": (lambda: Call(lambda x, y: (x // y, x % y, x ** 2, torch.maximum(x, y), x.abs())),
                lambda: (torch.arange(-6, 6), torch.full((12,), 4)), (17, 14, 13)),
    "statistics": (lambda: Call(lambda x: (x.mean(1), x.var(1), x.std((0, 2)), x.logsumexp(-1),
                                           x.norm(dim=1), x.softmax(0), x.log_softmax(1))),
                   lambda: (rows(),), (17, 13, 9)),
    "half": (lambda: nn.Sequential(nn.Linear(16, 8), nn.LayerNorm(8)).half(),
             lambda: (rows().half(),), (17, 13)),
    "scattered": (lambda: Call(lambda x, i: (x.scatter_add(1, i, x), x.index_add(0, i[0, :2], x))),
                  lambda: (torch.randn(2, 6), torch.tensor([[0, 1, 1, 0, 1, 1]] * 2)),
                  (17, 15, 13, 11)),
}  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("name", ROWS)
def test_an_older_opset_is_what_torch_computes(name: str) -> None:
    make, inputs, versions = ROWS[name]
    torch.manual_seed(0)
    model, given = make().eval(), inputs()
    dynamic = None if name in ("numbers", "scattered", "half") else tuple({0: "N"} for _ in given)
    if isinstance(model, Call) and dynamic is not None:
        dynamic = (dynamic,)
    program = ow.export(
        model, given, dynamic_shapes=dynamic, opset_version=versions[0], verify=True
    )
    others = [
        ow.export(program.exported_program, opset_version=version, verify=True)
        for version in versions[1:]
    ]
    for version, other in zip(versions, [program, *others], strict=True):
        made = other.model_proto
        assert {i.domain: i.version for i in made.opset_import}[""] == version
        onnx.checker.check_model(made, full_check=True)


def test_the_table_has_every_version() -> None:
    assert {v for _, _, versions in ROWS.values() for v in versions} == set(range(7, 18))
    assert len(ROWS) >= 20


def test_what_no_older_operator_computes_is_refused() -> None:
    with pytest.raises(ConversionError, match="Erf"):
        ow.export(nn.GELU(), (rows(),), opset_version=8)
