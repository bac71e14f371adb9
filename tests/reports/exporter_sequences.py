"""Programs of public reports about sequences of several lengths: padding, and decoding by steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.harness.modules import module_with
from tests.reports.exporter_programs import Report

pad_sequence = nn.utils.rnn.pad_sequence


class Padded(nn.Module):
    """Sequences padded to the longest."""

    def forward(self, a: Any, b: Any) -> Any:
        return pad_sequence([a, b], batch_first=True, padding_value=-1.0)


def two_lengths(n: int) -> Any:
    first, second = [(4, 3), (9, 2), (1, 6)][n]
    return torch.randn(first, 2), torch.randn(second, 2)


@module_with(lambda: {"embedded": nn.Embedding(9, 8), "out": nn.Linear(8, 9)})
def Step(self, ids: Any, mask: Any, past: Any) -> Any:
    """Attention of new tokens over a cache, as a decoder takes one step."""
    x = self.embedded(ids)
    kept = torch.cat([past, x], 1)
    if mask.shape[1] > kept.shape[1]:
        mask = mask[:, : kept.shape[1]]
    scores = x @ kept.mT + torch.where(mask[:, None] > 0, 0.0, -1e9)
    return self.out(scores.softmax(-1) @ kept), kept


def step(n: int) -> Any:
    batch, new, past = [(1, 1, 4), (2, 3, 2), (1, 1, 9)][n]
    ids, mask = torch.arange(batch * new).view(batch, new), torch.ones(batch, past + new)
    return ids, mask, torch.randn(batch, past, 8)


SEQUENCES = {
    "padded": Report("pytorch/pytorch#127153", Padded, two_lengths, ({0: "a"}, {0: "b"}),
                     is_module=True, silent=True, options={"strict": True, "verify": True}),
    "padded_one": Report(
        "pytorch/pytorch#127153 (one length)", Padded,
        lambda n: (two_lengths(n)[0], torch.randn(3, 2)), ({0: "a"}, None),
        is_module=True, silent=True, options={"strict": True, "verify": True},
    ),
    "padded_same": Report(
        "pytorch/pytorch#127153 (one name)", Padded,
        lambda n: (torch.randn(4 + n, 2), torch.randn(4 + n, 2)), ({0: "n"}, {0: "n"}),
        is_module=True, silent=True,
    ),
    "one_step": Report(
        "pytorch/pytorch#172561", Step, step,
        ({0: "b", 1: "t"}, {0: "b", 1: "p+t"}, {0: "b", 1: "p"}), is_module=True, silent=True,
    ),
}  # fmt: skip
