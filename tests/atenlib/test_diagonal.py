"""Diagonals of sizes that only the run knows, and those that no OpInfo runs."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten


@each("shape", [(3, 3), (3, 5), (7, 2), (3, 3, 3), (2, 2, 2, 2)])
@each("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    x = torch.randn(shape)
    expected = x.clone().fill_diagonal_(7.5, wrap)
    check(aten.fill_diagonal_.default, x, 7.5, wrap, expected=expected)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (2, 3, 4)])
@pytest.mark.parametrize("offset", [-4, -1, 0, 1, 3])
def test_diagonals_of_unknown_sizes(shape: tuple[int, ...], offset: int) -> None:
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    rows, columns = shape[-2:]
    if -rows <= offset <= columns:
        line = aten.diagonal.default(x, offset, -2, -1)
        check(aten.diagonal.default, x, offset, -2, -1)
        check(aten.diagonal_scatter.default, x, line + 50, offset, -2, -1, dynamic=(0, 1))
        check(aten.diag_embed.default, line, offset)


def test_trace_of_unknown_sizes() -> None:
    check(aten.trace.default, torch.randn(4, 3))
    check(aten.trace.default, torch.arange(12, dtype=torch.int32).reshape(3, 4))


def test_a_real_source_in_a_complex_tensor() -> None:
    x = torch.randn(3, 3, dtype=torch.complex64)
    check(aten.diagonal_scatter.default, x, torch.randn(3))
    check(aten.select_scatter.default, x, torch.randn(3), 0, 1)
    check(aten.slice_scatter.default, x, torch.randn(1, 3), 0, 1, 2)
