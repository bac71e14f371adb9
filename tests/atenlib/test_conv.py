"""Convolutions that no OpInfo runs, and dynamic sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
DTYPES = (torch.float32, torch.float64, torch.int64)
TOL = (1e-5, 1e-4)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    if dtype is torch.int64:
        return torch.randint(-5, 6, shape)
    return torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(dtype: torch.dtype, transposed: bool, groups: int) -> None:
    weight = numbers(4, 4 // groups, 3, 2, dtype=dtype)
    bias = numbers(4, dtype=dtype)
    more = [1, 0] if transposed else [0, 0]
    check(
        aten.convolution.default,
        numbers(2, 4, 7, 8, dtype=dtype),
        weight,
        bias,
        [2, 1],
        [1, 1],
        [1, 2],
        transposed,
        more,
        groups,
        tol=TOL,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_underscore_convolution(dtype: torch.dtype) -> None:
    check(
        aten._convolution.default,
        numbers(1, 2, 9, dtype=dtype),
        numbers(3, 2, 3, dtype=dtype),
        None,
        [2],
        [1],
        [1],
        False,
        [0],
        1,
        False,
        False,
        False,
        False,
        tol=TOL,
    )


@each("padding", ["same", "valid"])
@each("kernel", [3, 4])
def test_padding_by_name(padding: str, kernel: int) -> None:
    x, w = numbers(1, 2, 9, 8), numbers(3, 2, kernel, 2)
    check(aten._convolution_mode.default, x, w, None, [1, 1], padding, [2, 1], 1, tol=TOL)
    check(aten.conv2d.padding, x, w, None, [1, 1], padding, [2, 1], 1, tol=TOL)


def test_older_names() -> None:
    x, w, b = numbers(1, 2, 9, 8), numbers(3, 2, 3, 2), numbers(3)
    check(aten.thnn_conv2d.default, x, w, [3, 2], b, [2, 1], [1, 0], tol=TOL)
    volume = numbers(1, 2, 4, 5, 6)
    check(aten.slow_conv3d.default, volume, numbers(3, 2, 2, 3, 2), [2, 3, 2], b, tol=TOL)
    check(aten.conv_tbc.default, numbers(7, 2, 3), numbers(3, 3, 4), numbers(4), 1, tol=TOL)


def test_depthwise() -> None:
    x, w = numbers(1, 4, 9, 8), numbers(4, 1, 3, 3)
    expected = torch.nn.functional.conv2d(x, w, None, 2, 1, 1, 4)
    check(
        aten._conv_depthwise2d.default,
        x,
        w,
        [3, 3],
        None,
        [2, 2],
        [1, 1],
        [1, 1],
        expected=expected,
        dynamic=(),
        tol=TOL,
    )


@each("batch", [0, 1, 3])
@each("dtype", [torch.float32, torch.float64])
def test_any_batch(batch: int, dtype: torch.dtype) -> None:
    args: tuple[Any, ...] = (numbers(4, 2, 3, dtype=dtype), numbers(4, dtype=dtype), [1], [1])
    check(aten.conv1d.default, numbers(batch, 2, 9, dtype=dtype), *args, tol=TOL)
