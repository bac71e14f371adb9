"""LDL factorizations of matrices that need exchanges and blocks of two, and systems by them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check

aten = torch.ops.aten
CLOSE = (1e-9, 1e-9)


def matrices(dtype: Any, hermitian: bool, *shape: int) -> Any:
    """Neither positive nor negative; zeros on the diagonal ask for blocks of two."""
    torch.manual_seed(1)
    a = torch.randn(*shape, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    a[..., 0, 0] = a[..., 2, 2] = 0
    return a


KINDS = [(torch.float64, False), (torch.complex128, False), (torch.complex128, True)]


@pytest.mark.parametrize(("dtype", "hermitian"), KINDS)
def test_factors_and_pivots_are_those_of_lapack(dtype: Any, hermitian: bool) -> None:
    a = matrices(dtype, hermitian, 7, 6, 6)
    pivots = torch.linalg.ldl_factor(a, hermitian=hermitian).pivots
    assert bool((pivots < 0).any()), "no block of two"
    assert len({tuple(p) for p in pivots.tolist()}) > 2
    check(aten.linalg_ldl_factor.default, a, hermitian=hermitian, dynamic=(0,), tol=CLOSE)
    check(aten.linalg_ldl_factor_ex.default, a[0], hermitian=hermitian, dynamic=(), tol=CLOSE)


@pytest.mark.parametrize(("dtype", "hermitian"), KINDS)
def test_systems(dtype: Any, hermitian: bool) -> None:
    factors = torch.linalg.ldl_factor(matrices(dtype, hermitian, 7, 6, 6), hermitian=hermitian)
    options: dict[str, Any] = {"hermitian": hermitian, "tol": CLOSE}
    for b in (torch.randn(7, 6, 2, dtype=dtype), torch.randn(6, 2, dtype=dtype)):
        check(aten.linalg_ldl_solve.default, *factors, b, dynamic=(0, 1, 2), **options)
