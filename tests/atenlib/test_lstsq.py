"""Least squares and inner operators of linear algebra that no OpInfo runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxwright.atenlib import find
from tests.atenlib.one_op import check, outcomes

aten = torch.ops.aten
TOL = (1e-3, 1e-4)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
def test_without_a_batch(driver: str) -> None:
    """Residuals too, which are there for one matrix of full rank."""
    torch.manual_seed(0)
    a, b = torch.randn(5, 3), torch.randn(5, 2)
    check(aten.linalg_lstsq.default, a, b, driver=driver, dynamic=(1,), tol=TOL)
    check(aten.linalg_lstsq.default, a.mT.contiguous(), b[:3], driver=driver, dynamic=(), tol=TOL)


def test_a_matrix_that_lacks_rank() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 3), torch.randn(5, 2)
    a[:, 2] = a[:, 1]
    theirs, _ = outcomes(aten.linalg_lstsq.default, a, b, driver="gelsd", dynamic=())
    assert theirs[1].shape == (0,)
    assert int(theirs[2]) == 2
    theirs[3][2] = 0  # the last singular value is a rounding error
    _, ours = outcomes(aten.linalg_lstsq.default, a, b, driver="gelsd", dynamic=())
    for results in ours.values():
        results[3][2] = 0
        for mine, yours in zip(results, theirs, strict=True):
            torch.testing.assert_close(mine, yours, rtol=1e-3, atol=1e-4)


def test_sizes_of_the_run() -> None:
    torch.manual_seed(0)
    check(aten.linalg_lstsq.default, torch.randn(2, 5, 3), torch.randn(2, 5, 2), dynamic=(0, 1),
          tol=TOL)  # fmt: skip


def test_rank_by_a_tolerance() -> None:
    """The smallest singular value is below a half of the greatest."""
    a, b = torch.diag(torch.tensor([4.0, 3.0, 1.0])), torch.ones(3, 1)
    check(aten.linalg_lstsq.default, a, b, 0.5, driver="gelsd", dynamic=(), tol=TOL)


def test_determinant_and_solution_with_their_factorization() -> None:
    """torch may factorize the transpose; signs, logarithms and solutions are the same."""
    torch.manual_seed(0)
    a, b = torch.randn(2, 4, 4), torch.randn(2, 4, 3)
    for target, args, count in (
        (aten._linalg_slogdet, (a,), 2),
        (aten._linalg_solve_ex, (a, b), 1),
    ):
        theirs, ours = outcomes(target.default, *args)
        for results in ours.values():
            for mine, yours in zip(results[:count], theirs, strict=False):
                torch.testing.assert_close(mine, yours, rtol=1e-3, atol=1e-4)
            p, lower, upper = torch.lu_unpack(results[count], results[count + 1])
            torch.testing.assert_close(p @ lower @ upper, a, rtol=1e-4, atol=1e-4)


def test_nuclear_norm() -> None:
    torch.manual_seed(0)
    check(aten.nuclear_norm.default, torch.randn(4, 3), tol=TOL)
    check(aten.nuclear_norm.dim, torch.randn(3, 2, 4), [0, 2], True, tol=TOL)


def test_errors_are_not_looked_for() -> None:
    entry: Any = find("aten::_linalg_check_errors")
    assert entry.body(None, None, "linalg.inv", is_matrix=True) == ()
