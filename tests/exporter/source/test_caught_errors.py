"""Errors that a model raises for some values: checks, and those that it catches itself."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.exporter.source.programs import as_module


class LargeError(ValueError):
    pass


def checked(x):
    if x.max() > 1:
        raise LargeError("large")
    return x * 2


def in_a_try(x):
    try:
        if x.max() > 1:
            raise LargeError("large")
        return x * 2
    except LargeError:
        return x / x.max()


def in_a_called_function(x):
    try:
        return checked(x)
    except (KeyError, ValueError):
        return x / x.max()


def an_assertion(x):
    try:
        assert x.max() < 1
        y = x * 2
    except AssertionError:
        y = x / x.max()
    return y


def an_iterator(x):
    parts, total = iter([x, x * 2]), x
    for n in range(3):
        if x.sum() > n:
            try:
                total = total + next(parts)
            except StopIteration:
                total = total - 1
    return total


class TakesAll:
    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        return kind is not None


def in_a_manager_of_its_own(x):
    y = x
    with TakesAll():
        assert x.sum() > 0
        y = x * 2
    return y


def in_a_manager_of_python(x):
    y = x
    with contextlib.suppress(Exception):
        y = checked(x)
    return y


def a_variable_of_one_side(x):
    if x.sum() > 0:
        y = x * 2
    try:
        return y + 1
    except UnboundLocalError:
        return x


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (a_variable_of_one_side, "OW862"),
        (in_a_try, "OW862"), (in_a_called_function, "OW862"), (an_assertion, "OW862"),
        (in_a_manager_of_its_own, "OW862"), (in_a_manager_of_python, "OW862"),
        (an_iterator, "OW887"),  # a side takes an item
    ],
)  # fmt: skip
def test_an_error_that_the_model_catches_is_refused(
    function: Callable[..., Any], code: str
) -> None:
    with pytest.raises(ExportError, match=code):
        ow.export(as_module(function), (torch.ones(3),))


def count(x):
    return int((x > 0).sum())


RAISING: dict[str, tuple[str, Callable[..., Any]]] = {
    "item of a list": ("IndexError", lambda x: [1, 2, 3][count(x)]),
    "item of a tensor": ("IndexError", lambda x: x[count(x)]),
    "item of a dict": ("KeyError", lambda x: {1: 5, 2: 6}[count(x)]),
    "last of some": ("IndexError", lambda x: [v for v in x if v > 0].pop()),
    "first of some": ("IndexError", lambda x: [v for v in x if v > 0][0]),
    "least of some": ("ValueError", lambda x: min([v for v in x if v > 0])),
    "place": ("ValueError", lambda x: [1, 6, 3].index(count(x))),
    "root": ("ValueError", lambda x: math.sqrt(x.sum().item())),
    "exponential": ("ValueError", lambda x: math.exp(x.sum().item())),
    "whole number": ("ValueError", lambda x: int((x.sum() / x.max()).item())),
    "shift": ("ValueError", lambda x: 1 << (count(x) - 1)),
    "steps": ("ValueError", lambda x: sum(range(0, 6, count(x)))),
    "remainder": ("ZeroDivisionError", lambda x: 7 % count(x)),
}
"""What raises an error of Python for some values; the model computes on, or fails otherwise."""


def caught(expression: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        try:
            return x * expression(x)
        except (LookupError, ValueError, ArithmeticError):
            return x

    return function


@pytest.mark.parametrize("name", RAISING)
def test_what_raises_for_some_values_is_refused_if_the_model_catches_it(name: str) -> None:
    kind, expression = RAISING[name]
    with pytest.raises(ExportError, match=f"OW862.*`{kind}`"):
        ow.export(as_module(caught(expression)), (torch.ones(3),))


def raised_again(x):
    try:
        return checked(x)
    except ValueError as error:
        raise RuntimeError("not valid") from error


def of_another_kind(x):
    try:
        return checked(x)
    except (OSError, KeyError):
        return x


def outside_of_the_try(x):
    try:
        y = x + 1
    except ValueError:
        y = x
    return checked(y * 0.1)


@pytest.mark.parametrize("function", [raised_again, of_another_kind, outside_of_the_try])
def test_an_error_that_leaves_the_model_is_a_check(function: Callable[..., Any]) -> None:
    model = as_module(function)
    program = ow.export(model, (torch.ones(3) / 2,))
    x = torch.tensor([0.5, -1.0, 0.25])
    torch.testing.assert_close(program(x), model(x))


def scale_of(x):
    return x.sum() if x.max() > 1 else None


def none_is_not_a_number(x):
    scale = scale_of(x)
    try:
        return x * scale
    except TypeError:
        return x


def test_what_fails_for_none_is_refused_if_the_model_catches_it() -> None:
    with pytest.raises(ExportError, match="OW862"):
        ow.export(as_module(none_is_not_a_number), (torch.ones(3),), capture="source")
