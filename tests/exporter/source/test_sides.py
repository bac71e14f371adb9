"""What a side of a decision knows, and sides that go on by themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from onnxwright import exporter
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.graphs import regions
from onnxwright.exporter.capture.session.errors import DisagreementError, LoopChangeError
from tests.harness.modules import Of

DYNAMIC = torch.export.Dim.DYNAMIC
ROWS = (
    torch.tensor([[1.0, 2], [-1, 3], [4, -5]]),
    torch.tensor([[1.0, 2], [-1, 3]]),
    torch.tensor([[-1.0, 2], [-1, 3], [-4, 5], [0, 1]]),
    torch.tensor([[3.0, 2], [1, 3], [4, 5], [2, 1]]),
)


def exported(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = ((({0: DYNAMIC},) * len(args)),)
        options = {"dynamic_shapes": shapes, "capture": "source", **options}
        return exporter.export(Of(function), args, **options)


def kept(x: Any) -> Any:
    """The rows whose first element is positive; how many is known at run time."""
    return x[x[:, 0] > 0]


def none_or_tensor(x: Any) -> Any:
    mask = None
    if x.sum() > 3:
        mask = x > 0
    y = x * 2
    if mask is not None:
        y = y * mask
    return y + 1


def none_in_a_ternary(x: Any) -> Any:
    mask = (x > 0) if x.sum() > 3 else None
    return x if mask is None else x * mask


def one_row_without_its_axis(x: Any) -> Any:
    y = kept(x)
    if y.shape[0] == 1:
        y = y.squeeze(0)
    return y.sum()


def other_ranks_then_the_same(x: Any) -> Any:
    y = kept(x)
    n = y.shape[0]
    if n > 0:
        y = y.reshape(n, 2, 1)
    return y.flatten()


def decided_again(x: Any) -> Any:
    y = kept(x)
    if y.shape[0] == 0:
        if y.shape[0] > 0:
            return x.sum() * 1000  # never
        return x.sum()
    return y.max()


def nothing_left(x: Any) -> Any:
    y = kept(x)
    if y.shape[0] == 0:
        return torch.zeros(0, 2), 0
    return y * 2, y.shape[0]


def sizes_stay_one(x: Any) -> Any:
    y = kept(x)
    z = y + 1
    if y.shape[0] > 0:
        y = y - y.max()
    return y + z  # of one size in the end, too


def the_same_decision_three_times(x: Any) -> Any:
    any_large = (x > 3).any().item()
    y = x * 2 if any_large else x
    z = y + 1
    if any_large:
        z = z * 3
    total = z.sum()
    if any_large:
        total = total + 5
    return total, z


def inside_another(x: Any) -> Any:
    scale = None
    if x.sum() > 3:
        if x.max() > 3:
            scale = x.max()
    else:
        x = x + 1
    return x if scale is None else x / scale


def in_a_loop(x: Any) -> Any:
    found = []
    for n in range(2):
        part = kept(x[n:])
        if part.shape[0] == 1:
            part = part[0]
        found.append(part.sum())
    return torch.stack(found)


SIDES = (
    none_or_tensor, none_in_a_ternary, one_row_without_its_axis, other_ranks_then_the_same,
    decided_again, nothing_left, sizes_stay_one, the_same_decision_three_times, inside_another,
    in_a_loop,
)  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("function", SIDES, ids=lambda f: f.__name__)
def test_sides_know_sizes_and_go_on_by_themselves(function: Callable[..., Any]) -> None:
    program = exported(function, ROWS[0])
    for x in ROWS:
        wanted, found = pytree.tree_leaves(function(x)), pytree.tree_leaves(program(x))
        for a, b in zip(wanted, found, strict=True):
            a, b = torch.as_tensor(a), torch.as_tensor(b)
            assert a.shape == b.shape
            torch.testing.assert_close(b, a, check_dtype=False)


def test_a_result_of_another_rank_is_refused_with_its_line() -> None:
    def squeezed(x: Any) -> Any:
        y = kept(x)
        if y.shape[0] == 1:
            y = y.squeeze(0)
        return y

    with pytest.raises(ExportError, match=r"OW840(?s:.*)`y` is(?s:.*)if y.shape\[0\] == 1"):
        exported(squeezed, ROWS[0])


def resized(x: Any) -> Any:
    height, width = x.shape
    scale = min(8 / min(height, width), 12 / max(height, width))
    size = [int(height * scale), int(float(width) * scale)]
    padded = x.new_zeros(int(-(-size[0] // 4) * 4), size[1])
    image = torch.nn.functional.interpolate(x[None, None], size=size, mode="bilinear")[0, 0]
    padded[: size[0]].copy_(image)
    return padded


def shortest(x: Any) -> Any:
    height, width = x.shape
    return x.flatten()[: min(height, width, 5)] * max(0.5 * height, width / 3)


@pytest.mark.parametrize("how", ["auto", "source"])
@pytest.mark.parametrize("function", [resized, shortest], ids=lambda f: f.__name__)
def test_numbers_of_sizes_stay_dynamic(function: Callable[..., Any], how: str) -> None:
    shapes = (({0: DYNAMIC, 1: DYNAMIC},),)
    program = exported(function, torch.rand(10, 7), dynamic_shapes=shapes, capture=how)
    for size in ((10, 7), (5, 9), (4, 30), (16, 3)):
        x = torch.rand(size)
        wanted, found = function(x), torch.as_tensor(program(x))
        assert found.shape == wanted.shape
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def reads_from_before(x: Any) -> Any:
    high, low, n = x.max() * 0.5, x.min() + 1, 0
    while n < 3 and low < high:
        n += 1
        low = low + (high if high > 1 else 0.5)
    return low * x


def test_values_from_before_are_read_where_python_has_dropped_them(monkeypatch) -> None:
    """The graph has nodes of them still."""
    monkeypatch.setattr(regions, "live_values", lambda _: {})
    program = exported(reads_from_before, ROWS[0])
    for x in ROWS:
        torch.testing.assert_close(program(x), reads_from_before(x))


class Sets(torch.nn.Module):
    """Decisions in decisions; a function writes on both sides of each."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth, self.values = depth, {}

    def keep(self, key: int, value: Any) -> None:
        self.values[key] = value

    def decide(self, n: int, x: Any) -> None:
        if n == self.depth:
            return
        if x.sum() > n:
            self.keep(n, x * n)
            self.decide(n + 1, x)
        else:
            self.keep(-n - 1, x - n)

    def forward(self, x: Any) -> Any:
        self.values = dict.fromkeys(range(-self.depth, self.depth), x)
        self.decide(0, x)
        return list(self.values.values())


def test_what_functions_on_nested_sides_write_is_seen_without_running_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Any] = []
    enter = regions.Region.__enter__

    def counted(self: Any) -> Any:
        opened.append(self)
        return enter(self)

    monkeypatch.setattr(regions.Region, "__enter__", counted)
    counts = []
    for depth in (2, 4):
        opened.clear()
        module = Sets(depth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = exporter.export(module, (torch.ones(2),), capture="source")
        counts.append(len(opened))
        for x in (-torch.ones(2), torch.ones(2), torch.full((2,), 9.0)):
            for a, b in zip(program(x), module(x), strict=True):
                torch.testing.assert_close(a, b)
    assert counts[1] <= 2 * counts[0]


def test_objects_with_one_description_are_told_apart() -> None:
    one = "a list of 0"
    assert LoopChangeError("x", one, one).after == "another object (a list of 0)"
    assert DisagreementError("x", one, one).right == "another object (a list of 0)"
    assert LoopChangeError("x", one, "a list of 1").after == "a list of 1"
