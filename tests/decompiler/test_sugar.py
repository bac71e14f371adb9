"""Operators, numbers and subscripts are written where they come back as the same nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnxwright import BOOL, DOUBLE, FLOAT, INT64, script, to_script
from onnxwright import opset18 as op
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.dsl.verbatim import Details
from onnxwright.testing import assert_isomorphic, find_difference

X = FLOAT["N", 4, 5]

# Each body is written with the sugar that its model is to come back with.
LINES: dict[str, Callable[..., Any]] = {}


def _sugared(function: Callable[..., Any]) -> Any:
    compiled = script()(function)
    LINES[function.__name__] = compiled  # type: ignore[assignment]
    return compiled


@_sugared
def arithmetic(x: X, z: X) -> X:
    a = x + z
    b = a - x
    c = b * z
    d = c / x
    e = d**z
    f = -e
    return f


@_sugared
def numbers(x: X, d: DOUBLE["N"], i: INT64["N"]):
    a = x * 2.0
    b = 0.1 + a
    c = d - 0.1
    e = i + 7
    f = b >= 0.5
    return f, c, e


@_sugared
def logic(p: BOOL["N"], q: BOOL["N"]):
    a = p & q
    b = a | p
    c = b ^ q
    d = ~c
    return d


@_sugared
def compares(x: X, z: X):
    a = x < z
    b = x > z
    c = x == z
    d = x <= z
    e = x >= z
    return a, b, c, d, e


@_sugared
def matrices(x: FLOAT[3, 4], w: FLOAT[4, 5]):
    y = x @ w
    return y


@_sugared
def lists(x: X):
    a = op.Reshape(x, [-1, 20])
    b = op.Clip(a, 0.0, 6.0)
    c = op.Where(True, b, 0.0)
    d = op.Unsqueeze(c, [0, 1])
    return d


@_sugared
def slices(x: X):
    a = x[1:3]
    b = a[:, 1:]
    c = b[:, :2, ::2]
    d = c[:, :, ::-1]
    e = d[-3:-1]
    return e


@_sugared
def items(x: X):
    a = x[0]
    b = a[:, -1]
    c = b[None]
    d = c[:, None]
    return d


@_sugared
def branches(x: X, c: BOOL[()]):
    if c:
        a = x * 2.0
        y = a[0]
    else:
        d = -x
        y = d[1]
    return y


@_sugared
def nested_branches(x: X, c: BOOL[()], d: BOOL[()]):
    if c:
        y = x + x
    else:
        if d:
            z = x - x
        else:
            z = x * x
        y = op.Relu(z)
    return y


@_sugared
def two_results(x: X, c: BOOL[()]):
    if c:
        a = x + x
        b = x * a
        p = a
        q = b
    else:
        p = op.Relu(x)
        q = x
    return p, q


def _body(source: str, name: str) -> list[str]:
    text = source.split(f"def {name}(")[1].split("def make_model")[0]
    return [line.strip() for line in text.splitlines()[1:] if line.strip()]


@pytest.mark.parametrize("name", LINES)
def test_sugar_comes_back_as_it_was_written(name: str) -> None:
    """The text of the model is the text it was made from, line for line."""
    function: Any = LINES[name]
    model = function.to_model_proto(details=Details())
    reasons: list[str] = []
    source = to_script(model, explain=reasons)
    assert reasons == []
    expected = [line.strip() for line in function.source.splitlines()[2:] if line.strip()]
    assert _body(source, name) == expected
    assert_isomorphic(model, rebuild(source))


@pytest.mark.parametrize("name", LINES)
def test_without_operators_there_are_calls_only(name: str) -> None:
    function: Any = LINES[name]
    model = function.to_model_proto(details=Details())
    source = to_script(model, operators=False)
    plain = ("return", "def ", "@graph()")
    assert all("op." in line or line.startswith(plain) for line in _body(source, name))
    assert_isomorphic(model, rebuild(source))


# Bodies that look like sugar, and must not become it.
@script()
def vector(x: X):
    return op.Mul(x, op.Constant(value=np.array([2.0], np.float32)))


@script()
def attribute_form(x: X):
    return op.Mul(x, op.Constant(value_float=2.0))


@script()
def explicit_axis(x: X):
    return op.Gather(x, op.Constant(value=np.array(0)), axis=0)


@script()
def explicit_steps(x: X):
    one = op.Constant(value=np.array([1]))
    axes, ends = op.Constant(value=np.array([0])), op.Constant(value=np.array([3]))
    return op.Slice(x, op.Constant(value=np.array([1])), ends, axes, one)


@script()
def negative_axis(x: X):
    axes, ends = op.Constant(value=np.array([-1])), op.Constant(value=np.array([3]))
    return op.Slice(x, op.Constant(value=np.array([1])), ends, axes)


@script()
def out_of_range(x: X):
    return op.Gather(x, op.Constant(value=np.array(9)), axis=1)


@script()
def not_a_number(x: X):
    return op.Add(x, op.Constant(value=np.array(np.nan, np.float32)))


@script()
def generic(x, z):
    return op.Mul(op.Add(x, z), op.Constant(value=np.array(2.0, np.float32)))


@pytest.mark.parametrize(
    "function",
    [vector, attribute_form, explicit_steps, negative_axis, out_of_range,
     not_a_number],
    ids=lambda f: f.name,
)  # fmt: skip
def test_what_is_not_quite_sugar_stays_a_call(function: Any) -> None:
    model = function.to_model_proto(details=Details())
    source = to_script(model)
    assert find_difference(model, rebuild(source)) is None
    assert "op.Constant(" in source


def test_an_axis_that_is_given_stays_given() -> None:
    model = explicit_axis.to_model_proto(details=Details())
    source = to_script(model)
    assert "op.Gather(x, 0, axis=0)" in source
    assert_isomorphic(model, rebuild(source))


def test_functions_without_types_come_back() -> None:
    proto = generic.to_function_proto(details=Details())
    source = to_script(proto)
    assert "x + z" in source
    assert_isomorphic(proto, rebuild(source))
