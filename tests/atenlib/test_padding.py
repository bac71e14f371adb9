"""Padding by the operators that torch.nn.functional.pad hides, in every mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
PADS = {1: [2, 1], 2: [2, 1, 0, 3], 3: [2, 1, 0, 3, 1, 1]}


def image(rank: int, dtype: Any) -> Any:
    return torch.arange(2 * 4**rank * 3).reshape(2, 3, *[4] * rank).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_mirrors_and_edges(rank: int, dtype: Any) -> None:
    x = image(rank, dtype)
    check(getattr(aten, f"reflection_pad{rank}d").default, x, PADS[rank])
    check(getattr(aten, f"replication_pad{rank}d").default, x, PADS[rank])
    check(getattr(aten, f"replication_pad{rank}d").default, x, [-1, *PADS[rank][1:]])


@each("opset", [18, 23])
@each("pad", [[2, 1], [2, 1, 4, 0], [-1, 2, 1, -1], [0, 0, 0, 0, 1, 2]])
def test_other_end(pad: list[int], opset: int) -> None:
    """Wrapping around, with and without the mode of newer opsets."""
    rank = max(len(pad) // 2, 1)
    check(aten._pad_circular.default, image(rank, torch.float32), pad, opset=opset)


@each("mode", [0, 1, 2, 3])
def test_modes_by_number(mode: int) -> None:
    check(aten._pad_enum.default, image(2, torch.float32), [1, 2, 1, 0], mode)


@each("dtype", [torch.bool, torch.int8, torch.int64, torch.bfloat16, torch.complex64])
def test_constants(dtype: Any) -> None:
    x = image(2, dtype)
    check(aten.constant_pad_nd.default, x, [1, -1, 0, 2], 1)
    check(aten.constant_pad_nd.default, x, [0, 0])
    check(aten.pad.default, x, [1, 2, 3, 4, 1, 1], "constant", None)
