"""flex_attention: functions of scores and masks, at other batch sizes and lengths."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import (
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

import onnxwright as ow
from tests.exporter.programs import Program, Programs, operators, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
HEADS, SIZE = 4, 8
ALIKE = {name: {0: "b", 2: "t"} for name in "qkv"}
LONGER = {"q": {0: "b", 2: "t"}, "k": {0: "b", 2: "s"}, "v": {0: "b", 2: "s"}}
ROWS = {**ALIKE, "rows": {0: "b"}}


def _heads(
    batch: int = 2, steps: int = 6, groups: int = HEADS, dtype: Any = torch.float32
) -> tuple[Any, ...]:
    return (
        randn(batch, HEADS, steps, SIZE, dtype=dtype),
        randn(batch, groups, steps, SIZE, dtype=dtype),
        randn(batch, groups, steps, SIZE, dtype=dtype),
    )


def _block_mask(mask: Any, q: Any, k: Any, batch: Any = None, heads: Any = None) -> Any:
    return create_block_mask(mask, batch, heads, q.shape[2], k.shape[2], device="cpu")


@PROGRAMS(_heads, dynamic=ALIKE, ops={"Attention": 1})
def plain(q, k, v):
    """Attention alone is one node."""
    return flex_attention(q, k, v)


@PROGRAMS(lambda: (*_heads()[:1], *_heads(steps=9)[1:]), dynamic=LONGER, ops={"Attention": 1})
def causal(q, k, v):
    behind = k.shape[2] - q.shape[2]
    mask = _block_mask(lambda b, h, i, j: i + behind >= j, q, k)
    return flex_attention(q, k, v, block_mask=mask)


@PROGRAMS(lambda: _heads(groups=2), dynamic=ALIKE)
def sliding_window_of_groups(q, k, v):
    """Windows of each head, numbers from closures; heads share keys."""
    width = 2
    mask = _block_mask(lambda b, h, i, j: (i >= j) & (i - j <= width + h), q, k, None, HEADS)
    return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)


@PROGRAMS(_heads, dynamic=ALIKE)
class Alibi(nn.Module):
    """A score function that reads a buffer by head and place, and weights that learn."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(SIZE, SIZE)
        self.register_buffer("slope", 0.5 ** torch.arange(1, HEADS + 1))

    def forward(self, q, k, v):
        q = self.project(q)
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (j - i) * self.slope[h])


@PROGRAMS(_heads, dynamic=ALIKE)
@module_with(lambda: {"cap": 1.5})
def Softcapped(self, q, k, v):
    """A number of the module, a scale, and a mask beside the scores."""
    mask = _block_mask(lambda b, h, i, j: i >= j, q, k)

    def cap(score, b, h, i, j):
        return torch.tanh(score / self.cap) * self.cap

    return flex_attention(q, k, v, score_mod=cap, block_mask=mask, scale=0.7)


@PROGRAMS(
    lambda: (*_heads(), torch.tensor([[0, 0, 1, 1, 1, 2]] * 2)),
    dynamic={**ALIKE, "documents": {0: "b", 1: "t"}},
)
def documents(q, k, v, documents):
    """A mask that reads an input twice."""

    def within(b, h, i, j):
        return (documents[b, i] == documents[b][j]) & (i >= j)

    return flex_attention(q, k, v, block_mask=_block_mask(within, q, k, q.shape[0]))


@PROGRAMS(lambda: (*_heads(), torch.tensor([2, 0])), dynamic=ROWS)
def padded_rows(q, k, v, rows):
    """Queries that see nothing give zeros; a number that only the run knows."""
    longest = rows.max().item()
    mask = _block_mask(lambda b, h, i, j: (j < rows[b]) & (i <= longest), q, k, q.shape[0])
    return flex_attention(q, k, v, block_mask=mask)


@PROGRAMS(lambda: (*_heads(), torch.tensor([2, 3])), dynamic=ROWS)
def prefix(q, k, v, rows):
    """Two masks joined, and scores below a bias of computed values."""
    mask = or_masks(lambda b, h, i, j: j < rows[b], lambda b, h, i, j: i >= j)
    bias = q.mean(-1)

    def add(score, b, h, i, j):
        return torch.where(i - j > 2, score * 0.5, score + bias[b, h][i])

    return flex_attention(q, k, v, score_mod=add, block_mask=_block_mask(mask, q, k, q.shape[0]))


@PROGRAMS(lambda: _heads(dtype=torch.float16), dynamic=ALIKE)
def half_precision_with_statistics(q, k, v):
    """Scores in float32, and their log-sum-exp."""
    out, statistics = flex_attention(
        q,
        k,
        v,
        score_mod=lambda s, b, h, i, j: s - (i - j).abs() * 0.1,
        return_aux=flex.AuxRequest(lse=True),
    )
    return out, statistics.lse


@PROGRAMS(_heads, dynamic=ALIKE)
def dense_mask(q, k, v):
    """A mask for another operator."""
    mask = create_mask(lambda b, h, i, j: i >= j, 1, 1, q.shape[2], k.shape[2], device="cpu")
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@PROGRAMS(_heads, dynamic={name: {0: "b"} for name in "qkv"})
class MaskMadeBefore(nn.Module):
    """A mask of the module, with a tensor of its own."""

    def __init__(self):
        super().__init__()
        part = torch.tensor([0, 0, 0, 1, 1, 1])
        self.mask = create_block_mask(
            lambda b, h, i, j: part[i] == part[j], None, None, 6, 6, device="cpu"
        )

    def forward(self, q, k, v):
        return flex_attention(q, k, v, block_mask=self.mask)


@PROGRAMS(_heads)
def blocks_that_are_read(q, k, v):
    """The blocks of a mask are values of the program."""
    mask = _block_mask(lambda b, h, i, j: i >= j, q, k)
    return flex_attention(q, k, v, block_mask=mask), mask.kv_num_blocks, mask[0].kv_indices


@PROGRAMS(_heads, dynamic=ALIKE, options={"capture": "strict"})
def traced_by_dynamo(q, k, v):
    """The operator itself is in the program; a number from a closure."""
    slope = 0.25
    return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (j - i) * slope)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.share(5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    run(program)


def test_blocks_that_nothing_reads_are_not_computed() -> None:
    program = ow.export(causal, _heads(), dynamic_shapes=ALIKE, opset_version=20)
    found = operators(program)
    assert not {"ReduceSum", "TopK", "ScatterElements", "ScatterND", "Pad"} & set(found)
