"""Fourier transforms as decompositions leave them, and the frequencies."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
TOL = (1e-4, 1e-4)


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("normalization", [0, 1, 2])
@pytest.mark.parametrize("size", [6, 7])
def test_low_level_transforms(opset: int, normalization: int, size: int) -> None:
    torch.manual_seed(0)
    options = {"opset": opset, "tol": TOL}
    x = torch.randn(3, 4, size)
    z = torch.randn(3, 4, size, dtype=torch.complex64)
    for onesided in (False, True):
        check(aten._fft_r2c.default, x, [1, 2], normalization, onesided, **options)
    for forward in (False, True):
        check(aten._fft_c2c.default, z, [0, 2], normalization, forward, **options)
    half = torch.fft.rfft(x)
    check(aten._fft_c2r.default, half, [2], normalization, size, **options)


@each("n", [1, 6, 7])
@each("dtype", [None, torch.float64])
def test_frequencies(n: int, dtype: torch.dtype | None) -> None:
    check(aten.fft_fftfreq.default, n, 0.5, dtype=dtype, dynamic=())
    check(aten.fft_rfftfreq.default, n, 0.5, dtype=dtype, dynamic=())
