"""Derivatives of activations are torch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
X = torch.tensor([[-4.0, -3.0, -0.5, 0.0], [0.25, 0.75, 3.0, 25.0]])
G = torch.tensor([[0.5, -1.5, 2.0, 1.0], [-0.25, 3.0, -4.0, 1.5]])
INSIDE = torch.tensor([[0.1, 0.5, 0.9, 0.3], [1.5, -0.5, 0.999, 0.05]])

CASES: list[tuple[Any, ...]] = [
    (aten.sigmoid_backward, G, INSIDE), (aten.tanh_backward, G, INSIDE),
    (aten.threshold_backward, G, X, 0.25), (aten.hardtanh_backward, G, X, -3.0, 3),
    (aten.silu_backward, G, X), (aten.gelu_backward, G, X), (aten.logit_backward, G, INSIDE),
    (aten.logit_backward, G, INSIDE, 0.1), (aten.leaky_relu_backward, G, X, 0.2, False),
    (aten.elu_backward, G, 1.5, 2.0, 0.5, False, X), (aten.elu_backward, G, 1, 1, 1, True, X),
    (aten.hardsigmoid_backward, G, X), (aten.hardswish_backward, G, X),
    (aten.softplus_backward, G, X, 2.0, 20.0), (aten.mish_backward, G, X),
    (aten.log_sigmoid_backward, G, X, torch.exp(-X.abs())),
]  # fmt: skip


@each("dtype", [torch.float32, torch.float64])
@each("case", CASES)
def test_derivative(case: tuple[Any, ...], dtype: Any) -> None:
    target, *args = case
    arguments = [a.to(dtype) if isinstance(a, torch.Tensor) else a for a in args]
    check(target.default, *arguments, dynamic=(0, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_derivative_of_the_other_gelu(dtype: Any) -> None:
    check(aten.gelu_backward.default, G.to(dtype), X.to(dtype), approximate="tanh")
