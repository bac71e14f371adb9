"""Decisions by quotients of sizes: numbers of windows, frames and strides."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import sympy  # type: ignore[import-untyped]
import torch
from torch.nn import functional
from torch.utils._sympy.functions import FloorDiv, PythonMod

import onnxwright as ow
from onnxwright.exporter.capture.assumptions.examples import first_size, fitting
from onnxwright.exporter.capture.assumptions.facts import Facts
from tests.exporter.source.programs import as_module
from tests.harness.modules import same_results
from tests.harness.tables import each

n = sympy.Symbol("n", integer=True, positive=True)
m = sympy.Symbol("m", integer=True, positive=True)

TURNING = (
    (FloorDiv(n, 4) > 10, 44), (FloorDiv(n + 3, 4) >= 10, 37), (sympy.Ne(FloorDiv(n, 4), 9), 36),
    (FloorDiv(FloorDiv(n, 5), 4) > 20, 420), (FloorDiv(n, 320) > 100, 32_320),
    (FloorDiv(3 * n, 160) < 11, 587), (sympy.Max(FloorDiv(n, 4) - 5, 0) > 9, 60),
    (-FloorDiv(-n, 8) > 12, 97), (3 * n > 100, 34), (n * n > 200, 15),
    (sympy.Eq(FloorDiv(n - 7, 4) + 1, 30), 123),
)  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize(("condition", "size"), TURNING, ids=str)
def test_turning_points_are_found(condition: Any, size: int) -> None:
    turned = sympy.Not(condition) if condition.subs(n, 1) else condition
    assert first_size(turned, n) == size
    # It holds at some sizes: it is neither known to hold nor to exclude nothing.
    assert Facts().verdict(condition) is None
    for one in (condition, sympy.Not(condition)):
        assert fitting([one], {"n": 20}, {}) is not None
        if one.subs(n, 1 << 12) or one.subs(n, 2):
            assert Facts(least=2).verdict(one) is None


def test_a_quotient_that_another_condition_implies_is_certain() -> None:
    windows = FloorDiv(n, 7) > 5
    assert not Facts((n > 38,)).proves(windows)
    assert Facts((n > 41,)).proves(windows)
    assert not Facts().within({"n": (39, 60)}).proves(windows)
    assert Facts().within({"n": (42, 60)}).proves(windows)


def test_a_remainder_beside_a_quotient() -> None:
    rest, many = sympy.Ne(PythonMod(n, 8), 3), FloorDiv(n, 4) > 70
    assert Facts((many,)).verdict(rest) is None
    assert Facts((many,)).within({"n": (290, 300)}).verdict(rest) is None
    assert Facts((many,)).within({"n": (292, 298)}).verdict(rest) is True
    assert fitting([sympy.Eq(PythonMod(n, 8), 3), many], {"n": 20}, {}) == {"n": 291}


# Conditions that hold, or fail, at a few sizes far beyond their numbers.
RARE = (
    (sympy.Ne(n + 1, 100 * PythonMod(n, 8)), 299),
    (sympy.Eq(48 * PythonMod(n, 3) + sympy.Min(2 * n, FloorDiv(n, 2)), n), 191),
    (sympy.Eq(n, 50 * PythonMod(n, 16) + FloorDiv(n, 5)), 374),
)


@each(("condition", "size"), RARE)
def test_a_condition_that_turns_at_a_remainder_is_not_proven(condition: Any, size: int) -> None:
    assert bool(condition.subs(n, size)) != bool(condition.subs(n, size + 1))
    assert Facts().verdict(condition) is None


def test_a_decision_that_turns_at_one_size_has_both_sides() -> None:
    def large(x: Any) -> Any:
        return x * 2 if x.shape[0] + 1 != 100 * (x.shape[0] % 8) else x * 3

    dims = ({0: torch.export.Dim.DYNAMIC},)
    program = ow.export(as_module(large), (torch.ones(5),), dynamic_shapes=dims)
    for size in (5, 298, 299, 300):
        x = torch.ones(size)
        torch.testing.assert_close(program(x), large(x))


def test_two_sizes() -> None:
    known = Facts().verdict
    assert known(FloorDiv(n, 4) > FloorDiv(m, 4) + 10) is None
    assert known(FloorDiv(n, m) > 10) is None
    assert known(sympy.Eq(PythonMod(n + PythonMod(-n, 4), 4), 0)) is True
    assert known(FloorDiv(n, 4) + FloorDiv(m, 4) <= FloorDiv(n + m, 4)) is True


W = 4


def above(x: Any) -> Any:
    windows = x.shape[0] // W
    return x * 2 if windows > 5 else x


def one_number(x: Any) -> Any:
    return x + 1 if x.shape[0] // W != 9 else x


def rounded_up(x: Any) -> Any:
    frames = math.ceil(x.shape[0] / W)
    if frames >= 8:
        x = x.flip(0)
    return x


def padded_and_above(x: Any) -> Any:
    """A decision that is right for all sizes beside one that is not, and seems to be."""
    size = x.shape[0]
    if size % W:
        x = functional.pad(x, (0, 0, 0, W - size % W))
    if x.shape[0] // W > 10:
        x = x.cumsum(0)
    return x.view(x.shape[0] // W, W, 3).cumsum(1).reshape(-1, 3)[:size]


def first_windows(x: Any) -> Any:
    """The same on both sides up to 6 windows."""
    windows = x.shape[0] // W
    if windows > 1:
        x = x[: max(windows, 7) * W + W - 1]
    return x


def of_strides(x: Any) -> Any:
    y = x.t()[None].contiguous()
    y = functional.avg_pool1d(functional.pad(y, (2, 2)), 5, stride=3)
    return y + 1 if y.shape[-1] > 8 else y


def of_two(x: Any) -> Any:
    """A quotient of a quotient, and what is left over."""
    windows = x.shape[0] // W
    if windows % 3 == 2:
        return x.sum(0)
    return x.sum(0) * 2 if windows // 3 >= 3 else x.sum(0) * 3


@pytest.mark.share(5)
@pytest.mark.parametrize("size", [10, 50])
@pytest.mark.parametrize(
    "function",
    [above, one_number, rounded_up, padded_and_above, first_windows, of_strides, of_two],
)
def test_decisions_by_quotients_are_kept(function: Callable[..., Any], size: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = ow.export(function, (torch.randn(size, 3),), dynamic_shapes=({0: "n"},))
    right = 0
    for rows in (1, 4, 7, 8, 19, 20, 23, 24, 25, 28, 29, 35, 36, 39, 40, 41, 43, 44, 45, 48, 90):
        x = torch.randn(rows, 3)
        try:
            found = program(x)
        except ow.errors.ExportTypeError:  # the size is of the other side
            continue
        right += 1
        torch.testing.assert_close(found, function(x))
    assert right


@pytest.mark.parametrize(
    ("function", "size", "text"),
    [(above, 10, "at most 23"), (above, 30, "24 or more"), (rounded_up, 10, "at most 28")],
)
def test_the_warning_names_the_sizes(function: Callable[..., Any], size: int, text: str) -> None:
    with pytest.warns(ow.errors.OnnxwrightWarning, match=f"OW833(.|\n)*that is `n` of {text}"):
        ow.export(
            function, (torch.randn(size, 3),), dynamic_shapes=({0: "n"},), capture="non-strict"
        )


@pytest.mark.parametrize("function", [above, one_number, of_two])
def test_both_sides_of_a_quotient(function: Callable[..., Any]) -> None:
    program = ow.export(function, (torch.randn(10, 3),), dynamic_shapes=({0: "n"},), strict=True)
    for rows in (4, 8, 19, 23, 24, 35, 36, 39, 40, 48, 90):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(program(x), function(x))


def of_one_window(x: Any) -> Any:
    n = x.shape[0]
    y = functional.pad(x, (0, 0, 0, -n % W)).view(-1, W, 3)
    y = (y @ y.transpose(1, 2)).softmax(-1) @ y + torch.arange(y.shape[0])[:, None, None]
    return y.reshape(-1, 3)[:n], x[1::3] * 2, x[: n // W].relu(), x[3:].shape[0]


def test_one_window_in_the_example() -> None:
    """An axis of one element is spread over others: larger examples say that it is no constant."""
    dims = ({0: "n"},)
    with pytest.raises(ow.ExportError, match="OW834(?s:.*)is 1 in the example"):
        ow.export(of_one_window, (torch.randn(W, 3),), dynamic_shapes=dims, strict=True)
    program = ow.export(of_one_window, (torch.randn(2 * W, 3),), dynamic_shapes=dims, strict=True)
    same_results(program, of_one_window, (torch.randn(n, 3) for n in (3, 4, 5, 8, 11, 1, 2)))


def test_one_window_that_a_range_allows() -> None:
    dims = ({0: torch.export.Dim("n", max=W)},)
    with pytest.warns(ow.OnnxwrightWarning, match="OW833.*`n // 4 == 1`"):
        ow.export(lambda x: x[: x.shape[0] // W] + 1, (torch.randn(W, 3),), dynamic_shapes=dims)


class Frames(torch.nn.Module):  # type: ignore[misc]
    """As EnCodec: convolutions by strides, reflected rims, and a crop to the length of a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.down = torch.nn.ModuleList(
            [torch.nn.Conv1d(2, 2, 2 * stride, stride=stride) for stride in (2, 4)]
        )
        self.up = torch.nn.ConvTranspose1d(2, 2, 8, stride=8)

    def padded(self, x: Any, stride: int) -> Any:
        length, total = x.shape[-1], stride
        frames = torch.ceil(torch.tensor((length - 2 * stride + total) / stride + 1)).long() - 1
        more = frames * stride + 2 * stride - total - length
        rims = (total, int(more))
        missing = 0
        if length <= max(rims):
            missing = max(rims) - length + 1
            x = functional.pad(x, (0, missing))
        x = functional.pad(x, rims, "reflect")
        return x[..., : x.shape[-1] - missing]

    def forward(self, x: Any, mask: Any) -> Any:
        x = x * mask[:, None]
        for conv, stride in zip(self.down, (2, 4), strict=True):
            x = conv(self.padded(x, stride))
        x = self.up(x)
        if mask.shape[-1] < x.shape[-1]:
            x = x[..., : mask.shape[-1]]
        return x


@pytest.mark.share(2)
@pytest.mark.parametrize("size", [64, 33])
def test_frames_of_sound(size: int) -> None:
    module = Frames().eval()

    def given(length: int) -> tuple[Any, Any]:
        return torch.randn(1, 2, length), (torch.rand(1, length) > 0.2).float()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = ow.export(module, given(size), dynamic_shapes=({2: "n"}, {1: "n"}))
    for length in (200, 101, 65, 64, 63, 40, 33, 32, 31, 25, 24, 17, 16, 12, 9, 8, 5, 3):
        values = given(length)
        try:
            found = program(*values)
        except ow.errors.ExportTypeError:
            assert length < 25  # the rims are longer than what they reflect
            continue
        torch.testing.assert_close(found, module(*values), rtol=1e-4, atol=1e-5)
