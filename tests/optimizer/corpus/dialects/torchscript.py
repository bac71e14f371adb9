"""As PyTorch's old exporter writes, opset by opset, with initializers as inputs in some."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import onnx
import torch
from torch import nn
from torch.nn import functional

from tests.optimizer.corpus.dialects.building import register


class _Function(nn.Module):
    """A module whose forward is a function of it and the inputs."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        """Call it."""
        return self.function(self, *inputs)


def _image(*shape: int) -> Any:
    return torch.randn(shape or (2, 3, 8, 8))


def _networks() -> dict[str, tuple[nn.Module, tuple[Any, ...]]]:
    """The networks, each with an input."""
    conv = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU6(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5))  # fmt: skip
    return {
        "conv": (conv, (_image(),)),
        "slices": (_Function(lambda _, x: x[:, 1:, 1:-1, ::2]), (_image(),)),
        "resize": (
            _Function(lambda _, x: functional.interpolate(x, scale_factor=2.0)), (_image(),),
        ),
        "resize_to": (
            _Function(lambda _, x, z: functional.interpolate(x, size=z.shape[2:]) + z),
            (_image(2, 3, 4, 4), _image()),
        ),
        "layer_norm": (
            nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU()), (_image(2, 5, 8),),
        ),
        "group_norm": (
            nn.Sequential(nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4), nn.Hardswish()), (_image(),),
        ),
        "view": (
            _Function(lambda m, x: m.w(x.view(x.size(0), -1, 4)).permute(0, 2, 1).flatten(1),
                      w=nn.Linear(4, 3)), (_image(2, 8, 3),),
        ),
        "lstm": (_Function(lambda m, x: m.r(x)[0], r=nn.LSTM(3, 4, batch_first=True)),
                 (_image(2, 5, 3),)),
        "attention": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (_image(2, 5, 8),)),
        "embedding": (
            _Function(lambda m, i: functional.silu(m.w(m.e(i)).mean(1)), e=nn.Embedding(9, 4),
                      w=nn.Linear(4, 3)), (torch.randint(0, 9, (2, 5)),),
        ),
        "masked": (
            _Function(lambda _, x: torch.softmax(x.masked_fill(x < 0, float("-inf")), -1)),
            (_image(2, 5, 5),),
        ),
    }  # fmt: skip


def _focus(m: Any, x: Any) -> Any:
    parts = [x[..., a::2, b::2] for a in (0, 1) for b in (0, 1)]
    y = functional.silu(m.c(torch.cat(parts, 1)))
    pooled = [functional.max_pool2d(y, k, 1, k // 2) for k in (3, 5)]
    return functional.interpolate(torch.cat([y, *pooled], 1), scale_factor=2, mode="nearest")


def _u_net(m: Any, x: Any) -> Any:
    down = torch.relu(m.a(x))
    up = m.up(functional.max_pool2d(down, 2))
    gap = down.size(2) - up.size(2), down.size(3) - up.size(3)
    up = functional.pad(up, [gap[1] // 2, gap[1] - gap[1] // 2, gap[0] // 2, gap[0] - gap[0] // 2])
    return m.b(torch.cat([down, up], 1))


def _causal(m: Any, x: Any) -> Any:
    b, t, c = x.size()
    q, k, v = m.qkv(x).split(c, dim=2)
    q, k, v = (z.view(b, t, 2, c // 2).transpose(1, 2) for z in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) * (1.0 / (c // 2) ** 0.5)
    mask = torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16)[:, :, :t, :t]
    scores = scores.masked_fill(mask == 0, float("-inf"))
    y = torch.softmax(scores, -1) @ v
    return m.out(y.transpose(1, 2).contiguous().view(b, t, c))


def _windows(m: Any, x: Any) -> Any:
    b, h, w, c = x.shape
    x = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
    x = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 4, c)
    x = m.w(m.n(x)).view(b, h // 2, w // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
    return torch.roll(x, shifts=(1, 1), dims=(1, 2))


def _patches(m: Any, x: Any) -> Any:
    x = m.c(x).flatten(2).transpose(1, 2)
    return m.h(m.n(torch.cat([m.t.weight.unsqueeze(0).expand(x.shape[0], -1, -1), x], 1))[:, 0])


def _detection(m: Any, x: Any) -> Any:
    y = m.c(x)
    b, _, h, w = y.shape
    y = y.view(b, 2, 5, h, w).permute(0, 1, 3, 4, 2).contiguous()
    boxes, score = y[..., :4].sigmoid() * 2 - 0.5, y[..., 4:].sigmoid()
    return torch.cat([boxes.view(b, -1, 4) * 8, score.view(b, -1, 1)], -1)


def _more() -> dict[str, tuple[nn.Module, tuple[Any, ...]]]:
    """Parts of detectors, language models and others as they are written by hand."""
    f = functional
    return {
        "focus": (_Function(_focus, c=nn.Conv2d(12, 4, 1)), (_image(),)),
        "u_net": (_Function(_u_net, a=nn.Conv2d(3, 4, 3, padding=1),
                            up=nn.ConvTranspose2d(4, 4, 2, 2), b=nn.Conv2d(8, 2, 1)), (_image(),)),
        "causal": (_Function(_causal, qkv=nn.Linear(8, 24), out=nn.Linear(8, 8)),
                   (_image(2, 5, 8),)),
        "windows": (_Function(_windows, n=nn.LayerNorm(4), w=nn.Linear(4, 4)),
                    (_image(2, 4, 4, 4),)),
        "patches": (_Function(_patches, c=nn.Conv2d(3, 8, 4, 4), t=nn.Embedding(1, 8),
                              n=nn.LayerNorm(8), h=nn.Linear(8, 3)), (_image(),)),
        "detection": (_Function(_detection, c=nn.Conv2d(3, 10, 1)), (_image(),)),
        "l2": (_Function(lambda _, x: f.normalize(x, dim=1) * 3), (_image(2, 8),)),
        "cosine": (_Function(lambda _, x: f.cosine_similarity(x, x.flip(0), dim=1)),
                   (_image(2, 8),)),
        "variance": (
            _Function(lambda _, x: (x - x.mean(1, True)) / (x.std(1, keepdim=True) + 1e-5)),
            (_image(2, 8),),
        ),
        "pixel_shuffle": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(8),
                                        nn.PixelShuffle(2)), (_image(),)),
        "adaptive": (nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                   nn.Linear(6, 4), nn.LogSoftmax(1)), (_image(),)),
        "shuffle": (_Function(lambda m, x: m.c(x.view(x.size(0), 2, 2, x.size(2), x.size(3))
                                               .transpose(1, 2).reshape(x.shape)),
                              c=nn.Conv2d(4, 4, 1)), (_image(2, 4, 6, 6),)),
        "chunks": (_Function(lambda m, x: f.glu(m.w(x), -1) + torch.chunk(x, 2, -1)[0],
                             w=nn.Linear(8, 8)), (_image(2, 8),)),
        "mean_pool": (
            _Function(
                lambda m, x, k: (x * k.unsqueeze(-1)).sum(1) / k.sum(1, True).clamp(min=1e-9)
            ),
            (_image(2, 5, 8), torch.ones(2, 5)),
        ),
        "top_k": (_Function(lambda m, x: torch.topk(m.w(x).softmax(-1), 2)[0], w=nn.Linear(8, 5)),
                  (_image(2, 8),)),
        "instance_norm": (nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(3, 4, 3),
                                        nn.InstanceNorm2d(4, affine=True), nn.ELU()), (_image(),)),
        "gru": (_Function(lambda m, x: m.w(m.r(x)[0][:, -1]), r=nn.GRU(3, 4, batch_first=True,
                bidirectional=True), w=nn.Linear(8, 2)), (_image(2, 5, 3),)),
        "rms": (
            _Function(
                lambda m, x: m.s.weight[0] * x * torch.rsqrt(x.pow(2).mean(-1, True) + 1e-6),
                s=nn.Embedding(1, 8),
            ),
            (_image(2, 5, 8),),
        ),
    }  # fmt: skip


def _exported(name: str, opset: int, as_inputs: bool) -> onnx.ModelProto:
    torch.manual_seed(0)
    module, inputs = {**_networks(), **_more()}[name]
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_var, 0.5, 1.5)  # type: ignore[arg-type]
            nn.init.normal_(norm.running_mean)  # type: ignore[arg-type]
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), inputs, file, dynamo=False, opset_version=opset,
            input_names=[f"x{n}" for n in range(len(inputs))], output_names=["y"],
            dynamic_axes={f"x{n}": {0: "N"} for n in range(len(inputs))},
            keep_initializers_as_inputs=as_inputs,
        )  # fmt: skip
    return onnx.load_model_from_string(file.getvalue())


# The opsets of each network: what the exporter refuses is left out.
OPSETS = dict.fromkeys(_networks(), (9, 11, 13, 17))
OPSETS |= {"group_norm": (11, 14, 17), "slices": (11, 13, 17)}
OPSETS |= dict.fromkeys(_more(), (11, 13, 17))
del OPSETS["attention"]  # the exporter raises a TypeError on `nn.TransformerEncoderLayer`
register("torchscript", **{
    f"{name}_{opset}{'_inputs' * as_inputs}": partial(_exported, name, opset, as_inputs)
    for name, opsets in OPSETS.items() for opset in opsets
    for as_inputs in ((False, True) if opset == 11 and name in ("conv", "layer_norm") else (False,))
})  # fmt: skip
