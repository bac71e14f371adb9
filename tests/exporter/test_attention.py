"""scaled_dot_product_attention: masks of all shapes, GQA, 3-D, rows masked entirely, all opsets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.nn import functional as F

from tests.exporter.programs import Program, Programs, check, operators, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
B, H, L, S, E = 2, 4, 3, 5, 8


def _qkv() -> tuple[Any, ...]:
    return randn(B, H, L, E), randn(B, H, S, E), randn(B, H, S, E)


@PROGRAMS(
    _qkv,
    dynamic={"q": {0: "b", 2: "l"}, "k": {0: "b", 2: "s"}, "v": {0: "b", 2: "s"}},
    ops={"Attention": 1},
)
def plain(q, k, v):
    """No mask."""
    return F.scaled_dot_product_attention(q, k, v)


@PROGRAMS(
    lambda: tuple(randn(B, H, L, E) for _ in range(3)), dynamic={n: {0: "b", 2: "l"} for n in "qkv"}
)
def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@PROGRAMS(_qkv)
def causal_of_two_lengths(q, k, v):
    """torch aligns the mask at the top left."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@PROGRAMS(_qkv)
def scaled(q, k, v):
    """A scale of one's own."""
    return F.scaled_dot_product_attention(q, k, v, scale=0.3)


@PROGRAMS(
    lambda: (randn(B, 8, L, E), randn(B, 2, S, E), randn(B, 2, S, E)),
    dynamic={"q": {0: "b", 2: "l"}, "k": {0: "b", 2: "s"}, "v": {0: "b", 2: "s"}},
)
def grouped_queries(q, k, v):
    """Four query heads share one key head."""
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@PROGRAMS(lambda: (randn(B, L, E), randn(B, S, E), randn(B, S, E)))
def three_dimensions(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@PROGRAMS(lambda: (randn(L, E), randn(S, E), randn(S, E)))
def two_dimensions(q, k, v):
    """Without a batch either."""
    return F.scaled_dot_product_attention(q, k, v)


@PROGRAMS(lambda: (randn(B, 2, H, L, E), randn(B, 2, H, S, E), randn(B, 2, H, S, E)))
def five_dimensions(q, k, v):
    """Two batch axes."""
    return F.scaled_dot_product_attention(q, k, v)


@PROGRAMS(lambda: (randn(B, H, L, E), randn(B, H, S, E), randn(B, H, S, 6)))
def other_value_size(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@PROGRAMS(
    lambda: (*_qkv(), torch.tensor([[True, True, False, True, True], [False] * 5, [True] * 5]))
)
def rows_masked_entirely(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@PROGRAMS(lambda: (randn(B, 6, E),), dynamic={"x": {0: "b", 1: "t"}})
@module_with(lambda: {"qkv": nn.Linear(E, 3 * E), "out": nn.Linear(E, E)})
def SelfAttention(self, x):
    """Projections, heads, causal attention, as language models write it."""
    b, t, _ = x.shape
    q, k, v = (y.view(b, t, 2, E // 2).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.out(y.transpose(1, 2).reshape(b, t, E))


@PROGRAMS(lambda: (randn(B, 5, E),), dynamic={"x": {0: "b", 1: "t"}})
@module_with(lambda: {"attention": nn.MultiheadAttention(E, 2, batch_first=True)})
def MultiHead(self, x):
    """nn.MultiheadAttention with weights."""
    return self.attention(x, x, x)


@PROGRAMS(
    lambda: (randn(L, B, E), randn(S, B, 6), randn(S, B, 4), torch.zeros(B, S, dtype=torch.bool))
)
class MultiHeadOfThree(nn.Module):
    """Keys and values of other sizes, a padding mask, bias rows."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(
            E, 2, kdim=6, vdim=4, add_bias_kv=True, add_zero_attn=True
        )

    def forward(self, q, k, v, padding):
        return self.attention(q, k, v, key_padding_mask=padding, need_weights=False)[0]


@pytest.mark.share(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_attention_gives_what_torch_gives(program: Program) -> None:
    """Values, types, shapes."""
    run(program)


MASKS = [
    (L, S),
    (1, S),
    (L, 1),
    (B, 1, L, S),
    (B, 1, 1, S),
    (1, 1, L, S),
    (1, H, L, S),
    (B, H, L, S),
    (B, H, 1, S),
]


def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """A mask as an input."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.share(5)
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", MASKS, ids=str)
def test_masks_of_every_shape_run(shape: tuple[int, ...], kind: str) -> None:
    """All that broadcast to [B, H, L, S], with the operator of opset 23."""
    torch.manual_seed(0)
    mask = randn(shape)
    given = mask > -0.5 if kind == "bool" else mask
    program = check(masked, (*_qkv(), given))
    assert operators(program).get("Attention", 0) <= 1


@pytest.mark.share(2)
@pytest.mark.parametrize("version", [18, 22, 23, 24, 26])
def test_masks_run_at_every_opset(version: int) -> None:
    """With and without the operator."""
    torch.manual_seed(0)
    mask = randn(B, 1, L, S) > 0
    dynamic = {
        "q": {0: "b", 2: "l"},
        "k": {0: "b", 2: "s"},
        "v": {0: "b", 2: "s"},
        "mask": {0: "b", 2: "l", 3: "s"},
    }
    check(masked, (*_qkv(), mask), None, dynamic, opset_version=version, sizes=({"*": 0},))
