"""QR, eigenvectors and singular vectors: what they make up, and sizes known at run time."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxwright.atenlib import find
from tests.atenlib.one_op import check, outcomes
from tests.atenlib.sized import check_sized

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.complex64]


def near(a: torch.Tensor, b: torch.Tensor) -> None:
    bound = 1e-10 if a.dtype == torch.float64 else 2e-5
    torch.testing.assert_close(a, b, rtol=bound, atol=bound)


def is_orthonormal(x: torch.Tensor) -> None:
    near(x.mH @ x, torch.eye(x.shape[-1], dtype=x.dtype).expand(*x.shape[:-2], -1, -1))


def deficient(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A random matrix with two columns alike."""
    torch.manual_seed(0)
    a = torch.randn(*shape, dtype=dtype)
    a[..., -1] = a[..., 0]
    return a


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (2, 6, 3), (3, 6), (1, 1)])
@pytest.mark.parametrize("whole", [True, False])
def test_singular_vectors(dtype: torch.dtype, shape: tuple[int, ...], whole: bool) -> None:
    a = deficient(shape, dtype)
    u, s, vh = find("aten::linalg_svd").run(a, whole)
    theirs = torch.linalg.svd(a, full_matrices=whole)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in theirs]
    near(s, theirs.S)
    count = s.shape[-1]
    near((u[..., :count] * s[..., None, :]) @ vh[..., :count, :], a)
    is_orthonormal(u)
    is_orthonormal(vh.mH)


@pytest.mark.share(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("shape", [(5, 5), (2, 4, 4), (1, 1)])
def test_eigenvectors(dtype: torch.dtype, uplo: str, shape: tuple[int, ...]) -> None:
    a = deficient(shape, dtype)
    whole = torch.triu(a) if uplo == "U" else torch.tril(a)
    whole = whole + whole.mH - torch.diag_embed(a.diagonal(dim1=-2, dim2=-1)).mH
    whole = (whole + whole.mH) / 2
    arguments: tuple[Any, ...] = (a, uplo)
    for name in ("aten::linalg_eigh", "aten::_linalg_eigh"):
        values, vectors = find(name).run(*arguments)
        near(values, torch.linalg.eigvalsh(whole))
        near(vectors @ (values[..., None] * vectors.mH), whole)
        is_orthonormal(vectors)


def test_equal_eigenvalues() -> None:
    a = torch.ones(6, 6) + torch.eye(6)
    values, vectors = find("aten::linalg_eigh").run(a)
    near(values, torch.tensor([1.0, 1, 1, 1, 1, 7]))
    is_orthonormal(vectors)


def test_values_alone() -> None:
    a = deficient((4, 4), torch.float32)
    check(aten._linalg_eigh.default, a, compute_v=False, tol=(1e-4, 1e-5))
    check(aten._linalg_svd.default, a, compute_uv=False, tol=(1e-4, 1e-5))


def test_the_inner_decomposition_has_its_vectors() -> None:
    a = deficient((5, 3), torch.float32)
    _, ours = outcomes(aten._linalg_svd.default, a)
    for u, s, vh in ours.values():
        near(u @ (s[:, None] * vh), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflections(dtype: torch.dtype) -> None:
    packed, tau = torch.geqrf(deficient((5, 3), dtype))
    check(aten.orgqr.default, packed, tau, tol=(1e-4, 1e-5))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 4)])
def test_sizes_of_the_run(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    a = torch.randn(*shape)
    for mode in ("reduced", "complete", "r"):
        check_sized(aten.linalg_qr.default, a, mode)
    check_sized(aten.linalg_svdvals.default, a)
    square = a.mH @ a
    check_sized(aten.linalg_eigvalsh.default, square)
    check_sized(aten.matrix_exp.default, square / square.norm())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_exponential_in_half_precision_is_that_of_float32(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a = torch.randn(2, 3, 3).to(dtype)
    ours = find("aten::matrix_exp").run(a)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, torch.matrix_exp(a.float()).to(dtype))


@pytest.mark.parametrize("hermitian", [True, False])
def test_tolerances_of_pseudoinverse_and_rank(hermitian: bool) -> None:
    torch.manual_seed(0)
    q = torch.linalg.qr(torch.randn(2, 4, 4)).Q
    a = q @ (torch.tensor([4.0, 1.0, 0.3, 1e-9])[:, None] * q.mT)
    a = (a + a.mT) / 2
    each = torch.tensor([0.1, 0.5])
    for rcond in (0.1, 0.5):
        check(aten.linalg_pinv.default, a, rcond, hermitian, tol=(1e-4, 1e-4))
    check(aten.linalg_pinv.rcond_tensor, a, each, hermitian, tol=(1e-4, 1e-4))
    for tol in (0.5, 2.0):
        check(aten.linalg_matrix_rank.default, a, tol, hermitian)
    check(aten.linalg_matrix_rank.tol_tensor, a, each, hermitian)
    assert find("aten::linalg_matrix_rank").run(a, 0.5).tolist() == [2, 2]


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_rank_and_norms_with_sizes_of_the_run(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    q = torch.linalg.qr(torch.randn(5, 5)).Q
    a = q[: shape[0], : shape[1]] + torch.eye(*shape)
    check_sized(aten.linalg_matrix_rank.atol_rtol_float, a)
    check_sized(aten.linalg_matrix_norm.str_ord, a, "nuc")
    check_sized(aten.linalg_matrix_norm.default, a, 2)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, "fro", "nuc"])
def test_condition(p: Any) -> None:
    torch.manual_seed(0)
    a = torch.randn(2, 4, 4) + 3 * torch.eye(4)
    target = aten.linalg_cond.p_str if isinstance(p, str) else aten.linalg_cond.default
    check(target, a, p, tol=(1e-3, 1e-4))
