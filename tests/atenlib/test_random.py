"""Random operators: the right distribution, and not the same numbers twice."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.atenlib.one_op import outcomes
from tests.harness.tables import each

aten = torch.ops.aten
MANY = (200, 100)
OPSETS = (18, 23)


def drawn(target: Any, *args: Any, opset: int = 23, **kwargs: Any) -> list[torch.Tensor]:
    """Two draws: eager, and as a graph; of the dtype and shape of PyTorch's."""
    theirs, ours = outcomes(target, *args, dynamic=(), opset=opset, **kwargs)
    results = [mode[0] for mode in ours.values()]
    for result in results:
        assert result.dtype == theirs[0].dtype
        assert result.shape == theirs[0].shape
    assert not torch.equal(*results)
    return results


@each("opset", OPSETS)
@each("dtype", [torch.float32, torch.float64, torch.float16])
def test_uniform(opset: int, dtype: torch.dtype) -> None:
    for x in drawn(aten.rand.default, MANY, dtype=dtype, opset=opset):
        x = x.double()
        assert 0 <= x.min() < 0.01
        assert 0.99 < x.max() <= 1
        assert abs(x.mean() - 0.5) < 0.02
        assert abs(x.var() - 1 / 12) < 0.01


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_normal(opset: int, dtype: torch.dtype) -> None:
    for x in drawn(aten.randn.default, MANY, dtype=dtype, opset=opset):
        x = x.double()
        assert abs(x.mean()) < 0.05
        assert abs(x.var() - 1) < 0.05
        assert abs((x < 1).double().mean() - 0.8413) < 0.02
        assert abs((x**4).mean() - 3) < 0.4


def test_normal_with_mean_and_deviation() -> None:
    ones = torch.ones(MANY)
    for args in ((3 * ones, 2.0), (3.0, 2 * ones), (3 * ones, 2 * ones)):
        kinds = ["Tensor" if isinstance(a, torch.Tensor) else "float" for a in args]
        for x in drawn(getattr(aten.normal, "_".join(kinds)), *args):
            assert abs(x.mean() - 3) < 0.1
            assert abs(x.std() - 2) < 0.1


@pytest.mark.parametrize("opset", OPSETS)
def test_whole_numbers(opset: int) -> None:
    for x in drawn(aten.randint.low, -2, 3, MANY, opset=opset):
        counts = torch.bincount((x + 2).flatten(), minlength=5)
        assert x.min() == -2
        assert x.max() == 2
        assert ((counts / x.numel() - 0.2).abs() < 0.02).all()


@pytest.mark.parametrize("opset", OPSETS)
def test_permutation(opset: int) -> None:
    for x in drawn(aten.randperm.default, 100, opset=opset):
        assert torch.equal(x.sort().values, torch.arange(100))


def test_bernoulli() -> None:
    p = torch.linspace(0, 1, 5).expand(4000, 5).contiguous()
    for x in drawn(aten.bernoulli.default, p):
        assert ((x.mean(0) - p[0]).abs() < 0.04).all()
    for x in drawn(aten.bernoulli.p, torch.zeros(MANY), 0.3):
        assert abs(x.mean() - 0.3) < 0.03


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(replacement: bool) -> None:
    weights = torch.tensor([1.0, 0.0, 3.0, 4.0]).expand(4000, 4).contiguous()
    count = 1 if replacement is False else 5
    for x in drawn(aten.multinomial.default, weights, count, replacement):
        shares = torch.bincount(x.flatten(), minlength=4) / x.numel()
        torch.testing.assert_close(shares, weights[0] / 8, rtol=0, atol=0.04)


def test_multinomial_without_replacement_takes_each_once() -> None:
    weights = torch.tensor([1.0, 0.0, 3.0, 4.0]).expand(50, 4).contiguous()
    for x in drawn(aten.multinomial.default, weights, 3, False):
        assert torch.equal(x.sort().values, torch.tensor([0, 2, 3]).expand(50, 3))


