"""Eigenvalues of matrices that are hard for the QR algorithm, in every mode."""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.sweep.unique_parts import of_eig
from tests.atenlib.one_op import outcomes

aten = torch.ops.aten


def agree(a: Any, *, apart: float = 1e-8, values_only: bool = False) -> None:
    """Eigenvalues and the matrix that they and the vectors make are PyTorch's, in every mode."""
    target = aten.linalg_eigvals.default if values_only else aten.linalg_eig.default
    theirs, modes = outcomes(target, a)
    for ours in modes.values():
        for x, y in zip(of_eig(ours), of_eig(theirs), strict=True):
            torch.testing.assert_close(x, y, rtol=apart, atol=apart)


def test_several_matrices_at_once() -> None:
    """They are done after different numbers of turns."""
    torch.manual_seed(0)
    a = torch.randn(3, 4, 4, dtype=torch.float64)
    a[1] = torch.diag(torch.arange(4.0))
    a[2] = 0
    agree(a)


def test_complex_matrices() -> None:
    torch.manual_seed(0)
    agree(torch.randn(4, 4, dtype=torch.complex128))


def test_shifts_that_leave_a_matrix_as_it_is() -> None:
    """Permutations in a circle: the last two rows say zero."""
    agree(torch.eye(3, dtype=torch.float64).roll(1, 0))
    agree(torch.eye(4, dtype=torch.float64).roll(1, 0))


def test_one_row() -> None:
    agree(torch.full((2, 1, 1), -3.0, dtype=torch.float64))


def test_values_that_come_twice() -> None:
    """Without as many vectors: the values are known to the root of the precision only."""
    block = torch.tensor([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -1.0]], dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q
    agree(turn @ block @ turn.T, apart=1e-5, values_only=True)


def test_vectors_have_length_one_and_a_real_largest_element() -> None:
    torch.manual_seed(0)
    _, modes = outcomes(aten.linalg_eig.default, torch.randn(5, 5))
    for _, vectors in modes.values():
        torch.testing.assert_close(vectors.norm(dim=0), torch.ones(5))
        largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
        assert bool((largest.imag.abs() < 1e-6).all())
