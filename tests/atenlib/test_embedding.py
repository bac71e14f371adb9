"""Bags of rows of a table: every mode, empty bags, weights, rows that do not count."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
TABLE = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
INDICES = torch.tensor([1, 5, 1, 9, 0, 3, 3])


def check_first(target: Any, *args: Any, **kwargs: Any) -> None:
    """Compare the first result; the others are notes for the gradient."""
    first = target(*args)[0]
    check(target, *args, expected=(first, None, None, None), dynamic=(0, 1, 2), **kwargs)


@pytest.mark.parametrize("name", ["embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("offsets", [[0], [0, 3], [0, 2, 2, 7], [0, 0, 5]])
@pytest.mark.parametrize("last", [False, True])
def test_bags(name: str, mode: int, offsets: list[int], last: bool) -> None:
    starts = torch.tensor([*offsets, 7] if last else offsets)
    target = getattr(aten, name).default
    check_first(target, TABLE, INDICES, starts, False, mode, False, None, last)


@pytest.mark.parametrize("opset", [18, 23, 25])
def test_weights_and_older_opsets(opset: int) -> None:
    weights = torch.linspace(-1, 1, 7)
    starts = torch.tensor([0, 3])
    for padding in (-1, 1):
        check_first(
            aten._embedding_bag.default,
            *(TABLE, INDICES, starts, False, 0, False, weights, False, padding),
            opset=opset,
        )


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [3, -7, 0, None])
def test_rows_that_do_not_count(mode: int, padding: int | None) -> None:
    """A bag may be left without any row."""
    starts = torch.tensor([0, 3, 5])
    target = aten.embedding_bag.padding_idx
    check_first(target, TABLE, INDICES, starts, False, mode, False, None, False, padding)


def test_indices_of_32_bits() -> None:
    starts = torch.tensor([0, 3], dtype=torch.int32)
    check_first(aten.embedding_bag.default, TABLE, INDICES.int(), starts)


def test_embedding_of_unknown_sizes() -> None:
    check(aten.embedding.default, TABLE, INDICES.reshape(7, 1), dynamic=(0, 1))
    check(aten.embedding.default, TABLE, torch.tensor(3), dynamic=(0,))


@each("p", [1.0, 2.0, 3.0, float("inf")])
def test_renorm(p: float) -> None:
    expected = aten.embedding_renorm_.default(TABLE.clone(), INDICES, 1.5, p)
    check(aten.embedding_renorm.default, TABLE, INDICES, 1.5, p, expected=expected, dynamic=(0, 1))


def test_one_hot() -> None:
    for classes in (-1, 12):
        check(aten.one_hot.default, INDICES.reshape(1, 7), classes, dynamic=(0,))
