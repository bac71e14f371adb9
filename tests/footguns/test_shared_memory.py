# ruff: noqa: ANN001, ANN201, ANN202, B007, D103, PT017 - programs under test
"""Writing into tensors that loops go over, and into views that loops carry: numpy, or OW868.

Each function runs on numpy arrays as it stands; compiling gives the same values or refuses the
program with the line that reads or writes.
"""

from __future__ import annotations

import numpy as np
import pytest

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright.errors import OnnxwrightError
from tests.harness.tables import each

X = np.array([1.0, 2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)
N = np.array(3)
Vector, Matrix, Int = FLOAT["N"], FLOAT["R", "N"], INT64[()]
SAME, REFUSED = [], []


def same(*inputs):
    return lambda f: SAME.append((f, inputs)) or f


def refused(*inputs):
    return lambda f: REFUSED.append((f, inputs)) or f


@same(X)
def writes_what_it_goes_over(x: Vector):
    for v in x:
        x[1:] = v * 10
    return x


@same(X)
def writes_with_enumerate(x: Vector):
    for k, v in enumerate(x):
        x[1:] = v * 10 + k
    return x


@same(M)
def writes_each_row(m: Matrix):
    for k, row in enumerate(m):
        m[k] = row * 2
    return m


@same(X, X + 5)
def writes_one_of_two(x: Vector, y: Vector):
    for a, b in zip(x, y):
        x[1:] = a + b
    return x


@same(X)
def writes_backwards(x: Vector):
    for v in reversed(x):
        x[:2] = v + 1
    return x


@same(X)
def binds_a_new_tensor(x: Vector):
    y = x * 0
    for v in x:
        y[0] = v
        y = y + 1
    return y


@same(X)
def goes_over_a_copy(x: Vector):
    for v in x.copy():
        x[1:] = v * 10
    return x


@same(M)
def fixed_size(m: FLOAT[2, 3]):
    for row in m:
        m[1:] = row + 10
    return m


@refused(X)
def through_another_name(x: Vector):
    y = x
    for v in x:
        y[1:] = v * 10
    return y


@refused(X)
def through_a_view(x: Vector):
    tail = x[1:]
    for v in x:
        tail[0] = v * 10
    return tail


@refused(M)
def view_in_a_list(m: FLOAT[2, 3]):
    total = m[0] * 0
    for row in [m[0], m[1]]:
        total = total + row
        m[1] = total + 5
    return total


@refused(M)
def reads_the_row_after_the_write(m: Matrix):
    total = m[0] * 0
    for row in m:
        m[0:] = row * 10
        total = total + row
    return total


@refused(X)
def rebinds_after_a_write(x: Vector):
    for v in x:
        x[1:] = v * 10
        x = x + 1
    return x


@refused(X, M, N)
def carried_view(x: Vector, m: Matrix, n: Int):
    y = x + 0
    for i in range(n):
        y[0] = 100
        y = m[0]
    return y + m[0]


@refused(X, M, N)
def carried_view_read_after(x: Vector, m: Matrix, n: Int):
    y, first = x + 0, m[0]
    for i in range(n):
        y[0] = 100
        y = first
    return y + m[0]


@refused(X, M)
def carried_view_in_while(x: Vector, m: Matrix):
    y = x + 0
    k = x[0]
    while k < 4:
        y[0] = 100
        y = m[1]
        k = k + 1
    return y + m[1]


@same(X, M, N)
def carried_copy(x: Vector, m: Matrix, n: Int):
    y = x + 0
    for i in range(n):
        y[0] = 100
        y = m[0].copy()
    return y + m[0]


def _values(found):
    return [np.asarray(one) for one in (found if isinstance(found, (list, tuple)) else [found])]


@each(("function", "inputs"), SAME)
def test_it_means_what_numpy_means(function, inputs) -> None:
    expected = _values(function(*[one.copy() for one in inputs]))
    compiled = script()(function)
    model = compiled.to_model_proto()
    for found in (
        _values(ow.run_model(model, [one.copy() for one in inputs])),
        _values(compiled(*[one.copy() for one in inputs])),
    ):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other)


@each(("function", "inputs"), REFUSED)
def test_it_is_refused(function, inputs) -> None:
    with pytest.raises(OnnxwrightError, match="OW868") as caught:
        script()(function).to_model_proto()
    first, last = function.__code__.co_firstlineno, function.__code__.co_firstlineno + 12
    assert caught.value.diagnostic.span is not None
    assert first < caught.value.diagnostic.span.line < last


@each(("function", "inputs"), REFUSED)
def test_eager_mode_is_right_or_refuses(function, inputs) -> None:
    expected = _values(function(*[one.copy() for one in inputs]))
    try:
        found = _values(script()(function)(*[one.copy() for one in inputs]))
    except OnnxwrightError as error:
        assert "OW868" in str(error)
        return
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


def test_eager_mode_names_the_variables() -> None:
    @script()
    def reads_a_view(m: FLOAT[2, 3]):
        first = m[0]
        m[0] = 1.0
        return first + 1

    with pytest.raises(OnnxwrightError, match="`first` shares memory with `m`") as caught:
        reads_a_view(M)
    lines = [caught.value.diagnostic.labels[0].span.line, caught.value.diagnostic.span.line]
    start = reads_a_view.function.__code__.co_firstlineno
    assert [line - start for line in lines] == [3, 4]
