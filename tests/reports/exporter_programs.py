"""Programs of public reports about exporting: a small one of our own for each, and inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as users write it
from torch import nn

from tests.harness.modules import module_with

B, S, H, W = {0: "batch"}, {0: "batch", 1: "length"}, {2: "height", 3: "width"}, {0: "n"}


@dataclass(frozen=True)
class Report:
    """One report.

    Fields:
        issue: repository and number.
        make: what is exported: a function, or a function without parameters that makes a module.
        inputs: from a number to inputs; 0 gives the example, 1 and 2 others that are compared.
        shapes: dynamic shapes; None for fixed ones.
        is_module: whether `make` makes a module.
        slow: whether it is left to the slow run.
        near: the absolute difference that is allowed.
        silent: whether there is nothing to warn of.
        options: of `export`.
    """

    issue: str
    make: Callable[..., Any]
    inputs: Callable[[int], tuple[Any, ...]]
    shapes: Any = None
    is_module: bool = False
    slow: bool = False
    near: float = 1e-5
    silent: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def rows(n: int, *rest: int, first: int = 4) -> Any:
    """Random numbers of a length that depends on the case."""
    return torch.randn(first + 3 * n, *rest)


def masked_scatter(x: Any, source: Any) -> Any:
    return x.masked_scatter((x[:, :1] > 0).expand_as(x), source)


def columns(z: Any, v: Any) -> Any:
    return z.index_put((torch.arange(2)[:, None], v), z[:2, :2])


def written_by_masks(x: Any) -> Any:
    y, w = x.clone(), x * 2
    y[y < 0] = 0
    w[w > 0] = torch.sqrt(w[w > 0])
    w[:, [0, 2]] = 1.5
    return y, w


def kept_rows(x: Any) -> Any:
    places = (x[:, 0] > 0).nonzero().squeeze(1)
    fixed = torch.zeros(16, 3)
    return fixed.index_copy_(0, torch.arange(places.shape[0]), x[places])


@module_with(
    lambda: {"there": nn.LSTM(3, 4, batch_first=True), "back": nn.LSTM(3, 4, batch_first=True)}
)
def BothWays(self, x: Any) -> Any:
    """A bidirectional LSTM, written by hand."""
    back, _ = self.back(x.flip(1))
    return torch.cat([self.there(x)[0], back.flip(1)], -1)


def resized(x: Any) -> Any:
    return (
        F.interpolate(x, size=(7, 5), mode="bicubic", antialias=True),
        F.interpolate(x, scale_factor=1.5, mode="bilinear", antialias=True),
    )


@module_with(lambda: {"rnn": nn.GRU(3, 4, batch_first=True)})
def Packed(self, x: Any, lengths: Any) -> Any:
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, last = self.rnn(packed)
    return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], last


def packed_inputs(n: int) -> Any:
    lengths = [torch.tensor([5, 2]), torch.tensor([1, 7, 3]), torch.tensor([4, 4, 2, 3])][n]
    return torch.randn(len(lengths), int(lengths.max()), 3), lengths


def to_the_size_of(x: Any, y: Any) -> Any:
    return F.interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=False) + y


def softmax_of_view(x: Any) -> Any:
    return F.softmax(x.view(x.size(1), -1), dim=1)


def spectrum(x: Any) -> Any:
    z = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)
    return z.abs(), z.angle().cos() * z.abs()


def filtered(x: Any, k: Any) -> Any:
    z = torch.fft.rfft2(x) * torch.fft.rfft2(k)
    return torch.fft.irfft2(z, s=x.shape[-2:]), torch.fft.fftshift(x, dim=(-1,))


def masked_attention(q: Any, k: Any, mask: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, k, attn_mask=mask, enable_gqa=True)


def causal(q: Any, k: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, k, is_causal=True)


def listed(x: Any) -> Any:
    return x[0] + x[1].sum(0), x[1] * 2


def messages(x: Any, edges: Any) -> Any:
    source, target = edges[0], edges[1]
    weight = (x[source] * x[target]).sum(-1).exp()
    total = torch.zeros(x.shape[0]).index_add(0, target, weight)
    made = torch.zeros_like(x).index_add(0, target, x[source] * weight[:, None])
    return made / (total[:, None] + 1e-6), torch.bincount(target, minlength=12)


def graph(n: int) -> Any:
    edges = [[[0, 1, 2, 3], [1, 2, 3, 0]], [[0, 5], [5, 5]], [[], []]][n]
    return torch.randn(4 + 2 * n, 3), torch.tensor(edges, dtype=torch.int64)


@module_with(
    lambda: {"gate": nn.Linear(4, 3), "experts": nn.ModuleList(nn.Linear(4, 4) for _ in range(3))}
)
def Experts(self, x: Any) -> Any:
    weights, chosen = self.gate(x).softmax(-1).topk(2)
    mask = F.one_hot(chosen, 3).permute(2, 1, 0)
    y = torch.zeros_like(x)
    for n, expert in enumerate(self.experts):
        slot, row = torch.where(mask[n])
        y.index_add_(0, row, expert(x[row]) * weights[row, slot, None])
    return y


@module_with(lambda: {"embed": nn.Embedding(11, 6), "head": nn.Linear(6, 11)})
def Decodes(self, start: Any) -> Any:
    ids = start
    for _ in range(6):
        token = self.head(self.embed(ids).mean(0)).argmax()[None]
        ids = torch.cat([ids, token])
        if token == 3:
            break
    return ids


class Windows(nn.Module):
    """Shifted windows with padding, at any size."""

    def forward(self, x: Any) -> Any:
        height, width = x.shape[1], x.shape[2]
        x = F.pad(x, (0, 0, 0, -width % 4, 0, -height % 4))
        x = torch.roll(x, (-2, -2), (1, 2))
        b, h, w, c = x.shape
        x = x.view(b, h // 4, 4, w // 4, 4, c).transpose(2, 3).reshape(-1, 16, c)
        x = F.scaled_dot_product_attention(x, x, x)
        x = x.view(b, h // 4, w // 4, 4, 4, c).transpose(2, 3).reshape(b, h, w, c)
        return torch.roll(x, (2, 2), (1, 2))[:, :height, :width]


def rotary(x: Any) -> Any:
    angles = torch.outer(torch.arange(x.shape[1]).float(), 1 / 10 ** torch.arange(0, 1, 0.25))
    turned = torch.view_as_complex(x.reshape(*x.shape[:2], 4, 2)) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).flatten(2)


def parametrized() -> Any:
    norm = nn.utils.parametrizations
    return nn.Sequential(
        norm.weight_norm(nn.Linear(4, 4)),
        norm.spectral_norm(nn.Linear(4, 4)),
        norm.orthogonal(nn.Linear(4, 4)),
    )


def looped(x: Any) -> Any:
    def body(n: Any, y: Any) -> Any:
        y = torch.cond(y.sum() > 10, lambda z: z - 1, lambda z: z * 2, (y,))
        return n + 1, y

    return torch._higher_order_ops.while_loop(lambda n, y: n < 5, body, (torch.tensor(0), x))


def grid_head(x: Any) -> Any:
    b, _, h, w = x.shape
    y = x.permute(0, 2, 3, 1).sigmoid().clone()
    line, column = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    y[..., 0] = (y[..., 0] * 2 - 0.5 + column) * 8
    y[..., 1] = (y[..., 1] * 2 - 0.5 + line) * 8
    y[..., 2:4] = (y[..., 2:4] * 2) ** 2
    return torch.where(y[..., 4:] > 0.5, y, torch.zeros_like(y)).view(b, -1, 5)


class Bags(nn.Module):
    def __init__(self, mode: str, last: bool) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=last)

    def forward(self, items: Any, offsets: Any) -> Any:
        return self.bag(items, offsets)


def bags(n: int) -> Any:
    offsets = [[0, 1, 4], [0, 0, 4, 6], [0, 1]][n]
    return torch.randint(0, 10, (offsets[-1],)), torch.tensor(offsets)


def bags_that_end(n: int) -> Any:
    offsets = [[0, 1, 4], [0], [0, 0, 2]][n]
    return torch.tensor([[1, 2, 0, 9], [1], [3, 4, 5]][n]), torch.tensor(offsets)


def binned(x: Any, edges: Any) -> Any:
    values, places = x.sort(stable=True)
    kept, counts = torch.unique(x.round(), return_counts=True)
    return torch.bucketize(x, edges), values, places, kept, counts, x.kthvalue(2).values


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)
        self.same = nn.Conv2d(3, 2, 3, padding="same", padding_mode="reflect")
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.same(self.up(x)))
        return x, F.adaptive_avg_pool2d(x, 1)


def by_sequence(x: Any, ends: Any) -> Any:
    which = torch.bucketize(torch.arange(x.shape[0]), ends[1:], right=True)
    same = which[:, None] == which[None, :]
    return (x @ x.T).masked_fill(~same, float("-inf")).softmax(-1) @ x


def sequences(n: int) -> Any:
    ends = [[0, 2, 6], [0, 1, 2, 9], [0, 3]][n]
    return torch.randn(ends[-1], 3), torch.tensor(ends)


def norms() -> Any:
    return nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.BatchNorm2d(4))


@module_with(lambda: {"mean": nn.Buffer(torch.zeros(3))})
def Stateful(self, x: Any) -> Any:
    mean = self.mean * 0.9 + x.mean(0) * 0.1
    return x - mean


def run_time_slices(x: Any, start: Any) -> Any:
    n = start.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x[n:].sum(0)


def derivatives(x: Any) -> Any:
    def f(y: Any) -> Any:
        return (y.sin() * y).sum()

    return torch.func.vmap(torch.func.grad(f))(x), torch.func.vmap(torch.func.jacrev(torch.sin))(x)


def distances(x: Any, y: Any) -> Any:
    return (
        torch.cdist(x, y), F.cosine_similarity(x[:, None], y[None], dim=-1),
        torch.logsumexp(x, -1), torch.linalg.norm(y, dim=-1),
    )  # fmt: skip


def in_place_views(x: Any) -> Any:
    y = x.clone()
    y.t()[0].add_(1)
    y.view(-1)[::2] *= 2
    return y


def empty(x: Any) -> Any:
    return x[:0], None, x / 0


@module_with(lambda: {"cell": nn.GRUCell(3, 4)})
def OverTime(self, x: Any) -> Any:
    h = torch.zeros(x.shape[1], 4)
    for step in x:
        h = self.cell(step, h)
    return h


def mixed(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.T
    again = torch.utils.checkpoint.checkpoint(torch.sin, x.T @ x, use_reentrant=False)
    return y.float() + again.sum()


class Straight(torch.autograd.Function):
    """Rounded forwards, the identity backwards."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class Encoder(nn.Module):
    """With gradients PyTorch does not take its fast path, which changes padded rows."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, x: Any, mask: Any) -> Any:
        return self.encoder(x, src_key_padding_mask=mask)


def padded(n: int) -> Any:
    lengths = torch.arange(2 + n)[:, None] + 2
    return torch.randn(2 + n, 4 + n, 8), torch.arange(4 + n)[None] >= lengths


def picture(n: int, channels: int = 4) -> Any:
    return torch.randn(1, channels, 8 + 3 * n, 6 + 2 * n)


REPORTS = {
    "masked_scatter": Report(
        "pytorch/pytorch#186146", masked_scatter,
        lambda n: (rows(n, 3), torch.randn(40, 3)), (W, None),
    ),
    "masks": Report("pytorch/pytorch#126856", written_by_masks, lambda n: (rows(n, 3),), (W,)),
    "columns": Report(
        "pytorch/pytorch#119363", columns,
        lambda n: (rows(n, 3), torch.tensor([[0, 2], [1, 0]])), (W, None),
    ),
    "index_copy": Report("pytorch/pytorch#158739", kept_rows, lambda n: (rows(n, 3),), (W,)),
    "both_ways": Report(
        "pytorch/pytorch#191855", BothWays, lambda n: (torch.randn(2, 4 + 3 * n, 3),),
        ({1: "time"},), is_module=True,
    ),
    "antialias": Report("pytorch/pytorch#177138", resized, lambda n: (picture(n, 2),), (H,)),
    "packed": Report("pytorch/pytorch#112044", Packed, packed_inputs, (S, B), is_module=True),
    "packed_static": Report("pytorch/pytorch#62240", Packed, lambda n: packed_inputs(0),
                            is_module=True),
    "size_of_another": Report(
        "pytorch/pytorch#124884", to_the_size_of, lambda n: (picture(n, 2), picture(n + 1, 2)),
        ({2: "a", 3: "b"}, {2: "c", 3: "d"}),
    ),
    "softmax_of_view": Report(
        "pytorch/pytorch#126607", softmax_of_view,
        lambda n: (torch.randn(2, 3 + n, 4),), ({1: "m"},),
    ),
    "stft": Report("pytorch/pytorch#113504", spectrum, lambda n: (torch.randn(2 + n, 32 + 8 * n),),
                   ({0: "batch", 1: "time"},), slow=True),
    "fft": Report("pytorch/pytorch#147854", filtered, lambda n: (picture(n, 1), picture(n, 1)),
                  (H, H), near=1e-3,),
    "masked_rows": Report(
        "pytorch/pytorch#159973", masked_attention,
        lambda n: (torch.randn(1, 4, 3 + n, 8), torch.randn(1, 2, 5 + n, 8),
                   torch.rand(1, 1, 3 + n, 5 + n) > 0.3),
        ({2: "q"}, {2: "k"}, {2: "q", 3: "k"}),
    ),
    "causal": Report("microsoft/onnxscript#1800", causal,
                     lambda n: (torch.randn(1, 2, 3 + n, 8), torch.randn(1, 2, 5 + 2 * n, 8)),
                     ({2: "q"}, {2: "k"}), options={"opset_version": 18}),
    "identity": Report("pytorch/pytorch#173076", lambda x: x, lambda n: (rows(n, 2),), (W,),
                       options={"input_names": ["given"], "output_names": ["result"]}),
    "pixel_unshuffle": Report("pytorch/pytorch#186080", lambda: nn.PixelUnshuffle(2),
                              lambda n: (torch.randn(1, 2, 4 + 2 * n, 6),), is_module=True),
    "lists": Report("pytorch/pytorch#140748", listed, lambda n: ([rows(n, 3), rows(n, 3)],),
                    ([W, W],), options={"input_names": ["a", "b"]}),
    "edges": Report("pytorch/pytorch#124625", messages, graph, ({0: "nodes"}, {1: "edges"})),
    "einsum": Report("pytorch/pytorch#124625 (einsum)",
                     lambda a, b, c: torch.einsum("bi,bj,ijk->bk", a, b, c),
                     lambda n: (rows(n, 3), rows(n, 2), torch.randn(3, 2, 5)), (W, W, None)),
    "experts": Report("huggingface/transformers (routing by one_hot)", Experts,
                      lambda n: (rows(n, 4),), (W,), is_module=True),
    "decoding": Report("pytorch/pytorch#118740", Decodes,
                       lambda n: (torch.tensor([[1], [2, 5, 3], [9, 9]][n]),),
                       ({0: "start"},), is_module=True, slow=True),
    "windows": Report("microsoft/Swin-Transformer (windows at any size)", Windows,
                      lambda n: (torch.randn(1, 6 + 3 * n, 5 + 4 * n, 4),),
                      ({1: "height", 2: "width"},), is_module=True),
    "rotary": Report("pytorch/pytorch#49793", rotary, lambda n: (torch.randn(2, 3 + n, 8),),
                     ({1: "length"},)),
    "parametrizations": Report("pytorch/pytorch (parametrizations)", parametrized,
                               lambda n: (rows(n, 4),), (W,), is_module=True),
    "while_and_cond": Report("pytorch/pytorch (while_loop with cond inside)", looped,
                             lambda n: (torch.tensor([1.0, -3.0, 50.0])[n] * torch.ones(2),)),
    "grid": Report("pytorch/pytorch#170180", grid_head, lambda n: (picture(n, 5),), (H,)),
    "bags_sum": Report("pytorch/pytorch#58567", lambda: Bags("sum", True), bags,
                       ({0: "items"}, {0: "offsets"}), is_module=True),
    "bags_end_early": Report("pytorch/pytorch (offsets that end before the items)",
                             lambda: Bags("sum", True), bags_that_end,
                             ({0: "items"}, {0: "offsets"}), is_module=True),
    "bags_mean": Report("pytorch/pytorch#44693", lambda: Bags("mean", False),
                        lambda n: (bags(n)[0], bags(n)[1][:-1]),
                        ({0: "items"}, {0: "offsets"}), is_module=True),
    "distances": Report("pytorch/pytorch (cdist and norms)", distances,
                        lambda n: (rows(n, 3), rows(n + 1, 3)), ({0: "n"}, {0: "m"})),
    "binned": Report("pytorch/pytorch (bucketize, sort, unique)", binned,
                     lambda n: (rows(n), torch.randn(3 + n).sort().values),
                     ({0: "n"}, {0: "edges"})),
    "images": Report("pytorch/pytorch (ConvTranspose, reflect, ceil_mode)", Images,
                     lambda n: (picture(n, 2),), (H,), is_module=True),
    "sequences": Report("Dao-AILab/flash-attention (cumulative lengths)", by_sequence, sequences,
                        ({0: "rows"}, {0: "ends"})),
    "repeated": Report("pytorch/pytorch (repeat_interleave)",
                       lambda x, r: torch.repeat_interleave(x, r, dim=0),
                       lambda n: (rows(n, 2, first=3), torch.arange(3 + 3 * n) % 3), (W, W)),
    "group_norm_2d": Report("pytorch/pytorch#130108", lambda: nn.GroupNorm(2, 4),
                            lambda n: (rows(n, 4),), (W,), is_module=True,
                            options={"opset_version": 13}),
    "group_norm": Report("pytorch/pytorch#121612", norms, lambda n: (picture(n),), (H,),
                         is_module=True, options={"opset_version": 18}),
    "norms": Report("pytorch/pytorch#169178", norms, lambda n: (picture(n),), (H,),
                    is_module=True, options={"opset_version": 21}),
    "derivatives": Report("pytorch/pytorch (vmap and jacrev)", derivatives,
                          lambda n: (rows(n, 3),), (W,)),
    "state": Report("pytorch/pytorch (a buffer that is read)", Stateful, lambda n: (rows(n, 3),),
                    (W,), is_module=True),
    "slices": Report("pytorch/pytorch (slices by run-time numbers)", run_time_slices,
                     lambda n: (rows(n, 3), torch.tensor(n)), (W, None)),
    "views": Report("pytorch/pytorch (in-place writes to views)", in_place_views,
                    lambda n: (rows(n, 3),), (W,)),
    "empty": Report("pytorch/pytorch (empty, None and infinite results)", empty,
                    lambda n: (rows(n, 3),), (W,)),
    "over_time": Report("pytorch/pytorch (a loop over time)", OverTime,
                        lambda n: (torch.randn(4 + 2 * n, 2, 3),), ({0: "time"},), is_module=True),
    "autocast": Report("pytorch/pytorch (autocast and checkpoint)", mixed,
                       lambda n: (torch.randn(4, 3),)),
    "autograd_function": Report("pytorch/pytorch (autograd.Function)", Straight.apply,
                                lambda n: (rows(n, 3),), (W,)),
    "encoder": Report("pytorch/pytorch#110557", Encoder, padded,
                      ({0: "batch", 1: "length"}, {0: "batch", 1: "length"}), is_module=True),
    "bags_verified": Report("pytorch/pytorch (offsets under verify)", lambda: Bags("max", True),
                            bags, ({0: "items"}, {0: "offsets"}), is_module=True,
                            options={"verify": True}),
    "binned_verified": Report("pytorch/pytorch (edges under verify)", torch.bucketize,
                              lambda n: (rows(n), torch.randn(3 + n).sort().values),
                              ({0: "n"}, {0: "edges"}), options={"verify": True}),
    "half": Report("pytorch/pytorch (half precision)", lambda: nn.Linear(3, 4).half(),
                   lambda n: (rows(n, 3).half(),), (W,), is_module=True),
}  # fmt: skip
