# ruff: noqa: ANN201, C417, D103 - programs under test
"""Programs as people write them: lists, `map` and `filter`, sums of nothing, deep calls."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightWarning
from tests.harness.loading import load_file
from tests.harness.tables import each

X = np.array([3.0, 1.0, 2.0, 0.0], np.float32)


@script()
def bitonic(x: FLOAT[4]):
    a = [x[0], x[1], x[2], x[3]]
    k = 2
    while k <= 4:
        j = k // 2
        while j > 0:
            for i in range(4):
                other = i ^ j
                if other > i:
                    low, high = op.Min(a[i], a[other]), op.Max(a[i], a[other])
                    if i & k == 0:
                        a[i], a[other] = low, high
                    else:
                        a[i], a[other] = high, low
            j //= 2
        k *= 2
    return a[0], a[1], a[2], a[3]


@script()
def mapped(x: FLOAT["N"]):
    y = x
    for k in map(lambda v: v + 1, filter(lambda v: v > 1, [1, 2, 3])):
        y = y * k
    return y + sum(map(lambda v, w: v * w, [x, x + 1], [2.0, 3.0]))


@script()
def repeated(x: FLOAT["N"]):
    parts = [x, x + 1]
    parts *= 2
    return sum(parts) + len(parts)


@each(
    ("program", "expected"),
    [(bitonic, [0.0, 1.0, 2.0, 3.0]), (mapped, X * 12 + 2 * X + 3 * (X + 1)),
     (repeated, 4 * X + 2 + 4)],
)  # fmt: skip
def test_it_means_what_python_means(program, expected, agree: Callable[..., object]) -> None:
    if program is bitonic:
        expected = tuple(np.float32(one) for one in expected)
    agree(program, X, expected=expected)


@script()
def sum_from(x: FLOAT["N"], n: INT64[()]) -> FLOAT[()]:
    found = []
    for i in range(n):
        if i > 1:
            found.append(x[i])
    return sum(found, x[0])


@script()
def plain_sum(x: FLOAT["N"], n: INT64[()]) -> FLOAT[()]:
    found = []
    for i in range(n):
        if i > 1:
            found.append(x[i])
    return sum(found)


@each("n", [0, 2, 4])
@each("program", [sum_from, plain_sum])
def test_the_sum_of_no_items_is_the_start(program: Any, n: int) -> None:
    start = X[0] if program is sum_from else 0
    expected = sum(X[2:n].tolist(), start)
    model = program.to_model_proto()
    np.testing.assert_allclose(ow.run_model(model, [X, np.array(n)])[0], expected)


def test_a_hundred_functions_that_call_the_one_before(tmp_path: Path) -> None:
    lines = ["from onnxwright import script, FLOAT, opset18 as op", "@script()", "def g0(x):"]
    lines += ["    return op.Relu(x)"]
    for n in range(1, 120):
        lines += ["@script()", f"def g{n}(x):", f"    return op.Add(g{n - 1}(x), x)"]
    lines += ["@script()", "def f(x: FLOAT['N']) -> FLOAT['N']:", "    return g119(x)", ""]
    path = tmp_path / "deep_calls.py"
    module = load_file(path, "\n".join(lines))
    limit = sys.getrecursionlimit()
    assert len(module.f.to_model_proto().functions) == 120
    assert len(module.f.to_model_proto(functions="none").graph.node) == 120
    assert sys.getrecursionlimit() == limit


def test_a_script_says_what_its_model_says_of_itself() -> None:
    @script(producer_name="p", producer_version="1.2", domain="my.domain", model_version=7)
    def f(x: FLOAT["N"]):
        return x + 1

    model = f.to_model_proto()
    said = (model.producer_name, model.producer_version, model.domain, model.model_version)
    assert said == ("p", "1.2", "my.domain", 7)
    assert f.to_model_proto(model_version=8).model_version == 8


def test_a_warning_is_shown_once_for_a_place() -> None:
    @script()
    def f(x: FLOAT["N"], y: FLOAT["N"]):
        return op.Where(x > 0 and y < 1, x, 0)

    def said(action: Any) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            for _ in range(3):
                f.to_model_proto()
        return len(caught)

    always = said("always")
    assert always >= 3
    assert said("default") == always // 3


def refuse(program: Any, *words: str) -> None:
    with pytest.raises(ow.OnnxwrightError) as caught:
        script()(program).to_model_proto()
    assert caught.value.diagnostic.span is not None
    for word in words:
        assert word in str(caught.value)


def test_messages_say_what_to_do() -> None:
    def vector_if(x: FLOAT["N"]):
        if x > 0:
            return x
        return -x

    def vector_while(x: FLOAT["N"]):
        while x < 10:
            x = x * 2
        return x

    def vector_ternary(x: FLOAT["N", 3]):
        return x if x > 0 else -x

    def several(x: FLOAT["N"]):
        return op.TopK(x, op.Constant(value_ints=[2])) + 1

    def sequence(xs: Sequence[FLOAT["N"]], y: FLOAT["N"]):
        xs.append(y)
        return xs

    def flags(x: FLOAT["N"], b: BOOL["N"]):
        return x + b

    refuse(vector_if, "OW311", "[N]")
    refuse(vector_while, "OW311", "[N]")
    refuse(vector_ternary, "OW311", "[N, 3]")
    refuse(several, "OW208", "take one of them by its index")
    refuse(sequence, "OW209", "op.SequenceInsert(xs, x)")
    refuse(flags, "OW401", "to=FLOAT.dtype")


def test_a_condition_of_one_element_stays() -> None:
    @script()
    def f(x: FLOAT["N"]):
        if op.ReduceSum(x) > 0:
            return x
        return -x

    onnx.checker.check_model(f.to_model_proto())


def test_not_of_several_elements_is_elementwise_with_a_warning() -> None:
    """Eager mode refuses it, as numpy does (OW417)."""

    @script()
    def negated(mask: BOOL["N"]) -> BOOL["N"]:
        return not mask

    @script()
    def one(mask: BOOL[1]) -> BOOL[1]:
        return not mask

    with pytest.warns(OnnxwrightWarning, match="OW417"):
        negated.to_model_proto()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        one.to_model_proto()
