"""Networks of sequences, sound, graphs and tables, written by hand."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.harness.modules import module_with
from tests.optimizer.corpus.networks import Made, network, sequence, signal, words


@module_with(lambda inner: {"inner": inner})
def First(self, x: torch.Tensor) -> torch.Tensor:
    """The first result of a module that has several."""
    output: torch.Tensor = self.inner(x)[0]
    return output


@network("recurrent")
def lstm() -> Made:
    return sequence(nn.LSTM(8, 6, batch_first=True), 8)


@network("recurrent")
def lstm_bidirectional() -> Made:
    return sequence(First(nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)), 8)


@network("recurrent")
def gru() -> Made:
    return sequence(First(nn.GRU(8, 6, 2, batch_first=True)), 8)


@network("recurrent")
def simple_rnn() -> Made:
    return sequence(nn.RNN(8, 6, batch_first=True, nonlinearity="relu"), 8)


class Tagger(nn.Module):
    """Words, a bidirectional LSTM, a label for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 8, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 5)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        y, _ = self.lstm(self.words(ids))
        return F.log_softmax(self.out(y), -1)


@network("recurrent")
def lstm_tagger() -> Made:
    return words(Tagger())


class Attending(nn.Module):
    """A GRU encoder, and a decoder cell that attends to it, a few steps unrolled."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 8)
        self.encoder, self.cell = nn.GRU(8, 8, batch_first=True), nn.GRUCell(16, 8)
        self.query, self.out = nn.Linear(8, 8, bias=False), nn.Linear(8, 20)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        seen, last = self.encoder(self.words(ids))
        state, outputs = last[0], []
        for _ in range(3):
            weights = torch.softmax((seen @ self.query(state).unsqueeze(-1)).squeeze(-1), -1)
            context = torch.bmm(weights.unsqueeze(1), seen).squeeze(1)
            state = self.cell(torch.cat([context, state], -1), state)
            outputs.append(self.out(state))
        return torch.stack(outputs, 1)


@network("recurrent")
def gru_attention() -> Made:
    return words(Attending())


@module_with(lambda: {"inner": nn.MultiheadAttention(16, 4, batch_first=True)})
def SelfAttention(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """nn.MultiheadAttention with its weights as a result."""
    outputs: tuple[torch.Tensor, torch.Tensor] = self.inner(x, x, x, need_weights=True)
    return outputs


@network("transformer")
def multihead_attention() -> Made:
    return sequence(SelfAttention(), 16)


@module_with(lambda width: {"weight": nn.Parameter(torch.ones(width))})
def RmsNorm(self, x: torch.Tensor) -> torch.Tensor:
    """The root mean square, written out."""
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions by halves."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + turned * sin


class LlamaLayer(nn.Module):
    """Grouped queries, rotary positions, a gated MLP, all written out."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = RmsNorm(32), RmsNorm(32)
        self.q, self.o = nn.Linear(32, 32, bias=False), nn.Linear(32, 32, bias=False)
        self.k, self.v = nn.Linear(32, 16, bias=False), nn.Linear(32, 16, bias=False)
        self.gate, self.up = nn.Linear(32, 48, bias=False), nn.Linear(32, 48, bias=False)
        self.down = nn.Linear(48, 32, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        n, s, _ = x.shape
        y = self.a(x)
        q = self.q(y).view(n, s, 4, 8).transpose(1, 2)
        k = self.k(y).view(n, s, 2, 8).transpose(1, 2)
        v = self.v(y).view(n, s, 2, 8).transpose(1, 2)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k = k[:, :, None].expand(n, 2, 2, s, 8).reshape(n, 4, s, 8)
        v = v[:, :, None].expand(n, 2, 2, s, 8).reshape(n, 4, s, 8)
        mask = torch.full((s, s), -1e9).triu(1)
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(8) + mask, -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(n, s, 32))
        y = self.b(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(100, 32), RmsNorm(32)
        self.layers = nn.ModuleList([LlamaLayer(), LlamaLayer()])
        self.out = nn.Linear(32, 100, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        steps = 1.0 / 10000 ** (torch.arange(0, 8, 2).float() / 8)
        angles = torch.outer(torch.arange(ids.shape[1]).float(), steps)
        angles = torch.cat((angles, angles), -1)[None, None]
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.out(self.norm(x))


@network("transformer")
def llama_by_hand() -> Made:
    return words(Llama())


@module_with(lambda: {"qkv": nn.Linear(16, 48)})
def Linearized(self, x: torch.Tensor) -> torch.Tensor:
    """Attention by feature maps: elu + 1, einsum."""
    q, k, v = self.qkv(x).chunk(3, -1)
    q, k = F.elu(q) + 1, F.elu(k) + 1
    together = torch.einsum("bnd,bne->bde", k, v)
    below = 1 / (torch.einsum("bnd,bd->bn", q, k.sum(1)) + 1e-6)
    return torch.einsum("bnd,bde,bn->bne", q, together, below)


@network("transformer")
def linear_attention() -> Made:
    return sequence(Linearized(), 16)


class Relative(nn.Module):
    """Buckets of distances as biases, as T5 has them."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Embedding(8, 2)
        self.qkv, self.out = nn.Linear(16, 48, bias=False), nn.Linear(16, 16, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, s, _ = x.shape
        at = torch.arange(s)
        apart = (at[None] - at[:, None]).clamp(-4, 3) + 4
        bias = self.bias(apart).permute(2, 0, 1).unsqueeze(0)
        q, k, v = self.qkv(x).view(n, s, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (torch.matmul(q, k.transpose(3, 2)) + bias).float().softmax(-1).type_as(q)
        return self.out(torch.matmul(weights, v).transpose(1, 2).contiguous().view(n, -1, 16))


@network("transformer")
def relative_positions() -> Made:
    return sequence(Relative(), 16)


class Causal(nn.Module):
    """Dilated convolutions that see the past only."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 8, 3, padding=2 * d, dilation=d))
            for d in (1, 2, 4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            y = layer(x)[:, :, : x.shape[-1]]
            x = F.relu(x + F.relu(y))
        return x


@network("convolution in time")
def temporal_convolution() -> Made:
    return signal(Causal(), 8)


class Wave(nn.Module):
    """Gated dilated convolutions with skips, as WaveNet has them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(4, 8, 1)
        self.gates = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=d) for d in (1, 2))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(2))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(8, 8, 1), nn.ReLU(), nn.Conv1d(8, 4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, total = self.first(x), torch.zeros(())
        for gate, skip in zip(self.gates, self.skips, strict=True):
            a, b = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(y)
            x = x + y
        return self.out(total)


@network("speech")
def wavenet() -> Made:
    return signal(Wave(), 4)


class Conformer(nn.Module):
    """Half a feed forward layer, attention, convolution, half a feed forward layer."""

    def __init__(self) -> None:
        super().__init__()

        def half() -> nn.Sequential:
            return nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))

        self.a, self.b = half(), half()
        self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 4, batch_first=True)
        self.cnorm = nn.LayerNorm(16)
        self.conv = nn.Sequential(
            nn.Conv1d(16, 32, 1), nn.GLU(1), nn.Conv1d(16, 16, 5, padding=2, groups=16),
            nn.BatchNorm1d(16), nn.SiLU(), nn.Conv1d(16, 16, 1),
        )  # fmt: skip
        self.last = nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.a(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.conv(self.cnorm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + 0.5 * self.b(x))


@network("speech")
def conformer() -> Made:
    return sequence(nn.Sequential(Conformer(), Conformer()), 16)


class Tacotron(nn.Module):
    """Convolutions over words, an LSTM, a convolution over what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 8)
        self.convs = nn.Sequential(
            nn.Conv1d(8, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(),
            nn.Conv1d(8, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(),
        )  # fmt: skip
        self.lstm = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.mel = nn.Linear(8, 10)
        self.post = nn.Sequential(nn.Conv1d(10, 10, 5, padding=2), nn.BatchNorm1d(10), nn.Tanh())

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.convs(self.words(ids).transpose(1, 2)).transpose(1, 2)
        mel = self.mel(self.lstm(y)[0]).transpose(1, 2)
        return mel, mel + self.post(mel)


@network("speech")
def tacotron() -> Made:
    return words(Tacotron())


class Vocoder(nn.Module):
    """Up-sampling by transposed convolutions and residual blocks of several widths."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(8, 16, 7, padding=3), nn.Conv1d(8, 1, 7, padding=3)
        self.up = nn.ConvTranspose1d(16, 8, 4, 2, 1)
        self.blocks = nn.ModuleList(nn.Conv1d(8, 8, k, padding=k // 2) for k in (3, 5, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.up(F.leaky_relu(self.first(x), 0.1))
        y = [x + block(F.leaky_relu(x, 0.1)) for block in self.blocks]
        return torch.tanh(self.last(F.leaky_relu((y[0] + y[1] + y[2]) / len(y))))


@network("speech")
def hifigan() -> Made:
    return signal(Vocoder(), 8, 16)


class Listener(nn.Module):
    """Whisper's encoder: convolutions, sinusoids, layers whose keys have no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv1d(8, 16, 3, padding=1), nn.Conv1d(16, 16, 3, stride=2, padding=1)
        self.register_buffer("places", torch.randn(64, 16))
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16, bias=False), nn.Linear(16, 16)
        self.o, self.n, self.m = nn.Linear(16, 16), nn.LayerNorm(16), nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.b(F.gelu(self.a(x)))).permute(0, 2, 1)
        x = x + self.places[: x.shape[1]]
        y = self.n(x)
        n, s, c = y.shape
        q = self.q(y).view(n, s, 4, -1).permute(0, 2, 1, 3) * 4**-0.25
        k = self.k(y).view(n, s, 4, -1).permute(0, 2, 3, 1) * 4**-0.25
        v = self.v(y).view(n, s, 4, -1).permute(0, 2, 1, 3)
        y = (F.softmax((q @ k).float(), -1).to(q.dtype) @ v).permute(0, 2, 1, 3).flatten(2)
        x = x + self.o(y)
        return x + self.mlp(self.m(x))


@network("speech")
def whisper_by_hand() -> Made:
    return signal(Listener(), 8, 24)


class Crnn(nn.Module):
    """A picture of a line of text: columns become steps."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d((4, 1)),
        )  # fmt: skip
        self.rnn, self.out = nn.LSTM(8, 8, bidirectional=True), nn.Linear(16, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x).squeeze(2).permute(2, 0, 1)
        return F.log_softmax(self.out(self.rnn(y)[0]), -1)


@network("speech")
def crnn() -> Made:
    return Made(Crnn(), {"x": torch.randn(2, 1, 8, 24)}, {"x": {0: "batch"}})


class Recommend(nn.Module):
    """Features of two kinds, their products in pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20, 8, mode="sum") for _ in range(3))
        self.bottom = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(14, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
        self.register_buffer("rows", torch.tril_indices(4, 4, -1)[0])
        self.register_buffer("columns", torch.tril_indices(4, 4, -1)[1])

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(x)
        sparse = [table(ids[:, n]) for n, table in enumerate(self.tables)]
        together = torch.stack([dense, *sparse], 1)
        pairs = torch.bmm(together, together.transpose(1, 2))[:, self.rows, self.columns]
        return self.top(torch.cat([dense, pairs], 1)).squeeze(-1)


@network("recommendation")
def dlrm() -> Made:
    return Made(
        Recommend(), {"x": torch.randn(3, 4), "ids": torch.randint(0, 20, (3, 3, 2))},
        {"x": {0: "batch"}, "ids": {0: "batch"}},
    )  # fmt: skip


class Cross(nn.Module):
    """Deep and cross."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(12)
        self.cross = nn.ModuleList(nn.Linear(12, 12) for _ in range(2))
        self.deep = nn.Sequential(
            nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 8)
        )
        self.out = nn.Linear(20, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x)
        y = x
        for layer in self.cross:
            y = x * layer(y) + y
        return torch.sigmoid(self.out(torch.cat([y, self.deep(x)], -1)))


@network("recommendation")
def deep_cross() -> Made:
    return Made(Cross(), {"x": torch.randn(3, 12)}, {"x": {0: "batch"}})


class Convolved(nn.Module):
    """A graph convolution: messages along edges, added where they arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)

    def layer(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges[0], edges[1]
        n = x.shape[0]
        degree = torch.zeros(n).index_add(0, target, torch.ones_like(target, dtype=x.dtype))
        scale = (degree + 1).rsqrt()
        messages = x[source] * (scale[source] * scale[target]).unsqueeze(-1)
        return x.index_add(0, target, messages)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.a(self.layer(x, edges)))
        return F.log_softmax(self.b(self.layer(x, edges)), -1)


