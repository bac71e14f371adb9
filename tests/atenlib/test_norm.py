"""Normalizations that no OpInfo runs."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
TOL = (1e-5, 1e-5)


def batch() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return (torch.randn(4, 3, 5), torch.randn(3), torch.randn(3), torch.randn(3), torch.rand(3) + 1)


@pytest.mark.parametrize("opset", [18, 23])
def test_by_running_statistics(opset: int) -> None:
    arguments = batch()
    no_training = aten._native_batch_norm_legit_no_training.default
    check(no_training, *arguments, 0.1, 1e-5, opset=opset, tol=TOL)
    check(aten._batch_norm_no_update.default, *arguments, 0.1, 1e-5, opset=opset, tol=TOL)


@pytest.mark.parametrize("training", [False, True])
def test_functional_gives_new_statistics(training: bool) -> None:
    target = aten._native_batch_norm_legit_functional.default
    check(target, *batch(), training, 0.1, 1e-5, tol=TOL)


def test_functional_update() -> None:
    target = aten._batch_norm_with_update_functional.default
    check(target, *batch(), 0.1, 1e-5, tol=TOL)


@each("eps", [None, 1e-3])
@each("weighted", [False, True])
def test_fused_rms_norm(eps: float | None, weighted: bool) -> None:
    weight = torch.randn(5) if weighted else None
    check(aten._fused_rms_norm.default, torch.randn(2, 3, 5), [5], weight, eps, tol=TOL)


@each("dim", [0, 1, -1])
def test_weight_norm(dim: int) -> None:
    v = torch.randn(3, 4, 5)
    shape = [1] * 3
    if dim >= 0:
        shape[dim] = v.shape[dim]
    g = torch.rand(shape) + 0.5
    check(aten._weight_norm.default, v, g, dim, tol=TOL)
    if dim == 0:
        check(aten._weight_norm_interface.default, v, g, dim, tol=TOL)


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sizes_known_at_run_time(opset: int, dtype: torch.dtype) -> None:
    x = torch.randn(2, 6, 5, dtype=dtype)
    options = {"opset": opset, "tol": TOL}
    check(aten.group_norm.default, x, 3, **options)
    check(aten.layer_norm.default, x, [5], **options)
    check(aten.rms_norm.default, x, [5], **options)
    check(aten.instance_norm.default, x, *[None] * 4, True, 0.1, 1e-5, False, **options)
