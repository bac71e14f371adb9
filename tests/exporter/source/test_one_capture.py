"""However many functions decide, one capture by source takes them all, and changes none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from tests.exporter.source.programs import as_module


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What torch.export was called with."""
    calls: list[Any] = []
    export = torch.export.export

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return export(*args, **kwargs)

    monkeypatch.setattr(torch.export, "export", counted)
    return calls


def step(n: int) -> Callable[[Any], Any]:
    def one(x: Any) -> Any:
        return x * 2 if x.sum() > n else x - 1

    return one


STEPS = [step(n) for n in range(12)]


def many(x):
    for one in STEPS:
        x = one(x)
    return x


@torch.no_grad()
def under_a_decorator_of_torch(x):
    return x * 2 if x.sum() > 0 else x - 1


def halved(x):
    return x / 2 if x.max() > 1 else x


def given_to_functions_of_python(x):
    return functools.reduce(lambda a, b: a + b if b.sum() > 0 else a, map(halved, [x, -x, x * 3]))


class Doubled(torch.autograd.Function):
    """A function with gradients of its own; it decides."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return halved(x) * 2


def has_a_rare_side(x):
    try:
        if x.sum() > 0:
            return x * 2
    except RuntimeError:
        return x * 100
    return x - 1


def chosen_lists_are_written(x):
    lists = [[x + n] for n in range(4)]
    for n in range(3):
        one = lists[n] if x.sum() > n else lists[n + 1]
        one[0] = one[0] * 2
    return torch.stack([held[0] for held in lists])


def chosen_tensors_are_written(x):
    parts = [x + n for n in range(4)]
    for n in range(3):
        one = parts[n] if x.sum() > n else parts[n + 1]
        one.mul_(2)
    return torch.stack(parts)


def slice_with_gradients(x):
    first = int(x.argmax())
    y = torch.nn.functional.linear(x, WEIGHT)
    y[first:] *= 3
    return y


WEIGHT = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
INPUTS = (torch.tensor([1.0, -3.0]), torch.tensor([2.0, 3.0]), torch.tensor([-1.0, 0.5]))


def _is_right(function: Any, program: Any) -> None:
    for x in INPUTS:
        torch.testing.assert_close(program(x), function(x))


def test_functions_that_decide_cost_no_captures_of_their_own(captures: list[Any]) -> None:
    code = STEPS[0].__code__
    program = ow.export(as_module(many), (INPUTS[0],))
    assert [one.strategy for one in program.report.captures] == ["source"]
    assert len(captures) == 1
    _is_right(many, program)
    assert all(one.__code__ is code for one in STEPS)


def test_a_model_that_decides_nothing_is_captured_once(captures: list[Any]) -> None:
    ow.export(torch.nn.Linear(2, 3), (INPUTS[0],))
    assert len(captures) == 1


@pytest.mark.parametrize(
    "function",
    [
        under_a_decorator_of_torch,
        given_to_functions_of_python,
        has_a_rare_side,
        chosen_lists_are_written,
        chosen_tensors_are_written,
        slice_with_gradients,
    ],  # fmt: skip
    ids=lambda f: f.__name__,
)
def test_functions_that_others_call(function: Any, captures: list[Any]) -> None:
    program = ow.export(as_module(function), (INPUTS[0],), capture="source")
    assert len(captures) == 1
    _is_right(function, program)


def test_an_except_of_the_model_does_not_take_what_stops_a_capture() -> None:
    program = ow.export(as_module(has_a_rare_side), (INPUTS[0],))
    _is_right(has_a_rare_side, program)
    with pytest.raises(ow.errors.ExportError, match="OW821"):
        ow.export(as_module(has_a_rare_side), (INPUTS[0],), capture="non-strict")


def test_tags_that_nothing_reads_are_not_in_the_model() -> None:
    """Which tensor `y` is, is needed where it is written to alone."""

    def carried(x):
        y, n = x, x.sum() * 0
        while n < 5:
            y, n = x if y.max() > 4 else y.abs() + 2, n + 1
        return y

    program = ow.export(as_module(carried), (INPUTS[0],), capture="source")
    (loop,) = [node for node in program.model.graph if node.op_type == "Loop"]
    assert len(loop.outputs) == 2
    _is_right(carried, program)


def test_gradients_after_a_write_to_a_slice_are_refused() -> None:
    def forces(x):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(slice_with_gradients(x).sum(), x)
        return gradient

    with pytest.raises(ow.ExportError, match=r"a gradient of a tensor(?s:.*)y\[first:\] \*= 3"):
        ow.export(as_module(forces), (INPUTS[0],))


def test_a_function_with_gradients_of_its_own_may_decide() -> None:
    program = ow.export(as_module(Doubled.apply), (INPUTS[0],), capture="source")
    _is_right(Doubled.apply, program)