@each(
    ("name", "args", "median"),
    [
        ("exponential", (2.0,), math.log(2) / 2),
        ("cauchy", (1.0, 2.0), 1.0),
        ("log_normal", (0.5, 1.0), math.exp(0.5)),
        ("geometric", (0.25,), 3.0),
    ],
)
def test_medians(name: str, args: tuple[float, ...], median: float) -> None:
    for x in drawn(getattr(aten, name).default, torch.zeros(MANY), *args):
        assert abs(x.median() - median) < 0.1
        if name == "geometric":
            assert x.min() == 1
            assert abs(x.mean() - 4) < 0.2


def test_dropout_keeps_the_mean() -> None:
    x = torch.ones(MANY)
    for y in drawn(aten.dropout.default, x, 0.25, True):
        assert abs(y.mean() - 1) < 0.03
        assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    _, ours = outcomes(aten.native_dropout.default, x, 0.25, True, dynamic=())
    for y, stays in ours.values():
        assert torch.equal(stays, y != 0)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = torch.randn(MANY)
    for y in drawn(aten.alpha_dropout.default, x, 0.25, True):
        assert abs(y.mean()) < 0.05
        assert abs(y.var() - 1) < 0.1


def test_feature_dropout_drops_channels() -> None:
    x = torch.ones(30, 20, 4, 4)
    for y in drawn(aten.feature_dropout.default, x, 0.5, True):
        assert torch.equal(y.amax((2, 3)), y.amin((2, 3)))
        assert abs(y.mean() - 1) < 0.2


@pytest.mark.parametrize("opset", OPSETS)
def test_uniform_between_bounds(opset: int) -> None:
    for x in drawn(aten.uniform.default, torch.zeros(MANY), -3.0, 1.0, opset=opset):
        assert -3 <= x.min() < -2.9
        assert 0.9 < x.max() <= 1
        assert abs(x.mean() + 1) < 0.05


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int8])
def test_whole_numbers_between_bounds(dtype: torch.dtype) -> None:
    for x in drawn(getattr(aten.random, "from"), torch.zeros(MANY, dtype=dtype), -2, 3):
        assert x.unique().tolist() == [-2, -1, 0, 1, 2]


@pytest.mark.parametrize("opset", OPSETS)
def test_poisson(opset: int) -> None:
    rates = torch.tensor([0.0, 0.5, 12.0]).repeat(4000, 1)
    for x in drawn(aten.poisson.default, rates, opset=opset):
        assert bool((x[:, 0] == 0).all())
        assert torch.equal(x, x.round())
        torch.testing.assert_close(x.mean(0), rates[0], rtol=0.03, atol=0.05)
        torch.testing.assert_close(x.var(0), rates[0], rtol=0.1, atol=0.05)


def test_binomial() -> None:
    counts, chances = torch.tensor([0.0, 5.0, 30.0, 4.0]), torch.tensor([0.5, 0.25, 0.9, 1.0])
    for x in drawn(aten.binomial.default, counts.repeat(4000, 1), chances.repeat(4000, 1)):
        # Tolerances are about five standard errors: draws are not seeded.
        torch.testing.assert_close(x.mean(0), counts * chances, rtol=0.065, atol=0.0)
        spread = counts * chances * (1 - chances)
        torch.testing.assert_close(x.var(0), spread, rtol=0.1, atol=0.0)


def test_gamma_and_dirichlet() -> None:
    shapes = torch.tensor([0.3, 1.0, 7.5])
    many = shapes.repeat(8000, 1)
    for x in drawn(aten._standard_gamma.default, many):
        assert bool((x >= 0).all())
        torch.testing.assert_close(x.mean(0), shapes, rtol=0.11, atol=0.0)
        torch.testing.assert_close(x.var(0), shapes, rtol=0.3, atol=0.0)
    for x in drawn(aten._sample_dirichlet.default, many.double()):
        torch.testing.assert_close(x.sum(1), torch.ones(8000, dtype=torch.float64))
        torch.testing.assert_close(x.mean(0), (shapes / shapes.sum()).double(), rtol=0.1, atol=0.0)


def test_counts_of_nothing() -> None:
    """Without elements, and without anything to wait for."""
    for shape in ((0, 3), (2, 2)):
        _, modes = outcomes(aten.poisson.default, torch.zeros(shape))
        for ours in modes.values():
            assert torch.equal(ours[0], torch.zeros(shape))
