"""Reductions and order statistics that no OpInfo covers: overloads, NaN, dynamic sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
NAN, INF = float("nan"), float("inf")
WITH_NAN = [[1.0, NAN, 3.0, 2.0], [INF, 5.0, -INF, 5.0], [NAN, 8.0, NAN, INF], [4.0, 7.0, 7.0, 1.0]]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def matrix(dtype: Any = torch.float32) -> Any:
    return torch.tensor([[3, 1, 2, 1], [0, 5, 4, 5], [7, 7, 7, 2]]).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_nan_wins(dim: int, dtype: Any) -> None:
    """A NaN is the extreme, and its first place the index, as in torch."""
    x = torch.tensor(WITH_NAN, dtype=dtype)
    for name in ("amax", "amin"):
        check(getattr(aten, name).default, x, [dim])
    for name in ("argmax", "argmin"):
        check(getattr(aten, name).default, x, dim)
        check(getattr(aten, name).default, x, None, True)
    for target in (aten.max.dim, aten.min.dim, aten.median.dim):
        check(target, x, dim)
        check(target, x, dim, True)
    for target in (aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default):
        check(target, x)
    check(aten.nanmedian.dim, x, dim)


@pytest.mark.parametrize("dim", [0, 1])
def test_cumulative_extremes_keep_nan(dim: int) -> None:
    x = torch.tensor(WITH_NAN)
    check(aten.cummax.default, x, dim)
    check(aten.cummin.default, x, dim)
    check(aten.logcumsumexp.default, torch.tensor(WITH_NAN[1::2]), dim)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 13])
def test_cumulative_functions_of_dynamic_sizes(length: int) -> None:
    """The number of steps follows the size that is met."""
    torch.manual_seed(0)
    x = torch.randn(3, length, dtype=torch.float64)
    for target in (aten.cumsum, aten.cumprod, aten.cummax, aten.cummin, aten.logcumsumexp):
        check(target.default, x, 1)
    check(aten.cumsum.default, x, 0)
    check(aten.cummax.default, torch.tensor([3, 1, 3, 2, 5, 5]), 0)


@pytest.mark.parametrize("p", [None, 0, 1, 2, 3.5, INF, -INF])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=str)
def test_old_norms(p: Any, dtype: Any) -> None:
    x = matrix(dtype)
    check(aten.norm.ScalarOpt_dim, x, p, [1])
    check(aten.norm.ScalarOpt_dim, x, p, [0, 1], True)
    if p is not None:
        check(aten.norm.Scalar, x, p)
    if dtype is torch.float32:
        check(aten.norm.ScalarOpt_dim_dtype, x, p, [1], False, dtype=torch.float64)
        check(aten.norm.ScalarOpt_dtype, x, p, dtype=torch.float64)
    check(aten.frobenius_norm.dim, x, [1], True)


@pytest.mark.parametrize("target", ["_softmax", "_log_softmax"])
def test_core_softmaxes(target: str) -> None:
    operator = getattr(aten, target).default
    for dtype in (torch.float32, torch.float64, torch.float16):
        check(operator, matrix(dtype), 1, False, tol=(2e-3, 1e-3))
    check(operator, torch.tensor(2.5), 0, False)
    check(operator, torch.tensor([[INF, 1.0], [-INF, -INF]]), 1, False)


def test_sums_and_means_of_nothing() -> None:
    empty = torch.zeros(2, 0, 3)
    for target in (aten.sum.dim_IntList, aten.mean.dim, aten.logsumexp.default):
        check(target, empty, [1], dynamic=())
    check(aten.prod.dim_int, empty, 1, dynamic=())
    check(aten.var.correction, empty, [1], correction=1, dynamic=())
    check(aten.any.dim, empty, 1)
    check(aten.all.dim, empty, 1)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.uint8], ids=str)
@pytest.mark.parametrize("opset", [18, 23])
def test_small_types(dtype: Any, opset: int) -> None:
    """Types without kernels, also before ReduceMax took truth values."""
    x = matrix(dtype)
    check(aten.amax.default, x, [1], opset=opset)
    check(aten.aminmax.default, x, dim=0, opset=opset)
    check(aten.sum.dim_IntList, x, [1], opset=opset)
    check(aten.any.dims, x, [0], True, opset=opset)
    check(aten.all.default, x, opset=opset)
    check(aten.prod.dim_int, x, 1, opset=opset)
    check(aten.sort.stable, x, stable=True, dim=0, descending=True, opset=opset)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_dynamic_sizes(dtype: Any) -> None:
    """Functions whose results depend on sizes that are known only at run time."""
    x = matrix(dtype)
    check(aten.sort.default, x, 0, True)
    check(aten.topk.default, torch.tensor([[1, 5, 2, 4]]).to(dtype), 2)
    check(aten.msort.default, x)
    check(aten.kthvalue.default, torch.tensor([[1, 5, 2, 4]]).to(dtype), 2)
    check(aten.mode.default, x)
    check(aten.count_nonzero.dim_IntList, x, [1])
    check(aten._unique.default, x, True, True)
    check(aten._unique2.default, x, True, True, True)
    check(aten.unique_consecutive.default, x, True, True)
    check(
        aten.unique_dim_consecutive.default, torch.tensor([[1, 2], [1, 2], [3, 2]]), 0, True, True
    )
    check(aten.sum_to_size.default, x, [1, 4])
    if dtype is torch.float32:
        check(aten.var_mean.correction, x, [1], correction=0.5)
        check(aten.std.dim, x, [0], True)
        check(aten.quantile.default, x, torch.tensor([0.1, 0.7]), 1)
        check(aten.nanquantile.scalar, torch.tensor(WITH_NAN), 0.4, 0, True)


def test_searching_with_numbers() -> None:
    edges = torch.tensor([1.0, 2.0, 4.0, 8.0])
    check(aten.searchsorted.Scalar, edges, 4.0, right=True)
    check(aten.searchsorted.Tensor, edges, torch.tensor([NAN, 0.0, 9.0, 2.0]), side="right")
    check(aten.bucketize.Scalar, 3, edges, out_int32=True)
    check(aten.isin.Tensor_Scalar, edges, 4.0)
    check(aten.isin.Scalar_Tensor, 3, edges, invert=True)


@pytest.mark.parametrize("opset", [18, 23])
def test_counting(opset: int) -> None:
    x = torch.tensor([1, 4, 1, 0, 4, 4])
    check(aten.bincount.default, x, opset=opset)
    check(aten.bincount.default, x, torch.rand(6), 9, opset=opset)
    check(aten.bincount.default, x[:0], None, 3, opset=opset)
    check(aten.histc.default, torch.tensor([0.1, 2.5, 2.5, 9.0, -1.0]), 4, 0, 5, opset=opset)


@pytest.mark.parametrize("dims", [[0], [0, 1]], ids=str)
def test_primitive_reductions(dims: Any) -> None:
    x = torch.tensor(WITH_NAN)
    prims = torch.ops.prims
    for name in ("sum", "prod", "amax", "amin"):
        check(getattr(prims, name).default, x, dims)
    for correction in (0.0, 1.0):
        check(prims.var.default, matrix(), dims, correction=correction)


@each("booleans", [[True, True], [True, False], [False, False], []])
def test_all_or_any_of_some_booleans(booleans: list[bool]) -> None:
    x = torch.tensor(booleans, dtype=torch.bool)
    check(aten._is_all_true.default, x)
    check(aten._is_any_true.default, x)
