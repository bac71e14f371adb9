"""Determinants and inverses that no OpInfo runs, and sizes known at run time."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check, outcomes

aten = torch.ops.aten
TOL = (1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("front", [(), (2,)])
def test_square_matrices(dtype: torch.dtype, front: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    a = torch.randn(*front, 4, 4, dtype=dtype)
    b = torch.randn(*front, 4, 2, dtype=dtype)
    for target in (aten.det, aten.slogdet, aten.inverse):
        check(target.default, a, tol=TOL)
    check(aten.linalg_solve.default, a, b, tol=TOL)
    check(aten.matrix_power.default, a, -3, tol=(1e-3, 1e-3))
    check(aten.linalg_cholesky.default, a @ a.mH + torch.eye(4), tol=TOL)


def test_determinant_with_its_factorization() -> None:
    """torch factorizes the transpose, as it finds fit; the determinant is the same."""
    a = torch.randn(2, 4, 4)
    theirs, ours = outcomes(aten._linalg_det.default, a)
    for result, packed, pivots in ours.values():
        torch.testing.assert_close(result, theirs[0], rtol=1e-4, atol=1e-4)
        p, lower, upper = torch.lu_unpack(packed, pivots)
        torch.testing.assert_close(p @ lower @ upper, a, rtol=1e-4, atol=1e-4)
