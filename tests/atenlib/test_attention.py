"""Attention in every mode: masks of every shape, groups of heads, rows that see nothing."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check, outcomes
from tests.harness.tables import each

aten = torch.ops.aten
OPSETS = (18, 23, 24)


def qkv(*front: int, heads: int | None = None, dtype: torch.dtype = torch.float32):
    """A query of 3 with 5 keys, 8 wide, and values 6 wide."""
    torch.manual_seed(0)
    back = front if heads is None else (*front[:-1], heads)
    return (
        torch.randn(*front, 3, 8, dtype=dtype),
        torch.randn(*back, 5, 8, dtype=dtype),
        torch.randn(*back, 5, 6, dtype=dtype),
    )


@each("opset", OPSETS)
@each(
    "shape",
    [(3, 5), (1, 5), (3, 1), (4, 3, 5), (1, 4, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5), (2, 1, 1, 5)],
)
@each("kind", [torch.bool, torch.float32])
def test_masks_of_every_shape(opset: int, shape: tuple[int, ...], kind: torch.dtype) -> None:
    torch.manual_seed(1)
    mask = torch.rand(shape) > 0.3 if kind is torch.bool else torch.randn(shape)
    check(
        aten.scaled_dot_product_attention.default,
        *qkv(2, 4),
        mask,
        opset=opset,
        dynamic=(0, 1, 2, 3),
        tol=(1e-5, 1e-5),
    )


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_that_see_nothing_are_zero(opset: int, dtype: torch.dtype) -> None:
    seen = torch.rand(3, 5) > 0.3
    seen[1] = False
    added = torch.zeros(3, 5, dtype=dtype).masked_fill(~seen, -torch.inf)
    for mask in (seen, added):
        _, ours = outcomes(
            aten.scaled_dot_product_attention.default, *qkv(2, 4, dtype=dtype), mask, opset=opset
        )
        for mode in ours.values():
            assert (mode[0][:, :, 1] == 0).all()
        check(
            aten.scaled_dot_product_attention.default,
            *qkv(2, 4, dtype=dtype),
            mask,
            opset=opset,
            tol=(1e-5, 1e-5),
        )


@each("opset", OPSETS)
@each("front", [(), (4,), (2, 4), (2, 2, 4)])
@each("causal", [False, True])
def test_any_rank(opset: int, front: tuple[int, ...], causal: bool) -> None:
    check(
        aten.scaled_dot_product_attention.default,
        *qkv(*front),
        is_causal=causal,
        opset=opset,
        dynamic=(0, 1, 2),
        tol=(1e-5, 1e-5),
    )


@each("opset", OPSETS)
@each("heads", [1, 2])
def test_heads_in_groups(opset: int, heads: int) -> None:
    check(
        aten.scaled_dot_product_attention.default,
        *qkv(2, 4, heads=heads),
        is_causal=True,
        enable_gqa=True,
        scale=0.3,
        opset=opset,
        dynamic=(0, 1, 2),
        tol=(1e-5, 1e-5),
    )


def test_an_empty_batch() -> None:
    check(aten.scaled_dot_product_attention.default, *qkv(0, 4), dynamic=())


@pytest.mark.parametrize("causal", [False, True])
def test_math_gives_the_weights(causal: bool) -> None:
    check(
        aten._scaled_dot_product_attention_math.default,
        *qkv(2, 4),
        is_causal=causal,
        tol=(1e-5, 1e-5),
    )


def test_math_with_a_given_dropout_mask() -> None:
    keep = torch.rand(2, 4, 3, 5) > 0.5
    check(
        aten._scaled_dot_product_attention_math.default,
        *qkv(2, 4),
        dropout_p=0.5,
        dropout_mask=keep,
        tol=(1e-5, 1e-5),
    )


@pytest.mark.parametrize("causal", [False, True])
def test_flash_for_cpu_gives_logarithms(causal: bool) -> None:
    q, k, _ = qkv(2, 4)
    check(
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        q,
        k,
        k,
        is_causal=causal,
        tol=(1e-5, 1e-5),
    )


@each(
    "target",
    [
        aten._scaled_dot_product_flash_attention.default,
        aten._scaled_dot_product_efficient_attention.default,
        aten._scaled_dot_product_cudnn_attention.default,
        aten._scaled_dot_product_fused_attention_overrideable.default,
    ],
)
def test_other_devices_attention_gives_the_same(target: object) -> None:
    """torch has no kernel for the CPU: the output is held to that of the common operator."""
    q, k, v = qkv(2, 4)
    name = target._schema.name
    args: tuple[object, ...] = (q, k, v)
    if "efficient" in name or "cudnn" in name:
        args = (*args, None, True)
    attention = aten.scaled_dot_product_attention.default(q, k, v)
    sums = (q @ k.mT / 8**0.5).logsumexp(-1)
    count = len(target._schema.returns)
    empty = torch.zeros(0, dtype=torch.int64)
    expected = [attention, sums, *[empty] * (count - 2)]
    if count == 9:
        expected[4:6], expected[8] = [3, 5], torch.zeros(0)
    _, ours = outcomes(target, *args, dynamic=(), expected=expected)
    for results in ours.values():
        torch.testing.assert_close(results[0], attention, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(results[1], sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("mask_type", [None, 0, 1])
def test_native_multi_head_attention(need_weights: bool, mask_type: int | None) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8)
    mask = None
    if mask_type == 0:
        mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    if mask_type == 1:
        mask = torch.arange(5)[None] >= torch.tensor([[5], [3]])
    check(
        aten._native_multi_head_attention.default,
        x,
        x,
        x,
        8,
        2,
        torch.randn(24, 8),
        torch.randn(24),
        torch.randn(8, 8),
        torch.randn(8),
        mask,
        need_weights=need_weights,
        average_attn_weights=True,
        mask_type=mask_type,
        tol=(1e-4, 1e-4),
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("use_gelu", [False, True])
def test_transformer_encoder_layer(norm_first: bool, use_gelu: bool) -> None:
    torch.manual_seed(0)
    shapes = [(24, 8), (24,), (8, 8), (8,)]
    attention = [torch.randn(s) * 0.3 for s in shapes]
    rest = [torch.randn(s) for s in [(8,), (8,), (8,), (8,), (16, 8), (16,), (8, 16), (8,)]]
    check(
        aten._transformer_encoder_layer_fwd.default,
        torch.randn(2, 5, 8),
        8,
        2,
        *attention,
        use_gelu,
        norm_first,
        1e-5,
        *rest,
        tol=(1e-4, 1e-4),
    )


def test_dropout_keeps_the_mean() -> None:
    q, k, v = (torch.ones(1, 1, 4, 8), torch.ones(1, 1, 400, 8), torch.ones(1, 1, 400, 8))
    _, ours = outcomes(
        aten.scaled_dot_product_attention.default, q, k, v, dropout_p=0.5, dynamic=()
    )
    for (result,) in ours.values():
        assert abs(result.mean().item() - 1) < 0.15
        assert not torch.allclose(result, torch.ones_like(result))


@each(
    ("shape", "of_mask", "dim", "kind"),
    [
        ((2, 2, 3, 3), (3, 3), 3, 0),  # for all heads
        ((2, 2, 3, 3), (2, 3), -1, 1),  # for each example; a row that is left out is NaN
        ((2, 3), (2, 3), None, 2),
        ((2, 3), (2, 3), 0, 2),
    ],
)
@each("dtype", [torch.float32, torch.float64])
def test_masked_softmax(
    shape: tuple[int, ...],
    of_mask: tuple[int, ...],
    dim: int | None,
    kind: int,
    dtype: torch.dtype,
) -> None:
    torch.manual_seed(2)
    mask = torch.rand(of_mask) > 0.5
    mask[-1] = True
    check(aten._masked_softmax.default, torch.randn(shape, dtype=dtype), mask, dim, kind)
