"""What Python asks of the objects that stand for numbers: `is True`, `type`, `isinstance`."""

from __future__ import annotations

import functools
import numbers
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, OnnxwrightWarning
from tests.exporter.source.programs import as_module


def is_true(x):
    ok = bool(x.sum() > 0)
    if ok is True:
        return x * 2
    return x - 1


def is_not_false(x):
    ok = bool(x.sum() > 0)
    if ok is not False:
        return x * 2
    return x - 1


def item_is_true(x):
    ok = (x.sum() > 0).item()
    return x * 2 if ok is True else x - 1


def negation_is_true(x):
    calm = not x.max() > 1
    both = calm and bool(x.sum() > 0)
    return x * 2 if calm is True and both is not True else x - 1


def a_tensor_is_never_true(x):
    positive = x.sum() > 0
    return x * 2 if positive is True else x - 1


def cases_of_truth(x):
    match bool(x.sum() > 0):
        case True:
            return x * 2
        case False:
            return x - 1


def cases_of_two_truths(x):
    match (bool(x.sum() > 0), bool(x.max() > 1)):
        case (True, True):
            return x * 2
        case (True, False):
            return x - 1
        case (False, _):
            return x + 7


def all_sides_return(x):
    positive, large = bool(x.sum() > 0), bool(x.max() > 1)
    if positive and large:
        return x * 2
    elif positive:
        return x - 1
    elif not positive:
        return x + 7


def class_of_a_truth(x):
    ok = bool(x.sum() > 0)
    return x * 2 if type(ok) is bool and isinstance(ok, bool) and ok else x - 1


def class_of_a_number(x):
    n = x.sum().item()
    if isinstance(n, torch.Tensor) or type(n) is int:
        return x
    return x + n if isinstance(n, float) else x - 1


def class_of_a_chosen_number(x):
    n = 2 if x.sum() > 0 else 3
    return x * n if isinstance(n, int) and not isinstance(n, torch.Tensor) else x


def cases_of_classes(x):
    n = x.sum().item()
    match n:
        case int() | str():
            return x
        case float() if n > 1:
            return x * 2
        case float(v):
            return x + v


def class_of_a_list(x):
    rows = []
    for row in x.unsqueeze(1):
        if row.sum() > 0:
            rows.append(row)
    return x * 2 if isinstance(rows, list) and len(rows) > 1 else x - 1