@network("graph")
def graph_convolution() -> Made:
    return Made(
        Convolved(), {"x": torch.randn(7, 6), "edges": torch.randint(0, 7, (2, 11))},
        {"x": {0: "nodes"}, "edges": {1: "edges"}},
    )  # fmt: skip


class Points(nn.Module):
    """Points one by one, then the largest of each feature."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 16, 1),
            nn.BatchNorm1d(16),
        )  # fmt: skip
        self.turn = nn.Linear(16, 9)
        self.register_buffer("eye", torch.eye(3).view(1, 9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.max(self.body(x), 2, keepdim=True)[0].view(-1, 16)
        turn = (self.turn(y) + self.eye.repeat(x.shape[0], 1)).view(-1, 3, 3)
        return torch.bmm(x.transpose(2, 1), turn).transpose(2, 1)


@network("graph")
def pointnet() -> Made:
    return signal(Points(), 3, 20)


class Field(nn.Module):
    """Sines and cosines of coordinates, a deep MLP with a skip, a colour and a density."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(27, 16), nn.Linear(43, 16)
        self.density, self.colour = nn.Linear(16, 1), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [x]
        for n in range(4):
            parts += [torch.sin(2.0**n * math.pi * x), torch.cos(2.0**n * math.pi * x)]
        e = torch.cat(parts, -1)
        y = F.relu(self.a(e))
        y = F.relu(self.b(torch.cat([y, e], -1)))
        return torch.cat([torch.sigmoid(self.colour(y)), F.softplus(self.density(y))], -1)


