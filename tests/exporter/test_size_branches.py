"""Both sides of decisions by sizes in one If, also of those for sizes of 1 and 0."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import onnxwright as ow
from tests.exporter.test_sizes import CASES
from tests.harness.modules import module_with, same_results
from tests.harness.tables import each


@contextmanager
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.errors.OnnxwrightWarning)
        yield


def check(program: Any, function: Callable[..., Any], *sizes: tuple[int, ...]) -> None:
    """Compare with PyTorch at sizes of the inputs `[n, 3]`."""
    same_results(program, function, (tuple(torch.randn(n, 3) for n in given) for given in sizes))


# The sides of "unequal" and "equal" have other ranks; above 64 is declared in "dim".
JOINED = [n for n in CASES if n not in ("unequal", "equal", "strict_capture")
          and not n.endswith("strict_capture")]  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("name", JOINED)
def test_both_sides_of_a_decision_are_exported(name: str) -> None:
    case = CASES[name]
    args = tuple(torch.randn(n, 3) for n in case.sizes)
    dynamic = tuple({0: d} for d in case.dynamic)
    with without_warnings():
        program = ow.export(case.function, args, dynamic_shapes=dynamic, strict=True, verify=True)
    assert [node.op_type for node in program.model.graph].count("If") == 1
    assert "onnxwright.size_guards" not in program.model.metadata_props
    check(program, case.function, *case.right, *(s for s in case.wrong if s != (65,)))


def lengths(x: Any, y: Any) -> Any:
    """A decision by two sizes; equal ones in the example stay two names."""
    return x.sum(0) + y.sum(0) if x.shape[0] == y.shape[0] else x.sum(0) - y.sum(0)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 5)])
def test_equal_and_unequal_lengths(sizes: tuple[int, int]) -> None:
    args = tuple(torch.randn(n, 3) for n in sizes)
    program = ow.export(lengths, args, dynamic_shapes=({0: "n"}, {0: "m"}), strict=True)
    assert [str(v.shape[0]) for v in program.model.graph.inputs] == ["n", "m"]
    check(program, lengths, (4, 4), (3, 7), (6, 6))


@module_with(lambda: {"first": torch.nn.Linear(3, 4), "second": torch.nn.Linear(3, 4)})
def Nested(self, x: Any) -> Any:
    """Several decisions, weights used on one side only, results of several types."""
    n = x.shape[0]
    if n > 8:
        y = self.first(x[:8]) if n % 2 else self.first(x) * 2
    else:
        y = self.second(x)
    return {"y": y.sum(0), "n": n, "big": n * 2}


def test_decisions_within_decisions() -> None:
    model = Nested().eval()
    program = ow.export(model, (torch.randn(9, 3),), dynamic_shapes=({0: "n"},), strict=True)
    assert sorted(n for n in program.model.graph.initializers if "weight" in n)
    check(program, model, (9,), (10,), (4,), (8,), (13,))


# -- sizes of 1, which torch takes for constants ---------------------------------------------------


def unequal_to_one(x: Any) -> Any:
    if x.shape[0] != 1:
        x = x - x.mean(0)
    return x * 2


def above_one(x: Any) -> Any:
    return x.mean(0) if x.shape[0] > 1 else x[0] * 0


def of_two_conditions(x: Any) -> Any:
    return x * 3 if x.shape[0] == 1 and x.shape[1] == 3 else x


def one_or_many(x: Any) -> Any:
    return x * 3 if x.shape[0] == 1 or x.shape[0] > 4 else x


def squeezed(x: Any) -> Any:
    """`squeeze` removes the axis on one side, and keeps it on the other."""
    return x.squeeze(0).abs() if x.shape[0] == 1 else x.squeeze(0).sum(0)


def broadcast(x: Any) -> Any:
    if x.shape[0] == 1:
        x = x.expand(5, 3) + torch.arange(5.0)[:, None]
    return x * 2


def added_to_rows(x: Any) -> Any:
    return (x + torch.ones(4, 3)).sum(0) if x.shape[0] == 1 else x.sum(0)


def number_of_rows(x: Any) -> Any:
    """A number of Python that is 1 on one side."""
    return x * int(x.shape[0]) if x.shape[0] == 1 else x * 2


def truth_of_a_number(x: Any) -> Any:
    return x * 2 if not x.shape[0] - 1 else x


def among_others(x: Any) -> Any:
    if x.shape[0] < 4:
        if x.shape[0] == 1:
            return x * 10
        return x * 20
    return x


def written(x: Any) -> Any:
    x = x.clone()
    if x.shape[0] == 1:
        x[0] = 7
    return x


ONES = [unequal_to_one, above_one, of_two_conditions, one_or_many, squeezed, broadcast,
        added_to_rows, number_of_rows, truth_of_a_number, among_others, written]  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("function", ONES)
@pytest.mark.parametrize("size", [1, 4])
def test_a_size_of_one(function: Callable[..., Any], size: int) -> None:
    with without_warnings():
        program = ow.export(function, (torch.randn(size, 3),), dynamic_shapes=({0: "n"},))
    check(program, function, *((n,) for n in range(1, 7)))


def test_an_axis_that_a_side_squeezes_is_not_one() -> None:
    """Torch removes it for a size of 1 only, and takes sizes for 2 or more."""

    def function(x: Any) -> Any:
        return x.squeeze(0).sum(0) if x.shape[0] <= 2 else x[1] * 2

    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW833.*n > 2 or n != 1"):
        program = ow.export(function, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},))
    check(program, function, (2,), (3,))
    with pytest.raises(TypeError, match="n != 1"):
        program(torch.ones(1, 3))


# -- several conditions ----------------------------------------------------------------------------


def divided(x: Any, n: int) -> Any:
    return x.sum(0) * 7 if n == 1 else x.sum(0) / n


def in_a_called_function(x: Any) -> Any:
    return divided(x * 2, x.shape[0]) + 1


def in_a_loop(x: Any) -> Any:
    for k in (1, 3, 5):
        if x.shape[0] >= k:
            x = x + k
        elif x.shape[0] == k - 1:
            x = x * k
    return x


def three_deep(x: Any) -> Any:
    n = x.shape[0]
    if n > 2:
        if n % 2:
            return x * 5 if n == 5 else x * 3
        if n > 6:
            return x - 6
    elif n == 1:
        return x * 100
    return x


def of_other_shapes(x: Any) -> Any:
    if x.shape[0] == 1:
        return x.repeat(3, 1)
    return x[:4] if x.shape[0] > 4 else torch.cat([x, x])


def chained_and_in(x: Any) -> Any:
    n = x.shape[0]
    if 1 < n <= 3:
        x = x * 2
    if n in (1, 4, 6):
        x = x + 10
    return x - 1 if n not in (2, 3) else x


def matched(x: Any) -> Any:
    match x.shape[0]:
        case 1:
            return x * 11
        case 2 | 3:
            return x * 23
        case n if n > 6:
            return x * n
        case _:
            return x


def least_and_largest(x: Any) -> Any:
    n = x.shape[0]
    if min(n, 4) == 1:
        return x * 9
    return x * abs(n - 8) if max(n, 5) > 5 else x * abs(3 - n)


def picked(x: Any) -> Any:
    """An item at a place, or with a key, that is a size."""
    n, table = x.shape[0], {1: 10.0, 4: 40.0, 7: 5.0}
    scale = [1.0, 2.0, 4.0, 8.0][min(n, 3)] + table.get(n, 0.5) + (table[n] if n in table else 3)
    return (x, x + 1)[n % 2] * scale + [5, 6][-1 - n % 2]


def cut(x: Any) -> Any:
    """A bound of a slice that is a number or None."""
    k, few = x.shape[0] // 4, int((x > 0).sum()) // 4
    y = x[k : -k or None].sum(0) + x[: None if k == 0 else -k].sum()
    return y * 2 + x[few : -few or None].sum(0) + x[:, : -min(few, 1) or None].sum()


SEVERAL = [in_a_called_function, in_a_loop, three_deep, of_other_shapes, chained_and_in, matched,
           least_and_largest, picked, cut]  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("function", SEVERAL)
def test_several_conditions(function: Callable[..., Any]) -> None:
    with without_warnings():
        program = ow.export(function, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},))
    check(program, function, *((n,) for n in range(1, 10)))


def of_a_product(x: Any, y: Any) -> Any:
    if x.shape[0] * y.shape[0] > 10:
        return x.sum(0) - y.sum(0)
    if x.shape[0] == 1 and y.shape[0] == 1:
        return (x * y)[0]
    return (x + y).sum(0) if x.shape[0] == 1 else x.sum(0) + y.sum(0)


def of_shapes(x: Any, y: Any) -> Any:
    if x.shape != y.shape:
        y = y.sum(0, keepdim=True).expand(x.shape)
    z = x + y if list(x.shape) == [4, 3] or x.shape == (0, 3) else x - y
    n, is_two = x.shape[0], bool(x.shape[0] == 2)
    z = z + is_two + int(y.shape == torch.Size([1, 3])) + (n ^ 5)
    return z * (5 if x.shape in (y.shape[:1], (5, 3)) else 3) * (x.shape == [4, 3] or 2)


def of_empty(x: Any, y: Any) -> Any:
    if len(x) == 0 and len(y) == 0:
        return x.sum(0) + 9
    z = x.sum(0) / (len(x) or 1) + (len(y) and 3)
    z = z * 2 if len(x) > 2 or len(y) == 0 else z - 1
    z = z * 3 if 0 in (len(x), len(y)) else z - 2
    z = z * 5 if any([len(x) == 0, len(y) == 3]) else z - 3
    z = z * 7 if all(len(part) > 0 for part in (x, y)) else z - 5
    return z + 1 if len(x) > 0 and len(y) > 0 and x.max() > y.max() else z - 7


@each("function", (of_a_product, of_shapes, of_empty))
def test_two_sizes(function: Callable[..., Any]) -> None:
    args = (torch.randn(4, 3), torch.randn(5, 3))
    for some in (args, (args[0], args[0] + 1)):
        with without_warnings():
            program = ow.export(function, some, dynamic_shapes=({0: "n"}, {0: "m"}))
        check(program, function, (1, 1), (1, 4), (4, 1), (2, 3), (4, 5), (1, 12), (4, 4), (5, 5))
        if function is not of_a_product:
            check(program, function, (0, 0), (0, 1), (1, 0), (0, 3), (3, 0))


# -- sizes of 0 ------------------------------------------------------------------------------------


def not_empty(x: Any) -> Any:
    return x.sum(0) if len(x) else torch.ones(3)


def not_any(x: Any) -> Any:
    if not len(x):
        return x.new_ones(3)
    return x.sum(0)


def above_zero(x: Any) -> Any:
    return x.sum(0) if x.shape[0] > 0 else torch.ones(3)


def zero_then_one(x: Any) -> Any:
    if x.shape[0] == 0:
        return torch.ones(3)
    assert x.shape[0] > 0  # known here
    return x[0] * 5 if x.shape[0] == 1 else x.sum(0)


@pytest.mark.share(2)
@pytest.mark.parametrize("function", [not_empty, not_any, above_zero, zero_then_one])
def test_a_size_of_zero(function: Callable[..., Any]) -> None:
    with without_warnings():
        program = ow.export(function, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},))
    check(program, function, (0,), (1,), (2,), (5,))


def asks_again(x: Any) -> Any:
    if x.shape[0] == 0:
        return torch.ones(3) * (5 if x.shape[0] < 1 else 4) + (x.shape[0] >= 1) * 7
    return x.sum(0)


@pytest.mark.parametrize("function", [asks_again, in_a_loop])
def test_a_side_of_size_zero_may_compare_it_again(function: Callable[..., Any]) -> None:
    with without_warnings():
        program = ow.export(function, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},))
    check(program, function, (0,), (1,), (2,), (5,))


def one_within_at_most_one(x: Any) -> Any:
    """The inner decision is one for sizes of 0 and 1."""
    if x.shape[0] <= 1:
        return x.sum(0) + (5 if x.shape[0] == 1 else 7)
    return x.sum(0)


def test_a_size_of_zero_that_is_excluded() -> None:
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW833.*n >= 1"):
        program = ow.export(
            one_within_at_most_one, (torch.randn(4, 3),), dynamic_shapes=({0: "n"},)
        )
    check(program, one_within_at_most_one, (1,), (2,), (5,))
    with pytest.raises(TypeError, match="n >= 1"):
        program(torch.ones(0, 3))


# -- the argument of before ------------------------------------------------------------------------


def test_size_branches_is_deprecated() -> None:
    with pytest.warns(
        DeprecationWarning, match="`size_branches` of `export` is deprecated"
    ) as said:
        ow.export(torch.nn.ReLU(), (torch.ones(2),), size_branches=True)
    assert said[0].filename == __file__
