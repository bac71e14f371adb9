"""The matrices of Vandermonde."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten


@each("n", [None, 0, 1, 4])
@each("increasing", [False, True])
@each("dtype", [torch.float32, torch.int32, torch.complex64])
def test_vander(n: int | None, increasing: bool, dtype: torch.dtype) -> None:
    dynamic = () if dtype.is_complex else (0,)
    x = torch.tensor([1, 0, -2, 3]).to(dtype)
    check(aten.vander.default, x, n, increasing, dynamic=dynamic)
    if n not in (0, 1):  # torch.linalg has no fewer powers than two
        check(aten.linalg_vander.default, x.reshape(2, 2), N=n, dynamic=dynamic)


@pytest.mark.parametrize("opset", [18, 23])
def test_triangles_of_unknown_sizes(opset: int) -> None:
    for name in ("tril", "triu"):
        for k in (-1, 0, 2):
            check(getattr(aten, name).default, torch.randn(2, 3, 4), k, opset=opset)
