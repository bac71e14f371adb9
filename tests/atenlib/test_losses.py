"""Losses and distances that no OpInfo covers, in every mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_likelihood_and_its_weight(reduction: int, weighted: bool) -> None:
    torch.manual_seed(0)
    weight = torch.rand(4, dtype=torch.float64) if weighted else None
    logs = torch.randn(5, 4, dtype=torch.float64).log_softmax(1)
    target = torch.tensor([0, 3, 1, -100, 2])
    check(aten.nll_loss_forward.default, logs, target, weight, reduction, -100, dynamic=(0, 1))
    inside = torch.tensor([0, 3, 1, 3, 2])
    check(aten.nll_loss.default, logs, inside, weight, reduction, 3, dynamic=(0, 1))
    pixels = torch.randn(2, 4, 2, 3, dtype=torch.float64).log_softmax(1)
    classes = torch.tensor([[[0, 3, 1], [2, 2, 0]], [[1, 1, 1], [3, 0, 2]]])
    check(aten.nll_loss2d_forward.default, pixels, classes, weight, reduction, 1, dynamic=(0, 1))
    check(aten.nll_loss2d.default, pixels, classes, weight, reduction, 1, dynamic=(0, 1))


@each("reduction", [0, 1, 2])
def test_ignored_infinities_do_not_count(reduction: int) -> None:
    logs = torch.tensor([[-float("inf"), 0.0], [-1.0, -0.5]])
    check(aten.nll_loss_nd.default, logs, torch.tensor([0, 1]), None, reduction, 0)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("probabilities", [False, True])
def test_cross_entropy_of_dynamic_sizes(smoothing: float, probabilities: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 2, dtype=torch.float64)
    target: Any = torch.tensor([[0, 3], [1, 1], [2, 0]])
    if probabilities:
        target = torch.randn(3, 4, 2, dtype=torch.float64).softmax(1)
    weight = torch.rand(4, dtype=torch.float64)
    for reduction in (0, 1, 2):
        ignored = -100 if probabilities else 1
        check(
            aten.cross_entropy_loss.default,
            x,
            target,
            weight,
            reduction,
            ignored,
            smoothing,
            dynamic=(0, 1, 2),
        )


@pytest.mark.parametrize("shape", [(5,), (2, 5)], ids=str)
def test_multilabel_margin_and_its_targets(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    target = torch.tensor([[3, 0, -1, 1, 2], [1, 4, 2, -1, 0]])[: 2 if len(shape) == 2 else 1]
    target = target.reshape(shape)
    for reduction in (0, 1, 2):
        check(aten.multilabel_margin_loss_forward.default, x, target, reduction)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p: float) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 4, 3, dtype=torch.float64), torch.randn(2, 5, 3, dtype=torch.float64)
    check(aten._cdist_forward.default, x, y, p, None, dynamic=(0, 1))
    check(aten._pdist_forward.default, x[0], p)
    check(aten.dist.default, x, y[:, :4], p)
    check(aten.pairwise_distance.default, x, y[:, :4], p, 1e-6, True)


def test_euclidean_distances_by_products() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(30, 3, dtype=torch.float64), torch.randn(28, 3, dtype=torch.float64)
    check(aten._euclidean_dist.default, x, y, dynamic=(0, 1))
    check(aten.cdist.default, x, y, dynamic=(0, 1))


def test_cosines_of_broadcast_vectors() -> None:
    """Lengths are those after broadcasting, whichever sizes are known."""
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 4), torch.randn(1, 1, 4)
    for dim in (0, 1, 2):
        check(aten.cosine_similarity.default, x, y, dim, dynamic=())
        check(aten.cosine_similarity.default, x, x + 1, dim)


@pytest.mark.parametrize("n", [1, 2])
def test_differences_of_dynamic_sizes(n: int) -> None:
    x = torch.tensor([[1.0, 4.0, 9.0, 16.0], [2.0, 3.0, 5.0, 7.0]], dtype=torch.float64)
    check(aten.diff.default, x, n, 1)
    check(aten.trapezoid.dx, x, dx=0.5)
    check(aten.cumulative_trapezoid.x, x, torch.tensor([1.0, 2.0, 4.0, 5.0], dtype=torch.float64))
    check(aten.gradient.scalarint, x, spacing=2.0, dim=1, edge_order=n)


@pytest.mark.parametrize("lengths", [[3, 3], [2, 2]])
def test_ctc_with_its_forward_variables(lengths: list[int]) -> None:
    """Targets of one length: for shorter ones torch leaves the rest of the memory as it is."""
    torch.manual_seed(0)
    logs = torch.randn(7, 2, 5, dtype=torch.float64).log_softmax(2)
    targets = torch.randint(1, 5, (2, 3))
    check(aten._ctc_loss.default, logs, targets, [7, 7], lengths, dynamic=(0, 1))
    joined, tensors = (
        targets.flatten()[: sum(lengths)],
        [torch.tensor(n) for n in ([7, 7], lengths)],
    )
    check(aten._ctc_loss.Tensor, logs, joined, *tensors, dynamic=(0, 1))


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("joined", [False, True])
def test_ctc_of_dynamic_sizes(reduction: int, joined: bool) -> None:
    """Lengths as lists and as tensors; targets in rows and one after another."""
    torch.manual_seed(0)
    logs = torch.randn(7, 3, 5, dtype=torch.float64).log_softmax(2)
    rows = torch.tensor([[1, 1, 4], [2, 3, 1], [4, 0, 0]])
    lengths = [3, 2, 0]
    targets = torch.cat([r[:n] for r, n in zip(rows, lengths, strict=True)]) if joined else rows
    inputs = [7, 5, 6]
    check(aten.ctc_loss.IntList, logs, targets, inputs, lengths, 0, reduction, dynamic=(0, 1))
    tensors = (torch.tensor(inputs), torch.tensor(lengths))
    check(aten.ctc_loss.Tensor, logs, targets, *tensors, 0, reduction, True, dynamic=(0, 1, 2, 3))


def test_ranking_with_integer_targets() -> None:
    """The three tensors are promoted together."""
    a, b = torch.tensor([1.0, 2.5, -1.0]), torch.tensor([2.0, 1.0, 0.5])
    check(aten.margin_ranking_loss.default, a, b, torch.tensor([1, -1, 1]), 0.3, 0)