PROGRAMS = (
    is_true, is_not_false, item_is_true, negation_is_true, a_tensor_is_never_true, cases_of_truth,
    cases_of_two_truths, all_sides_return, class_of_a_truth, class_of_a_number,
    class_of_a_chosen_number, cases_of_classes, class_of_a_list,
)  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_number_of_run_time_has_the_kind_that_it_has_in_python(
    function: Callable[..., Any],
) -> None:
    model = as_module(function).eval()
    inputs = [
        torch.tensor(x)
        for x in ([0.5, 2.0, 0.1], [-1.0, 0.2, 0.1], [0.5, 0.3, 0.1], [-9.0, 2.0, 0.1])
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(model, (inputs[0],))
    for x in inputs:
        torch.testing.assert_close(program(x), model(x))


def cancelled_floats(x):
    a, b = x[0].item(), x[1].item()
    return a - a, a * 0, (a + b) - b, a == a, a != a, a % 1.0, torch.tensor([a - a, b])


def checks_of_floats(x):
    n = 0
    for v in x.tolist():
        if v != v or v == float("inf"):
            n += 1
        elif v < float("inf") and v - v == 0 and v.is_integer():
            n += 10
    return n, torch.tensor([x[0].item() > 0, True]), torch.as_tensor(x[1].item() > 0)


def extremes_of_floats(x):
    best, least = float("-inf"), float("inf")
    for v in x.tolist():
        if v > best:
            best = v
        least = min(least, v)
    return best, least, max(x[0].item(), x[1].item())


def extremes_of_rows(x):
    return max(x), min([v * 2 for v in x]), max(x, key=lambda v: -v), min(x, key=lambda v: v + 1)


@pytest.mark.parametrize(
    "function", [cancelled_floats, checks_of_floats, extremes_of_floats, extremes_of_rows]
)
def test_a_float_of_run_time_may_be_nan_or_infinite(function: Callable[..., Any]) -> None:
    model, nan, inf = as_module(function), float("nan"), float("inf")
    sizes = ({0: "n"},) if function is extremes_of_rows else None
    program = ow.export(model, (torch.tensor([0.5, 2.0, 0.1]),), dynamic_shapes=sizes)
    for x in (
        [0.5, 2.0, 0.1],
        [nan, 1.0, 2.0],
        [inf, 1.5, nan],
        [1.0, inf, -inf],
        [-inf, nan, 0.0],
    ):
        for a, b in zip(program(torch.tensor(x)), model(torch.tensor(x)), strict=True):
            torch.testing.assert_close(
                torch.as_tensor(a).double(), torch.as_tensor(b).double(), equal_nan=True
            )
            assert not isinstance(b, torch.Tensor) or a.dtype == b.dtype


class OfSizes(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        large = x.shape[0] > 4
        return x * 2 if large is True else x - 1


def test_a_comparison_of_sizes_is_true_where_it_holds() -> None:
    rows = torch.export.Dim("rows", min=2, max=32)
    program = ow.export(OfSizes(), (torch.ones(3),), dynamic_shapes=({0: rows},))
    for n in (2, 4, 5, 9):
        x = torch.ones(n)
        torch.testing.assert_close(program(x), OfSizes()(x))


def as_list(value):
    return value if type(value) in (list, tuple) else [value]


class Scale:
    def of(self, size):
        return 2.0 if isinstance(size, numbers.Integral) else 3.0


SCALE = Scale()


def size_is_an_int(x):
    return x * 2 if isinstance(x.shape[0], int) else x - 1


def half_of_a_size_is_a_float(x):
    half = x.shape[0] / 2
    return x * half if isinstance(half, float) and not isinstance(half, int) else x - 1


def class_of_a_size(x):
    return x.reshape([*as_list(x.shape[0]), -1]) * {int: 2, float: 3}.get(type(x.shape[0]), 4)


def asked_in_a_method_and_a_closure(x):
    def ask(size):
        return functools.partial(SCALE.of)(size)

    return x * ask(x.shape[0])


def size_of_a_case(x):
    match x.shape[0]:
        case int():
            return x * 2
        case _:
            return x - 1


def size_that_is_captured(x):
    return x * 2 - isinstance(x, type) if isinstance(x.shape[0], (torch.SymInt, str)) else x


OF_SIZES = (
    size_is_an_int, half_of_a_size_is_a_float, class_of_a_size,
    asked_in_a_method_and_a_closure, size_of_a_case,
)  # fmt: skip


@pytest.mark.parametrize("function", OF_SIZES, ids=lambda f: f.__name__)
def test_a_dynamic_size_is_a_number_of_python(function: Callable[..., Any]) -> None:
    model = as_module(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(
            model, (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
        )
    for n in (1, 3, 6):
        x = torch.arange(n) + 1.0
        torch.testing.assert_close(program(x), model(x))
    assert "isinstance" not in globals()


def test_a_program_may_ask_for_the_class_of_pytorch() -> None:
    dims = ({0: torch.export.Dim.DYNAMIC},)
    program = ow.export(as_module(size_that_is_captured), (torch.ones(3),), dynamic_shapes=dims)
    torch.testing.assert_close(program(torch.ones(5)), torch.ones(5) * 2)


def test_another_capture_refuses_what_a_value_decides() -> None:
    model = as_module(item_is_true)
    with pytest.raises(ExportError, match="OW821"):
        ow.export(model, (torch.ones(3),), capture="non-strict")


def places(x):
    return [n for n in range(3) if x[n] > 0]


def ints_that_may_be_none(x):
    return torch.tensor(places(x))


def truths_that_may_be_none(x):
    return torch.as_tensor([n > 1 for n in places(x)])


def ints_of_a_named_type(x):
    return torch.tensor(places(x), dtype=torch.int64)


def ints_where_there_are_some(x):
    found = places(x)
    return torch.tensor(found) if found else torch.zeros(0, dtype=torch.int64)


def floats_that_may_be_none(x):
    return torch.tensor([float(x[n]) for n in places(x)])


@pytest.mark.parametrize(
    ("function", "is_named"),
    [(ints_that_may_be_none, True), (truths_that_may_be_none, True), (ints_of_a_named_type, False),
     (ints_where_there_are_some, False), (floats_that_may_be_none, False)],
)  # fmt: skip
def test_the_type_of_a_list_that_may_be_empty_is_named(
    function: Callable[..., Any], is_named: bool
) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(as_module(function), (torch.ones(3),))
    assert any("OW864" in str(one.message) for one in found) is is_named
    for x in (torch.ones(3), torch.tensor([-1.0, 2, 3]), -torch.ones(3)):
        wanted = function(x)
        assert torch.equal(program(x).to(wanted.dtype), wanted)
