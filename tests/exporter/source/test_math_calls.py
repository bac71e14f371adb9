"""`math.sqrt` and its like of sizes, loop counts and values of tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from math import log
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning
from tests.exporter.source.programs import as_module


def of_values(x):
    high, low = x.max().item(), x.min().item()
    factor = math.sqrt(abs(high) + 1) * math.exp(-abs(low)) + math.floor(high)
    if high > 2 > low:
        factor += 1
    return x * factor, round(high), int(low)


def of_sizes(x):
    rows = x.shape[0]
    return x / math.sqrt(rows) * log(rows + 1) + 2**rows + math.pow(rows, 0.3)


def of_a_loop_count(x):
    state = torch.zeros(4)
    for t in range(x.shape[0]):
        state = state + x[t] * math.exp(-t) * 0.5**t / math.sqrt(t + 1)
    return state


def of_a_number_that_is_carried(x):
    weight = 1.0
    for i in range(int(x.abs().max())):
        weight = weight * math.cos(i) + math.tanh(weight)
    return x * weight


def of_a_temperature(x):
    t = max(float(x.std()), 1e-3)
    gain = math.log(t, 3) + math.log1p(t * t) + math.atan2(t, 2) + math.degrees(t)
    return (x / t).softmax(-1) * gain, math.isnan(t) or math.isinf(t), math.ceil(t * 3)


def of_known_numbers(x):
    if x.sum() > 0:
        return x * math.sqrt(x.shape[1]) + math.pi
    return x + math.gcd(x.shape[1], 6) + math.sqrt(2)


PROGRAMS = (
    of_values, of_sizes, of_a_loop_count, of_a_number_that_is_carried, of_a_temperature,
    of_known_numbers,
)  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_functions_are_those_of_python(function: Callable[..., Any]) -> None:
    model = as_module(function).eval()
    x = torch.arange(12.0).reshape(3, 4) / 4 - 1
    rows = torch.export.Dim("rows", min=2, max=32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(model, (x,), dynamic_shapes=({0: rows},))
    for given in (x, -x, x.repeat(2, 1) * 3, x[:2] * 0.1):
        found = torch.utils._pytree.tree_leaves(program(given))
        wanted = torch.utils._pytree.tree_leaves(model(given))
        for one, other in zip(found, wanted, strict=True):
            pair = torch.as_tensor(one), torch.as_tensor(other)
            torch.testing.assert_close(*pair, check_dtype=False)
