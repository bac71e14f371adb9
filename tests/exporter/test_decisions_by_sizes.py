"""Decisions by sizes that are exported for both of their sides: "pad if it does not fit"."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.nn import functional

import onnxwright as ow
from tests.harness.modules import module_with, same_results

W = 4
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13)


def windows(x: Any) -> Any:
    """Sums within windows of 4 rows; other numbers of rows are refused."""
    return x.view(x.shape[0] // W, W, 3).cumsum(1).flip(1).reshape(x.shape)


def remainder(x: Any) -> Any:
    n = x.shape[0]
    if n % W != 0:
        x = functional.pad(x, (0, 0, 0, W - n % W))
    return windows(x)[:n]


def truth_of_remainder(x: Any) -> Any:
    n = x.shape[0]
    if n % W:
        x = functional.pad(x, (0, 0, W - n % W, 0))
    return windows(x)[-n:]


def negated_test(x: Any) -> Any:
    n = x.shape[0]
    if not n % W == 0:
        x = functional.pad(x, (0, 0, 0, W - n % W))
    return x.reshape(-1, W, 3).sum(1)


def missing(x: Any) -> Any:
    """As Longformer."""
    n = x.shape[0]
    padding = (W - n % W) % W
    if padding > 0:
        x = functional.pad(x, (0, 0, 0, padding), value=0.5)
    return windows(x)[:n]


def cropped_again(x: Any) -> Any:
    n = x.shape[0]
    padding = (-n) % W
    if padding > 0:
        x = functional.pad(x, (0, 0, 0, padding))
    x = windows(x)
    if padding > 0:
        x = x[:-padding]
    return x


def computed_before(x: Any) -> Any:
    n = x.shape[0]
    padding = W - n % W
    if padding != W:
        x = functional.pad(x, (0, 0, 0, padding))
    return windows(x)[:n]


def ternary(x: Any) -> Any:
    n = x.shape[0]
    padding = 0 if n % W == 0 else W - n % W
    return windows(functional.pad(x, (0, 0, 0, padding)))[:n]


def rounded_up(x: Any) -> Any:
    n = x.shape[0]
    length = math.ceil(n / W) * W
    if length != n:
        x = functional.pad(x, (0, 0, 0, length - n))
    return windows(x)[:n]


def next_multiple(x: Any) -> Any:
    n = x.shape[0]
    if n % W != 0:
        length = (n // W + 1) * W
        x = functional.pad(x, (0, 0, 0, length - n))
    return windows(x)[:n]


def copied_into_zeros(x: Any) -> Any:
    n = x.shape[0]
    if n % W != 0:
        y = x.new_zeros(n + W - n % W, x.shape[1])
        y[:n] = x
        x = y
    return windows(x)[:n]


def zeros_joined(x: Any) -> Any:
    n = x.shape[0]
    rest = n % W
    if rest > 0:
        x = torch.cat([x, torch.zeros(W - rest, x.shape[1])])
    return windows(x)[:n]


def left_early(x: Any) -> Any:
    n = x.shape[0]
    if n % W == 0:
        return windows(x)
    return windows(functional.pad(x, (0, 0, 0, W - n % W)))[:n]


def length_goes_on(x: Any) -> Any:
    n = length = x.shape[0]
    padding = 0
    if n % W != 0:
        padding = W - n % W
        x = functional.pad(x, (0, 0, 0, padding))
        length = n + padding
    x = x.view(length // W, W, 3).flip(1).reshape(length, 3)
    if padding > 0:
        x = x[:n]
    return x


def rest_left_out(x: Any) -> Any:
    rest = x.shape[0] % W
    if rest:
        x = x[:-rest]
    return windows(x)


def at_least(x: Any) -> Any:
    n = x.shape[0]
    if n < 7:
        x = functional.pad(x, (0, 0, 0, 7 - n))
    return x.cumsum(0)


def at_most(x: Any) -> Any:
    if x.shape[0] > 8:
        x = x[:8]
    return x.cumsum(0)


def last_ones(x: Any) -> Any:
    if x.shape[0] > 8:
        x = x[-8:]
    return x.cumsum(0)


def last_ones_by_start(x: Any) -> Any:
    n = x.shape[0]
    if n > 8:
        x = x[n - 8 :]
    return x.cumsum(0)


@dataclass(frozen=True)
class Case:
    """A function, and the size of the example: of the side that does less, or of the other."""

    function: Callable[..., Any]
    size: int


CASES = (
    Case(remainder, 8), Case(remainder, 10), Case(truth_of_remainder, 8), Case(negated_test, 8),
    Case(missing, 10), Case(cropped_again, 8), Case(computed_before, 9), Case(ternary, 8),
    Case(rounded_up, 8), Case(next_multiple, 8), Case(zeros_joined, 8), Case(left_early, 8),
    Case(length_goes_on, 8), Case(rest_left_out, 8), Case(at_least, 10), Case(at_most, 5),
    Case(last_ones, 10), Case(last_ones_by_start, 6),
)  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.function.__name__}-{c.size}")
def test_one_side_is_right_at_all_sizes(case: Case) -> None:
    """Without a warning (they are errors here), without a guard, and without an If."""
    program = ow.export(
        case.function, (torch.randn(case.size, 3),), dynamic_shapes=({0: "n"},), strict=True
    )
    assert "onnxwright.size_guards" not in program.model.metadata_props
    assert "If" not in [node.op_type for node in program.model.graph]
    same_results(program, case.function, (torch.randn(size, 3) for size in SIZES))


def test_what_was_done_is_in_the_report_and_verified() -> None:
    program = ow.export(
        remainder, (torch.randn(8, 3),), dynamic_shapes=({0: "n"},), verify=True, report=False
    )
    (decision,) = program.report.covered
    assert decision.text == "n % 4 != 0"
    assert decision.file == __file__
    assert decision.how == "one side, proven right at all sizes"
    assert "Decisions by sizes" in program.report.markdown()
    runs = {check.run for check in program.report.verification.outputs}
    assert "sizes of both sides" in runs


def different(x: Any) -> Any:
    return x + 1 if x.shape[0] % W else x


def always_padded(x: Any) -> Any:
    """A whole window of padding where nothing is missing."""
    n = x.shape[0]
    if n % W:
        x = functional.pad(x, (0, 0, 0, W - n % W))
    else:
        x = functional.pad(x, (0, 0, 0, W))
    return windows(x)


def scaled_above(x: Any) -> Any:
    n = x.shape[0]
    return x * (n / 8) if n > 8 else x


def turned_above(x: Any) -> Any:
    return x.flip(0) if x.shape[0] > 8 else x


def nothing_left(x: Any) -> Any:
    """`x[:-0]` is empty: what is right where the condition holds is not elsewhere."""
    n = x.shape[0]
    rest = n % W
    x = x[:-rest]
    return x.sum(0) if rest else x.sum(0) - 1


def later_by_value(x: Any) -> Any:
    """The sides differ where a value is what few inputs have."""
    n = x.shape[0]
    if n % W:
        x = functional.pad(x, (0, 0, 0, W - n % W), value=-1.0)
    else:
        x = x.clamp(min=0.25)
    return x.amax(0) + x.amin(0)


def one_of_some_sizes(x: Any) -> Any:
    return x * 2 if x.shape[0] in (3, 8, 10) else x + 1


@pytest.mark.share(2)
@pytest.mark.parametrize("size", [pytest.param(8, marks=pytest.mark.slow), 10])
@pytest.mark.parametrize(
    "function",
    [
        *(different, always_padded, scaled_above, turned_above, later_by_value),
        *(one_of_some_sizes, copied_into_zeros),
    ],
)
def test_sides_that_differ_are_both_exported(function: Callable[..., Any], size: int) -> None:
    program = ow.export(function, (torch.randn(size, 3),), dynamic_shapes=({0: "n"},), strict=True)
    assert "onnxwright.size_guards" not in program.model.metadata_props
    assert [d.how for d in program.report.covered] == ["both sides, in an If"]
    same_results(program, function, (torch.randn(n, 3) for n in SIZES))


def test_any_and_all_of_comparisons_of_sizes() -> None:
    def function(x: Any) -> Any:
        if any(x.shape[0] == n for n in (2, 10)):
            return x * 2
        return x + 1 if all(x.shape[0] != n for n in (3, 4)) else x - 1

    program = ow.export(function, (torch.randn(10, 3),), dynamic_shapes=({0: "n"},))
    same_results(program, function, (torch.randn(n, 3) for n in SIZES))


def of_other_rank(x: Any) -> Any:
    return x.sum(0) if x.shape[0] > 8 else x * 2


@pytest.mark.parametrize("function", [nothing_left, of_other_rank])
def test_sides_that_cannot_be_joined_stay_guarded(function: Callable[..., Any]) -> None:
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW833"):
        program = ow.export(function, (torch.randn(10, 3),), dynamic_shapes=({0: "n"},))
    assert not program.report.covered
    refused = 0
    for n in SIZES:
        x = torch.randn(n, 3)
        try:
            result = program(x)
        except ow.errors.ExportTypeError:
            refused += 1
        else:
            torch.testing.assert_close(result, function(x))
    assert refused


def mixed(x: Any) -> Any:
    """One decision of each kind."""
    n = x.shape[0]
    if n % W:
        x = functional.pad(x, (0, 0, 0, W - n % W))
    x = windows(x)[:n]
    return x * 2 if n > 8 else x


def test_decisions_are_taken_one_by_one() -> None:
    program = ow.export(mixed, (torch.randn(7, 3),), dynamic_shapes=({0: "n"},), strict=True)
    found = [(d.text, d.how.partition(",")[0]) for d in program.report.covered]
    assert found == [("n % 4 != 0", "one side"), ("n > 8", "both sides")]
    same_results(program, mixed, (torch.randn(n, 3) for n in SIZES))


def squares(x: Any) -> Any:
    """As the windows of Swin: two sizes."""
    h, w, d = x.shape
    if h % 2 or w % 2:
        x = functional.pad(x, (0, 0, 0, w % 2, 0, h % 2))
    one, two = x[0::2, 0::2], x[1::2, 1::2]
    return torch.cat([one, two], -1)


def partitioned(x: Any) -> Any:
    """Windows of two sizes, each flipped, and back."""
    h, w = x.shape[:2]
    y = x.view(h // W, W, w // W, W, 3).permute(0, 2, 1, 3, 4).reshape(-1, W * W, 3)
    y = y.cumsum(1).view(h // W, w // W, W, W, 3).permute(0, 2, 1, 3, 4)
    return y.reshape(h, w, 3)


def partitions(x: Any) -> Any:
    h, w = x.shape[:2]
    if h % W or w % W:
        x = functional.pad(x, (0, 0, 0, (W - w % W) % W, 0, (W - h % W) % W))
    return partitioned(x)[:h, :w].contiguous()


def partitions_one_by_one(x: Any) -> Any:
    """As Swin: whether rows were added is a truth value of its own."""
    h, w = x.shape[:2]
    if w % W != 0:
        x = functional.pad(x, (0, 0, 0, W - w % W))
    if h % W != 0:
        x = functional.pad(x, (0, 0, 0, 0, 0, W - h % W))
    was_padded = x.shape[0] != h or x.shape[1] != w
    x = partitioned(x)
    if was_padded:
        x = x[:h, :w].contiguous()
    return x


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("function", "sizes"),
    [(squares, (6, 8)), (squares, (5, 7)), (partitions, (9, 10)), (partitions_one_by_one, (9, 8))],
)
def test_two_sizes(function: Callable[..., Any], sizes: tuple[int, int]) -> None:
    x = torch.randn(*sizes, 3)
    program = ow.export(function, (x,), dynamic_shapes=({0: "h", 1: "w"},), strict=True)
    for h in (2, 3, 4, 5, 8, 11):
        same_results(program, function, (torch.randn(h, w, 3) for w in (2, 3, 6, 7, 8)))


def demanding(x: Any) -> Any:
    """As Longformer: the windows demand what the padding gives; halves of numbers of run time."""
    n = x.shape[0]
    padding = (W - n % W) % W
    if padding > 0:
        x = functional.pad(x, (0, 0, 0, padding))
    assert x.shape[0] % W == 0
    count = torch.tensor(x.shape[0]) * (x.sum() < 1e9)
    return windows(x)[:n] * torch.arange(int(count))[:n, None]


def halved(x: Any) -> Any:
    """Padding beside a loop that a value decides."""
    x = remainder(x)
    while x.abs().sum() > 5:
        x = x / 2
    return x


def test_padding_beside_a_loop_by_values() -> None:
    program = ow.export(halved, (torch.randn(5, 3),), dynamic_shapes=({0: "n"},), strict=True)
    assert [d.text for d in program.report.covered] == ["n % 4 != 0"]
    same_results(program, halved, (9 * torch.randn(n, 3) for n in (1, 4, 7)))


def halved_and_cropped(x: Any) -> Any:
    """As LED: a value decides, one line pads, another one that only this side has crops."""
    if x.abs().sum() > 5:
        x = x / 2
    n = x.shape[0]
    padding = (W - n % W) % W
    if padding > 0:
        x = functional.pad(x, (0, 0, 0, padding))
    x = windows(x)
    if padding > 0:
        x = x[:-padding]
    return x if x.sum() > 0 else x - 1


@pytest.mark.share(2)
@pytest.mark.parametrize("size", [5, 8])
def test_several_captures_beside_decisions_by_values(size: int) -> None:
    """Each capture of a search by source has the functions rewritten that decide."""
    x = torch.randn(size, 3)
    program = ow.export(halved_and_cropped, (x,), dynamic_shapes=({0: "n"},), strict=True)
    for n in (1, 4, 7):
        same_results(program, halved_and_cropped, (scale * torch.randn(n, 3) for scale in (1, 9)))


def by_value_first(x: Any) -> Any:
    """In rewritten code; the windows demand a multiple on the side that does not pad."""
    if x.sum() > 0:
        x = x * 2
    must_pad = x.shape[0] % W != 0 and x.ndim == 2
    if must_pad:
        x = functional.pad(x, (0, 0, 0, W - x.shape[0] % W))
    return x.view(x.shape[0] // W, W, 3).cumsum(1).reshape(-1, 3)


def test_demands_of_operators_hide_no_decision() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(by_value_first, (torch.ones(8, 3),), dynamic_shapes=({0: "n"},))
    for n in (1, 4, 6, 8):
        x = torch.rand(n, 3)
        if n % W and not program.report.covered:
            assert "OW833" in " ".join(str(w.message) for w in found)
            with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
                program(x)
        else:
            torch.testing.assert_close(program(x), by_value_first(x))


def test_demands_of_what_follows_are_kept() -> None:
    """The side that does less agrees with itself at multiples only, and is not taken for all."""
    program = ow.export(demanding, (torch.randn(6, 3),), dynamic_shapes=({0: "n"},), strict=True)
    assert [d.text for d in program.report.covered] == ["((4 - (n % 4)) % 4) > 0"]
    same_results(program, demanding, (torch.randn(n, 3) for n in (1, 3, 4, 5, 8, 10)))


def small_images_apart(x: Any) -> Any:
    """Padding that is right at all sizes, beside a decision that is not."""
    n = x.shape[0]
    if n <= 2 * W:
        x = x * 2
    if n % W:
        x = functional.pad(x, (0, 0, 0, W - n % W))
    return windows(x)[:n]


def test_padding_is_for_all_sizes_beside_another_decision() -> None:
    program = ow.export(
        small_images_apart, (torch.randn(12, 3),), dynamic_shapes=({0: "n"},), strict=True
    )
    same_results(program, small_images_apart, (torch.randn(n, 3) for n in range(5, 18)))


class Layer(torch.nn.Module):  # type: ignore[misc]
    """A mask beside the rows, both padded; in two layers the decision is one line."""

    def forward(self, x: Any, mask: Any) -> Any:
        n = x.shape[1]
        if n % W != 0:
            x = functional.pad(x, (0, 0, 0, W - n % W))
            mask = functional.pad(mask, (0, W - n % W), value=False)
        x = x.masked_fill(~mask[..., None], 0.0)
        return x.view(2, x.shape[1] // W, W, 3).cumsum(2).reshape(x.shape)[:, :n]


@module_with(lambda: {"layers": torch.nn.ModuleList([Layer(), Layer()])})
def Layers(self, x: Any, mask: Any) -> Any:
    for layer in self.layers:
        x = layer(x, mask)
    return x


def test_layers_with_a_mask_of_the_same_length() -> None:
    shapes = {"x": {1: "n"}, "mask": {1: "n"}}
    given = (torch.randn(2, 8, 3), torch.ones(2, 8, dtype=torch.bool))
    program = ow.export(Layers(), given, dynamic_shapes=shapes, strict=True, verify=True)
    for n in SIZES:
        x, mask = torch.randn(2, n, 3), torch.rand(2, n) > 0.3
        mask[:, 0] = True
        torch.testing.assert_close(program(x, mask), Layers()(x, mask))
