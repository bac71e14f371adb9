"""Operators on numbers of run time give what Python gives: values, and the types of tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.exporter.source.programs import as_module

INPUTS = [
    torch.tensor(values)
    for values in (
        [1.0, 2.0, 3.0, -0.5, 2.5], [-1.0, -2.0, -3.0, -1.0, -0.2], [4.0, -1.0, 0.5, 0.9, -2.0],
        [1.0, 1.0, 2.0, 2.0, 3.0],
    )
]  # fmt: skip


def truths_of_a_counter(x):
    total = 0
    for i in range(int((x > 0).sum()) + 1):
        ok = i % 2 == 0
        total = total + ((i > 1) + (i > 2)) - (not ok) * 3 + (ok and i > 1) + -ok + ~i + (i & 1)
    return x + total


def truths_of_items(x):
    first, second, count = x[0].item(), x[1].item(), int((x > 0).sum())
    flags = (first == second) + (first != second) * 2 + (count > 1) + (count > 2)
    digits = 0
    for value in x.tolist():
        digits = digits * 2 + (value > 0)
    return x * (count > 2) + flags * 100 + digits


def types_of_tensors(x):
    whole, half = 0, 0.0
    for i in range(int((x > 0).sum())):
        whole, half = whole + i, i / 2
    small = torch.arange(3, dtype=torch.int32)
    return (
        small[0] + whole, x[0] * half, small * half, x[0] > half, torch.where(x > 0, x, whole),
        torch.tensor(half), torch.as_tensor(whole), torch.full((2,), whole),
    )  # fmt: skip


def powers_and_rounding(x):
    total, count = 0, int((x > 0).sum())
    for i in range(count):
        total = total + 2**i - (-1) ** i + 1.5**i + (i + 1) ** -1 + round(i / 2) + int(i * 0.1 * 10)
    return x + total + 2**count + (-2) ** count + 2.0 ** (count - 2) + count**0.5


def lists_of_numbers(x):
    flags, count = [], int((x > 0).sum())
    for i in range(count):
        flags.append(bool(x[i] > 1))
    kept = [0.0] * count
    for i, value in enumerate(x.tolist(), count):
        if i < 2 * count:
            kept[i - count] = value
    return x + sum(flags) + (10 if any(flags) else 0) + sum(kept) + len(kept)


def floats_are_doubles(x):
    """In float32 ten times seven tenths would be another integer; a tensor keeps its type."""
    total, mean, share = 0.0, 0.0, 0.1 if x.sum() > 0 else 0.7
    for i in range(int((x > 0).sum())):
        total = total + 0.1
        for _ in range(i):
            mean = mean + x
        mean = mean + 0.5
    return x + int(total * 10) + int(share * 3 * 10), x[0] * total, mean + x


@pytest.mark.parametrize(
    "function",
    [
        floats_are_doubles,
        truths_of_a_counter,
        truths_of_items,
        types_of_tensors,
        powers_and_rounding,
        lists_of_numbers,
    ],
)
def test_operators_are_those_of_python(function: Callable[..., Any]) -> None:
    module = as_module(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = ow.export(module, (INPUTS[0],))
    for x in INPUTS:
        results, wanted = program(x), module(x)
        pairs = zip(results, wanted) if isinstance(wanted, tuple) else [(results, wanted)]
        for one, other in pairs:
            torch.testing.assert_close(torch.as_tensor(one), other)


def asks_for_the_number(x):
    count = int((x > 0).sum())
    return x * count.bit_length()


def test_a_number_that_python_asks_for_is_refused_with_its_line() -> None:
    line = rf"{asks_for_the_number.__code__.co_firstlineno + 2}:"
    with pytest.raises(ExportError, match=rf"OW842(?s:.*)test_run_time_numbers.py:{line}"):
        ow.export(as_module(asks_for_the_number), (INPUTS[0],))


def negative_power(x):
    total = 0.0
    for i in range(int((x > 0).sum())):
        total = total + 2**-i
    return x + total


def test_an_integer_to_a_negative_power_is_an_error_of_the_model() -> None:
    """Python gives a float there, and an integer for other exponents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = ow.export(as_module(negative_power), (INPUTS[0],))
    torch.testing.assert_close(program(INPUTS[1]), negative_power(INPUTS[1]))
    with pytest.raises(Exception, match="OW612"):
        program(INPUTS[0])


def caught_division(x):
    total = 0
    for i in range(int((x > 0).sum())):
        try:
            total += 10 // (i - 1)
        except ZeroDivisionError:
            total += 1000
    return x + total


def test_a_division_whose_error_the_model_catches_is_refused() -> None:
    line = rf"{caught_division.__code__.co_firstlineno + 4}:"
    with pytest.raises(ExportError, match=rf"OW862(?s:.*)test_run_time_numbers.py:{line}"):
        ow.export(as_module(caught_division), (INPUTS[0],))
