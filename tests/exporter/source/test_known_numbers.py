"""Numbers that values choose from a few, where PyTorch wants a number of Python: axes, kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import onnxwright as ow
from tests.exporter.source.programs import as_module


def axis(x):
    k = 0 if x.sum() > 0 else 1
    return x.softmax(k), x.sum(k).sum()


def axis_of_a_branch(x):
    if x.max() > 2:
        k = -1
    else:
        k = 0
    y = x.cumsum(k)
    return y * 2


def _chosen(x):
    if x.sum() > 0:
        return 1
    return 0


def axis_of_a_function(x):
    k = _chosen(x)
    return x.argmax(k).sum(), k


def _along(x, k):
    y = torch.flip(x, [k])
    return y.softmax(k)


def axis_given_to_a_function(x):
    return _along(x, 1 if x.sum() > 0 else 0) + 1


def kernel_of_a_list(x):
    sizes = [1, 3, 5]
    k = sizes[int(x.argmax() % 3)]
    y = F.avg_pool1d(x[None], k, stride=1, padding=k // 2)
    return y[0] * k


def order_of_axes(x):
    first, second = (0, 1) if x.sum() > 0 else (1, 0)
    return x.permute(first, second).sum(0).sum(), x.norm(dim=first).sum()


def two_numbers(x):
    a = 0 if x.sum() > 0 else 1
    b = 0 if x.max() > 2 else 1
    return x.softmax(a) + x.cumsum(b)


PROGRAMS = (
    axis, axis_of_a_branch, axis_of_a_function, axis_given_to_a_function, kernel_of_a_list,
    order_of_axes, two_numbers,
)  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_line_that_needs_a_number_has_a_copy_for_each(function: Callable[..., Any]) -> None:
    model = as_module(function).eval()
    x = torch.arange(12.0).reshape(3, 4) / 5 - 1
    rows = torch.export.Dim("rows", min=2, max=32)
    program = ow.export(model, (x,), dynamic_shapes=({0: rows},))
    for given in (x, -x, x.flip(0).T.reshape(4, 3).repeat(1, 2)[:, :4], x + 1, -x - 3, x[:2] * 9):
        found, wanted = program(given), model(given)
        torch.testing.assert_close(
            torch.utils._pytree.tree_leaves(found),
            [torch.as_tensor(v) for v in torch.utils._pytree.tree_leaves(wanted)],
        )


def test_a_number_of_many_values_is_refused_with_its_line() -> None:
    def many(x):
        return x.softmax(int(x.sum()))

    def kept_axis(x):  # PyTorch refuses a tensor there before it asks who stands for `sum`
        keep = bool(x.sum() > 0)
        return x.sum(1, keepdim=keep).sum()

    for function, line in ((many, "softmax"), (kept_axis, "keepdim")):
        with pytest.raises(ow.OnnxwrightError, match=line):
            ow.export(as_module(function).eval(), (torch.zeros(2, 2),), capture="source")
