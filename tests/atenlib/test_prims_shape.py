"""The primitives of shape and creation."""

from __future__ import annotations

import pytest
import torch
import torch._prims  # noqa: F401 - registers them

from tests.atenlib.one_op import check
from tests.harness.tables import each

prims = torch.ops.prims
X = torch.arange(24.0).reshape(2, 3, 4)
CPU = {"device": torch.device("cpu"), "requires_grad": False}

CASES = {
    "reshape": (prims.reshape.default, X, [4, 6]),
    "squeeze": (prims.squeeze.default, X.reshape(2, 1, 12, 1), [1, 3]),
    "transpose": (prims.transpose.default, X, [2, 0, 1]),
    "broadcast_in_dim": (prims.broadcast_in_dim.default, X[0], [2, 3, 5, 4], [1, 3]),
    "broadcast of a number": (prims.broadcast_in_dim.default, torch.tensor(2.5), [2, 3], []),
    "collapse": (prims.collapse.default, X, 0, 1),
    "collapse_view": (prims.collapse_view.default, X, 1, 2),
    "split_dim": (prims.split_dim.default, X, 2, 2),
    "cat": (prims.cat.default, [X, X + 1], 1),
    "rev": (prims.rev.default, X, [0, 2]),
    "as_strided_scatter": (prims.as_strided_scatter.default, X, X[0, :, :2], [3, 2], [2, 5], 1),
}


@each("opset", [18, 23])
@each("case", CASES)
def test_shapes(case: str, opset: int) -> None:
    target, *args = CASES[case]
    # A dimension of an unknown size is not known to be 1.
    check(target, *args, opset=opset, dynamic=() if case == "squeeze" else (0,))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # by torch's own kernel
def test_as_strided() -> None:
    check(prims.as_strided.default, X, [3, 2], [2, 5], 1)


@each("shape", [[6, 4], [2, 3], [5, 5]])
def test_resize(shape: list[int]) -> None:
    flat = torch.zeros(25)
    flat[:24] = X.flatten()
    expected = flat[: torch.Size(shape).numel()].reshape(shape)
    check(prims.resize.default, X.clone(), shape, expected=expected)


@each("dtype", [torch.int64, torch.int32, torch.uint8])
def test_iota(dtype: torch.dtype) -> None:
    for start, step in ((0, 1), (3, 2)):
        check(prims.iota.default, 20, start=start, step=step, dtype=dtype, dynamic=(), **CPU)


@each("dtype", [torch.float32, torch.bool, torch.complex64])
def test_creation(dtype: torch.dtype) -> None:
    value = 1 + 2j if dtype.is_complex else 1
    check(prims.full.default, [2, 0, 3], value, dtype=dtype, dynamic=(), **CPU)
    check(prims.full_like.default, X, value, dtype=dtype, **CPU)
    check(prims.scalar_tensor.default, value, dtype=dtype, device=CPU["device"], dynamic=())
    zeros = torch.zeros(2, 3, dtype=dtype)
    for target, layout in (
        (prims.empty_strided.default, [3, 1]),
        (prims.empty_permuted.default, [0, 1]),
    ):
        check(target, [2, 3], layout, dtype=dtype, expected=zeros, dynamic=(), **CPU)


def test_the_plain_overload_of_split() -> None:
    check(torch.ops.aten.split.default, X, [1, 2], 1)
    check(torch.ops.aten._reshape_copy.default, X, [6, 4])
