"""Networks of pictures, written by hand after the architectures of the field."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.harness.modules import module_with
from tests.optimizer.corpus.networks import Made, image, network

Act = type[nn.Module]


def conv_bn(
    a: int, b: int, k: int = 3, s: int = 1, groups: int = 1, act: Act | None = nn.ReLU
) -> nn.Sequential:
    """Convolution, batch normalization, activation."""
    layers: list[nn.Module] = [
        nn.Conv2d(a, b, k, s, k // 2, groups=groups, bias=False),
        nn.BatchNorm2d(b),
    ]
    return nn.Sequential(*layers, *([act()] if act is not None else []))


@module_with(lambda body, short=None, last=True: {"body": body, "short": short, "last": last})
def Residual(self, x: torch.Tensor) -> torch.Tensor:
    """A block beside a shortcut."""
    y = self.body(x) + (x if self.short is None else self.short(x))
    return F.relu(y) if self.last else y


@module_with(
    lambda width, classes=10: {"pool": nn.AdaptiveAvgPool2d(1), "out": nn.Linear(width, classes)}
)
def Head(self, x: torch.Tensor) -> torch.Tensor:
    """Mean over the picture and a linear layer."""
    return self.out(torch.flatten(self.pool(x), 1))


class Inverted(nn.Module):
    """The inverted residual of MobileNet, with squeeze and excitation if asked for."""

    def __init__(self, a: int, b: int, s: int, act: Act, squeeze: Act | None) -> None:
        super().__init__()
        wide = 4 * a
        self.same = a == b and s == 1
        self.expand = conv_bn(a, wide, 1, act=act)
        self.depth = conv_bn(wide, wide, 3, s, wide, act=act)
        self.project = conv_bn(wide, b, 1, act=None)
        self.squeeze = None
        if squeeze is not None:
            self.squeeze = nn.Sequential(
                nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 8, 1), act(), nn.Conv2d(8, wide, 1),
                squeeze(),
            )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depth(self.expand(x))
        if self.squeeze is not None:
            y = y * self.squeeze(y)
        y = self.project(y)
        return x + y if self.same else y


def _inverted(act: Act, squeeze: Act | None) -> Made:
    blocks = [Inverted(8, 8, 1, act, squeeze), Inverted(8, 16, 2, act, squeeze),
              Inverted(16, 16, 1, act, squeeze)]  # fmt: skip
    return image(nn.Sequential(conv_bn(3, 8, 3, 2, act=act), *blocks, nn.Dropout(0.2), Head(16)))


@network("classification")
def mobilenet_v2() -> Made:
    return _inverted(nn.ReLU6, None)


@network("classification")
def mobilenet_v3() -> Made:
    return _inverted(nn.Hardswish, nn.Hardsigmoid)


@network("classification")
def efficientnet() -> Made:
    return _inverted(nn.SiLU, nn.Sigmoid)


class UNet(nn.Module):
    """Down, up, skips; up-sampling by transposed convolution or by interpolation."""

    def __init__(self, bilinear: bool) -> None:
        super().__init__()
        self.a = nn.Sequential(conv_bn(3, 8), conv_bn(8, 8))
        self.b = nn.Sequential(nn.MaxPool2d(2), conv_bn(8, 16), conv_bn(16, 16))
        self.c = nn.Sequential(nn.MaxPool2d(2), conv_bn(16, 16))
        up = {"scale_factor": 2, "mode": "bilinear", "align_corners": True}
        self.u: nn.Module = nn.Upsample(**up) if bilinear else nn.ConvTranspose2d(16, 16, 2, 2)
        self.v: nn.Module = nn.Upsample(**up) if bilinear else nn.ConvTranspose2d(16, 16, 2, 2)
        self.d, self.e = conv_bn(32, 16), conv_bn(24, 8)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.a(x)
        b = self.b(a)
        y = self.d(torch.cat([self.u(self.c(b)), b], 1))
        y = self.v(y)
        apart = a.shape[2] - y.shape[2], a.shape[3] - y.shape[3]
        y = F.pad(y, [apart[1] // 2, apart[1] - apart[1] // 2, apart[0] // 2,
                      apart[0] - apart[0] // 2])  # fmt: skip
        return self.out(self.e(torch.cat([a, y], 1)))


@network("segmentation")
def unet() -> Made:
    return image(UNet(False))


@network("segmentation")
def unet_bilinear() -> Made:
    return image(UNet(True))


class Csp(nn.Module):
    """The C2f block: split, bottlenecks, concatenated."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.first, self.last = conv_bn(a, b, 1, act=nn.SiLU), conv_bn(3 * b // 2, b, 1)
        self.body = nn.Sequential(
            conv_bn(b // 2, b // 2, act=nn.SiLU), conv_bn(b // 2, b // 2, act=nn.SiLU)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.first(x).chunk(2, 1)
        return self.last(torch.cat([a, b, b + self.body(b)], 1))


class Yolo(nn.Module):
    """Backbone, pyramid pooling, neck, a head that decodes boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Sequential(conv_bn(3, 8, 3, 2, act=nn.SiLU), Csp(8, 16))
        self.b = nn.Sequential(conv_bn(16, 16, 3, 2, act=nn.SiLU), Csp(16, 16))
        self.pool, self.pooled = nn.MaxPool2d(5, 1, 2), conv_bn(64, 16, 1, act=nn.SiLU)
        self.up, self.neck = nn.Upsample(scale_factor=2), Csp(32, 16)
        self.heads = nn.ModuleList([nn.Conv2d(16, 20, 1), nn.Conv2d(16, 20, 1)])
        self.register_buffer("weights", torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.a(x)
        b = self.b(a)
        p = [b]
        for _ in range(3):
            p.append(self.pool(p[-1]))
        b = self.pooled(torch.cat(p, 1))
        a = self.neck(torch.cat([self.up(b), a], 1))
        predictions = []
        for head, y, stride in zip(self.heads, (a, b), (2, 4), strict=True):
            y = head(y)
            n, _, h, w = y.shape
            sides, scores = y.view(n, 20, h * w).split((16, 4), 1)
            sides = sides.view(n, 4, 4, h * w).transpose(2, 1).softmax(1)
            sides = (sides * self.weights.view(1, 4, 1, 1)).sum(1)
            ys, xs = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
            at = torch.stack((xs, ys), -1).view(-1, 2).transpose(0, 1).unsqueeze(0)
            low, high = at - sides[:, :2], at + sides[:, 2:]
            boxes = torch.cat(((low + high) / 2, high - low), 1) * stride
            predictions.append(torch.cat((boxes, scores.sigmoid()), 1))
        return torch.cat(predictions, 2)


@network("detection")
def yolo() -> Made:
    return image(Yolo())


class YoloAnchors(nn.Module):
    """The older head: anchors, one grid for each scale."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 8, 3, 2, act=nn.LeakyReLU), conv_bn(8, 16, 3, 2))
        self.head = nn.Conv2d(16, 21, 1)
        self.register_buffer("anchors", torch.rand(1, 3, 1, 1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.head(self.body(x))
        n, _, h, w = y.shape
        y = y.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((xs, ys), 2).view(1, 1, h, w, 2).float()
        at = (y[..., :2] * 2 - 0.5 + grid) * 4
        size = (y[..., 2:4] * 2) ** 2 * self.anchors
        return torch.cat((at, size, y[..., 4:]), -1).view(n, -1, 7)


@network("detection")
def yolo_anchors() -> Made:
    return image(YoloAnchors())


class Dense(nn.Module):
    """Layers that read all that came before."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(8 + 4 * n), nn.ReLU(), nn.Conv2d(8 + 4 * n, 16, 1, bias=False),
                nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1, bias=False),
            )
            for n in range(4)
        )  # fmt: skip
        self.end = nn.Sequential(
            nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 12, 1), nn.AvgPool2d(2)
        )
        self.head = Head(12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [self.first(x)]
        for layer in self.layers:
            parts.append(layer(torch.cat(parts, 1)))
        return self.head(self.end(torch.cat(parts, 1)))


@network("classification")
def densenet() -> Made:
    return image(Dense())


class Fire(nn.Module):
    """SqueezeNet's block."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(a, b, 1)
        self.one, self.three = nn.Conv2d(b, b, 1), nn.Conv2d(b, b, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)


@network("classification")
def squeezenet() -> Made:
    return image(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(8, 4),
            Fire(8, 8), nn.Dropout(), nn.Conv2d(16, 10, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
    )  # fmt: skip


class Shuffle(nn.Module):
    """ShuffleNet's block: half of the channels pass, then all are shuffled."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.body = nn.Sequential(
            conv_bn(half, half, 1), conv_bn(half, half, 3, 1, half, None), conv_bn(half, half, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, 1)
        y = torch.cat((a, self.body(b)), 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


@network("classification")
def shufflenet() -> Made:
    return image(nn.Sequential(conv_bn(3, 16, 3, 2), Shuffle(16), Shuffle(16), Head(16)))


class Inception(nn.Module):
    """Four branches side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.a = conv_bn(8, 4, 1)
        self.b = nn.Sequential(conv_bn(8, 4, 1), conv_bn(4, 8, 3))
        self.c = nn.Sequential(conv_bn(8, 4, 1), conv_bn(4, 4, 5))
        self.d = nn.Sequential(nn.AvgPool2d(3, 1, 1), conv_bn(8, 4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)


@network("classification")
def inception() -> Made:
    return image(nn.Sequential(conv_bn(3, 8), Inception(), Head(20)))


class Squeeze(nn.Module):
    """Squeeze and excitation with linear layers and views."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(width, 4), nn.ReLU(inplace=True), nn.Linear(4, width), nn.Sigmoid()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, _, _ = x.size()
        y = F.adaptive_avg_pool2d(x, 1).view(n, c)
        return x * self.fc(y).view(n, c, 1, 1).expand_as(x)


@network("classification")
def regnet() -> Made:
    def block(width: int) -> Residual:
        body = nn.Sequential(
            conv_bn(width, width, 1), conv_bn(width, width, 3, 1, 4), Squeeze(width),
            conv_bn(width, width, 1, act=None),
        )  # fmt: skip
        return Residual(body)

    return image(nn.Sequential(conv_bn(3, 16, 3, 2), block(16), block(16), Head(16)))


class Mixer(nn.Module):
    """MLPs over places and over channels."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.a, self.b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.places = nn.Sequential(nn.Linear(places, 32), nn.GELU(), nn.Linear(32, places))
        self.channels = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.places(self.a(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.b(x))


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 8, 8)
        self.layers = nn.Sequential(Mixer(16, 16), Mixer(16, 16), nn.LayerNorm(16))
        self.out = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


@network("classification")
def mlp_mixer() -> Made:
    return image(Mixed())


class PoolFormer(nn.Module):
    """Pooling in the place of attention, GroupNorm, a scale for each layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = nn.GroupNorm(1, width), nn.GroupNorm(1, width)
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.mlp = nn.Sequential(
            nn.Conv2d(width, 2 * width, 1), nn.GELU(), nn.Conv2d(2 * width, width, 1)
        )
        self.s, self.t = nn.Parameter(torch.ones(width) / 2), nn.Parameter(torch.ones(width) / 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        x = x + self.s[:, None, None] * (self.pool(y) - y)
        return x + self.t[:, None, None] * self.mlp(self.b(x))


@network("classification")
def poolformer() -> Made:
    return image(nn.Sequential(nn.Conv2d(3, 8, 7, 4, 2), PoolFormer(8), PoolFormer(8), Head(8)))


@module_with(
    lambda: {
        "stages": nn.ModuleList([conv_bn(3, 8, 3, 2), conv_bn(8, 16, 3, 2), conv_bn(16, 32, 3, 2)]),
        "sides": nn.ModuleList([nn.Conv2d(c, 8, 1) for c in (8, 16, 32)]),
        "outs": nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)]),
    }
)
def Pyramid(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A feature pyramid: sideways, from the top down, nearest up-sampling to a given size."""
    features = []
    for stage in self.stages:
        x = stage(x)
        features.append(x)
    y = [side(f) for side, f in zip(self.sides, features, strict=True)]
    for n in (1, 0):
        y[n] = y[n] + F.interpolate(y[n + 1], size=y[n].shape[-2:], mode="nearest")
    return tuple(out(f) for out, f in zip(self.outs, y, strict=True))


@network("detection")
def feature_pyramid() -> Made:
    return image(Pyramid())


class Deeplab(nn.Module):
    """Dilated convolutions at several rates, and a mean of the picture sized up."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 8, 3, 2), conv_bn(8, 16, 3, 2))
        self.rates = nn.ModuleList(
            nn.Sequential(nn.Conv2d(16, 8, 3, padding=r, dilation=r, bias=False),
                          nn.BatchNorm2d(8), nn.ReLU())
            for r in (1, 2, 3)
        )  # fmt: skip
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 8, 1), nn.ReLU())
        self.out = nn.Sequential(conv_bn(32, 8, 1), nn.Conv2d(8, 4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        parts = [rate(y) for rate in self.rates]
        mean = F.interpolate(self.mean(y), size=y.shape[-2:], mode="bilinear", align_corners=False)
        y = self.out(torch.cat([*parts, mean], 1))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


@network("segmentation")
def deeplab() -> Made:
    return image(Deeplab())


@network("generation")
def super_resolution() -> Made:
    return image(
        nn.Sequential(
            nn.Conv2d(3, 16, 5, padding=2), nn.Tanh(),
            Residual(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.PReLU(),
                                   nn.Conv2d(16, 16, 3, padding=1)), last=False),
            nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2), nn.Sigmoid(),
        ), 16,
    )  # fmt: skip


@network("generation")
def gan_generator() -> Made:
    model = nn.Sequential(
        nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return Made(model, {"x": torch.randn(2, 16, 1, 1)}, {"x": {0: "batch"}})


@network("generation")
def style_transfer() -> Made:
    def layer(a: int, b: int, k: int, s: int) -> nn.Sequential:
        return nn.Sequential(
            nn.ReflectionPad2d(k // 2), nn.Conv2d(a, b, k, s), nn.InstanceNorm2d(b, affine=True),
            nn.ReLU(),
        )  # fmt: skip

    return image(
        nn.Sequential(
            layer(3, 8, 5, 1), layer(8, 16, 3, 2), Residual(layer(16, 16, 3, 1), last=False),
            nn.Upsample(scale_factor=2), layer(16, 8, 3, 1), nn.ReflectionPad2d(2),
            nn.Conv2d(8, 3, 5),
        )
    )  # fmt: skip


@module_with(
    lambda: {
        "time": nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)),
        "first": nn.Conv2d(3, 16, 3, padding=1),
        "a": nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1)),
        "b": nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1)),
        "norm": nn.GroupNorm(4, 16),
        "qkv": nn.Conv1d(16, 48, 1),
        "out": nn.Conv1d(16, 16, 1),
        "last": nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1)),
    }
)
def Denoiser(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """A step of diffusion: time embedded, group normalization, attention over the picture."""
    steps = torch.exp(-torch.arange(8) * (9.21 / 8))
    angles = t[:, None].float() * steps[None]
    time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
    x = self.first(x)
    x = x + self.b(self.a(x) + time[:, :, None, None])
    n, c, h, w = x.shape
    y = self.norm(x).reshape(n, c, h * w)
    q, k, v = self.qkv(y).chunk(3, 1)
    weights = torch.einsum("bct,bcs->bts", q * c**-0.25, k * c**-0.25).softmax(-1)
    y = self.out(torch.einsum("bts,bcs->bct", weights, v))
    return self.last(x + y.reshape(n, c, h, w))


@network("generation")
def diffusion_unet() -> Made:
    return Made(
        Denoiser(), {"x": torch.randn(2, 3, 8, 8), "t": torch.tensor([3, 40])},
        {"x": {0: "batch"}, "t": {0: "batch"}},
    )  # fmt: skip


class Autoencoder(nn.Module):
    """Mean and deviation of a code, and the picture made of the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Flatten())
        self.mean, self.spread = nn.Linear(512, 6), nn.Linear(512, 6)
        self.up = nn.Sequential(nn.Linear(6, 512), nn.ELU(), nn.Unflatten(1, (8, 8, 8)),
                                nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Sigmoid())  # fmt: skip

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.down(x)
        mean, spread = self.mean(y), torch.exp(0.5 * self.spread(y))
        return self.up(mean), mean, spread


@network("generation")
def autoencoder() -> Made:
    return image(Autoencoder(), 16, 1)


@module_with(
    lambda width: {
        "three": conv_bn(width, width, 3, act=None),
        "one": conv_bn(width, width, 1, act=None),
        "same": nn.BatchNorm2d(width),
    }
)
def RepVgg(self, x: torch.Tensor) -> torch.Tensor:
    """Three branches of convolution and batch normalization, added."""
    return F.relu(self.three(x) + self.one(x) + self.same(x))


@network("classification")
def repvgg() -> Made:
    return image(nn.Sequential(conv_bn(3, 8, 3, 2), RepVgg(8), RepVgg(8), Head(8)))


class Ghost(nn.Module):
    """Half of the channels from cheap convolutions."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.first, self.cheap = conv_bn(a, b // 2, 1), conv_bn(b // 2, b // 2, 3, 1, b // 2)
        self.b = b

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        return torch.cat([y, self.cheap(y)], 1)[:, : self.b]


@network("classification")
def ghostnet() -> Made:
    return image(nn.Sequential(conv_bn(3, 8, 3, 2), Ghost(8, 16), Ghost(16, 16), Head(16)))


class Resolutions(nn.Module):
    """Two resolutions that exchange what they know."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.low = conv_bn(3, 8), conv_bn(8, 16, 3, 2)
        self.down, self.up = conv_bn(8, 16, 3, 2, act=None), conv_bn(16, 8, 1, act=None)
        self.out = nn.Conv2d(24, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.first(x)
        b = self.low(a)
        up = F.interpolate(self.up(b), scale_factor=2.0, mode="nearest")
        a, b = F.relu(a + up), F.relu(b + self.down(a))
        b = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.out(torch.cat([a, b], 1))


@network("segmentation")
def hrnet() -> Made:
    return image(Resolutions(), 16)