@network("graph")
def radiance_field() -> Made:
    return Made(Field(), {"x": torch.randn(5, 3)}, {"x": {0: "points"}})


class Latents(nn.Module):
    """Learned latents that read a long input."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 16))
        self.cross = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm, self.out = nn.LayerNorm(16), nn.Linear(16, 5)
        self.mlp = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.latents.expand(x.shape[0], -1, -1)
        y = y + self.cross(self.norm(y), x, x, need_weights=False)[0]
        return self.out((y + self.mlp(y)).mean(1))


@network("transformer")
def perceiver() -> Made:
    return sequence(Latents(), 16)


@network("table")
def mlp() -> Made:
    return Made(
        nn.Sequential(
            nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 8),
            nn.LayerNorm(8), nn.SELU(), nn.Linear(8, 3), nn.Softmax(-1),
        ),
        {"input": torch.randn(3, 12)}, {"input": {0: "batch"}},
    )  # fmt: skip


class Preprocessed(nn.Module):
    """A network with what comes before and after it in one model."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("spread", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.conv = nn.Conv2d(3, 8, 3, 2)
        self.out = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = (x.permute(0, 3, 1, 2).float() / 255.0 - self.mean) / self.spread
        y = F.hardtanh(self.conv(y), 0.0, 6.0).mean((2, 3))
        scores = self.out(y).softmax(-1)
        best, at = scores.topk(2)
        return best, at, (scores > 0.5).any(-1)


@network("classification")
def preprocessing() -> Made:
    return Made(
        Preprocessed(), {"x": torch.randint(0, 255, (2, 12, 12, 3), dtype=torch.uint8)},
        {"x": {0: "batch"}},
    )  # fmt: skip
