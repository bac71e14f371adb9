"""Matrix products that no OpInfo runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxwright.atenlib import find
from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
TOL = (1e-5, 1e-5)


def test_chain_of_matrices() -> None:
    chain = [torch.randn(3, 7), torch.randn(7, 2), torch.randn(2, 5), torch.randn(5, 4)]
    check(aten.chain_matmul.default, chain, tol=TOL)


@pytest.mark.parametrize("use_gelu", [False, True])
def test_addmm_activation(use_gelu: bool) -> None:
    args = (torch.randn(4), torch.randn(3, 5), torch.randn(5, 4))
    check(aten._addmm_activation.default, *args, beta=0.5, alpha=2, use_gelu=use_gelu, tol=TOL)


@each("dtype", [torch.float32, torch.int64, torch.complex64])
@each(
    ("equation", "shapes"),
    [("ij,kj->ik", [(3, 0), (2, 0)]), ("ij,jk", [(0, 4), (4, 2)]), ("...i->...", [(2, 0)])],
)
def test_einstein_sums_of_nothing(equation: str, shapes: list[tuple[int, ...]], dtype: Any) -> None:
    tensors = [torch.zeros(shape, dtype=dtype) for shape in shapes]
    ours = find("aten::einsum").run(equation, tensors)
    torch.testing.assert_close(ours, torch.einsum(equation, *tensors))


def test_int8_product() -> None:
    a = torch.randint(-128, 128, (32, 16), dtype=torch.int8)
    b = torch.randint(-128, 128, (16, 8), dtype=torch.int8)
    check(aten._int_mm.default, a, b)


def test_products_in_a_wider_type() -> None:
    """torch has them on CUDA: held to the product of widened operands."""
    a, b = torch.randn(3, 4).half(), torch.randn(4, 5).half()
    wide = a.float() @ b.float()
    options = {"dynamic": (0,), "tol": TOL}
    check(aten.mm.dtype, a, b, torch.float32, expected=wide, **options)
    check(aten.bmm.dtype, a[None], b[None], torch.float32, expected=wide[None], **options)
    c = torch.randn(3, 5).half()
    added = c.float() + 2 * wide
    check(aten.addmm.dtype, c, a, b, torch.float32, alpha=2, expected=added, **options)
    check(
        aten.baddbmm.dtype,
        c[None],
        a[None],
        b[None],
        torch.float32,
        alpha=2,
        expected=added[None],
        **options,
    )


@each("ranks", [(2, 3), (3, 2), (2, 2), (3, 3)])
def test_grouped_products(ranks: tuple[int, int]) -> None:
    torch.manual_seed(0)
    ends = [3, 3, 8]
    offs = torch.tensor(ends, dtype=torch.int32)
    starts = [0, *ends[:-1]]
    spans = [slice(s, e) for s, e in zip(starts, ends, strict=True)]
    if ranks == (2, 3):
        a, b = torch.randn(8, 4), torch.randn(3, 4, 5)
        expected = torch.cat([a[s] @ b[n] for n, s in enumerate(spans)])
    elif ranks == (3, 2):
        a, b = torch.randn(3, 5, 4), torch.randn(4, 8)
        expected = torch.cat([a[n] @ b[:, s] for n, s in enumerate(spans)], 1)
    elif ranks == (2, 2):
        a, b = torch.randn(5, 8), torch.randn(8, 4)
        expected = torch.stack([a[:, s] @ b[s] for s in spans])
    else:
        a, b = torch.randn(3, 5, 4), torch.randn(3, 4, 6)
        expected, offs = a @ b, None
    check(aten._grouped_mm.default, a, b, offs, expected=expected, tol=TOL)


def test_groups_of_experts_leave_the_rows_after_the_last_at_zero() -> None:
    pytest.importorskip("transformers.integrations.moe", reason="the operator is of transformers")
    a, b = torch.randn(6, 3), torch.randn(2, 3, 4)
    offs = torch.tensor([1, 4], dtype=torch.int32)
    expected = torch.cat([a[:1] @ b[0], a[1:4] @ b[1], torch.zeros(2, 4)])
    check(
        torch.ops.transformers.grouped_mm_fallback.default, a, b, offs, expected=expected, tol=TOL
    )
