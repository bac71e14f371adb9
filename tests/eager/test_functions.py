"""Scripts run on values: arguments checked before they run, results in the kind that went in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pytest

from onnxwright import opset18 as op
from onnxwright import script
from onnxwright.eager import SequenceValue, Tensor, call_function
from onnxwright.errors import EagerError
from onnxwright.types import DOUBLE, FLOAT, INT64
from onnxwright.types.signature import signature_of
from tests.harness.tables import each

T = TypeVar("T", FLOAT, DOUBLE)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(function, *args, **kwargs):
    return call_function(function, signature_of(function), args, kwargs)


def typed(x: FLOAT[2, 3], y: FLOAT | DOUBLE = None, n: int = 1):
    return op.Add(x, x)


def same(x: T, y: T) -> T:
    return op.Add(x, y)


def rest(first: FLOAT, *others: FLOAT, axis: int = 0):
    return op.Concat(first, *others, axis=axis)


def only(x: FLOAT, /, *, scale: float = 2.0):
    return op.Mul(x, scale)


def optional(x: FLOAT, bias: FLOAT | None = None):
    return x if bias is None else op.Add(x, bias)


def listed(xs: Sequence[FLOAT]):
    return op.ConcatFromSequence(xs, axis=0)


def plain(x, y):
    return x + y


def swap(a, b):
    return b, a


def counted(x: FLOAT, shape: list[int], names: list[str] = ()):
    return op.Reshape(x, shape)


FITS = {
    "arrays": (lambda: run(typed, X), X + X),
    "by name": (lambda: run(typed, x=X, n=3), X + X),
    "one TypeVar, two doubles": (lambda: run(same, X * 1.0, X), X + X),
    "a number takes the type of its TypeVar": (
        lambda: run(same, 1, np.ones(2)),
        np.full(2, 2.0),
    ),
    "variadic": (lambda: run(rest, X, X, X, axis=1), np.concatenate([X, X, X], 1)),
    "positional only and keyword only": (lambda: run(only, X, scale=3.0), X * 3),
    "an int for a float attribute": (lambda: run(only, X, scale=3), X * 3),
    "optional given": (lambda: run(optional, X, X), X + X),
    "optional left out": (lambda: run(optional, X), X),
    "optional is None": (lambda: run(optional, X, None), X),
    "a list of arrays for a sequence": (lambda: run(listed, [X, X]), np.concatenate([X, X])),
    "a Python number": (lambda: run(plain, X, 1.0), X + 1),
    "a nested list": (lambda: run(plain, X, [1.0, 2.0, 3.0]), X + np.array([1, 2, 3], np.float32)),
    "a numpy number": (lambda: run(plain, X, np.float32(1)), X + 1),
    "an array as list attribute": (lambda: run(counted, X, np.array([3, 2])), X.reshape(3, 2)),
}


@each("what", FITS)
def test_arguments_that_fit(what: str) -> None:
    call, expected = FITS[what]
    array = call()
    assert isinstance(array, np.ndarray)
    assert array.dtype == expected.dtype
    assert np.array_equal(array, expected)


REFUSED = {
    "another element type": (lambda: run(typed, X.astype(np.int64)), "OW605", "FLOAT[2, 3]"),
    "another shape": (lambda: run(typed, X.T), "OW605", "reshape"),
    "none of a union": (lambda: run(typed, X, X.astype(np.int64)), "OW605", "FLOAT | DOUBLE"),
    "a TypeVar with two types": (lambda: run(same, X, X.astype(np.float64)), "OW605", "`x` has"),
    "None for a required one": (lambda: run(plain, X, None) + run(same, X, None), None, None),
    "a tensor as attribute": (lambda: run(typed, X, n=Tensor(3)), "OW605", ".item()"),
    "a float as int attribute": (lambda: run(typed, X, n=1.5), "OW605", "int"),
    "an object": (lambda: run(typed, object()), "OW605", "give a numpy array"),
    "too many": (lambda: run(plain, X, X, X), "OW606", "takes 2 positional"),
    "too few": (lambda: run(plain, X), "OW606", "`y` is missing"),
    "an unknown name": (lambda: run(plain, X, z=X), "OW606", "no parameter `z`"),
    "given twice": (lambda: run(plain, X, X, x=X), "OW606", "`x` is given twice"),
    "positional only by name": (lambda: run(only, x=X), "OW606", "no parameter `x`"),
    "keyword only by position": (lambda: run(only, X, 2.0), "OW606", "takes 1 positional"),
    "a tensor for a sequence": (lambda: run(listed, X), "OW605", "Sequence[FLOAT]"),
}


@each("what", REFUSED)
def test_arguments_that_do_not_fit(what: str) -> None:
    act, code, words = REFUSED[what]
    with pytest.raises((EagerError, TypeError)) as caught:
        act()
    if code is not None:
        assert caught.value.diagnostic.code == code
        assert words in str(caught.value)
        assert caught.value.diagnostic.span.file == __file__


def test_nothing_runs_before_the_arguments_are_checked() -> None:
    ran = []

    def f(x: FLOAT, y: INT64):
        ran.append(1)
        return x

    with pytest.raises(EagerError, match="parameter `y` takes INT64, got FLOAT"):
        run(f, X, X)
    assert not ran


def two(x: FLOAT) -> tuple[FLOAT, FLOAT]:
    return x


def wrong_type(x: FLOAT) -> INT64:
    return x


def nothing(x: FLOAT) -> FLOAT:
    pass


WRONG_RESULTS = {
    "one value for two": (two, "returned 1 value, its annotation says 2 values"),
    "another type": (wrong_type, "returned FLOAT"),
    "nothing": (nothing, "returned"),
}


@each("what", WRONG_RESULTS)
def test_results_that_contradict_the_annotation(what: str) -> None:
    function, words = WRONG_RESULTS[what]
    with pytest.raises(EagerError, match="OW607") as caught:
        run(function, X)
    assert words in str(caught.value)


def test_results_come_in_the_kind_that_went_in() -> None:
    assert all(type(v) is np.ndarray for v in run(swap, X, X))
    assert all(type(v) is Tensor for v in run(swap, Tensor(X), X))
    assert type(run(plain, 1.0, 2.0)) is Tensor
    seq = run(lambda x: op.SequenceConstruct(x, x), X)
    assert isinstance(seq, SequenceValue)
    assert isinstance(seq[0], np.ndarray)


def test_a_python_number_as_result_is_typed_by_the_annotation() -> None:
    def one(x: FLOAT) -> DOUBLE:
        return 1.0

    assert run(one, X).dtype == np.float64


def test_inside_a_script_values_pass_as_they_are() -> None:
    seen = []

    @script
    def inner(x: FLOAT[...]) -> FLOAT[...]:
        seen.append(x)
        return x

    @script
    def outer(x: FLOAT[...]) -> FLOAT[...]:
        y = op.Add(x, 1.0)
        z = inner(y)
        seen.append(z)
        return z

    outer(X)
    assert seen[0] is seen[1]


def test_operators_come_from_the_scripts_opset() -> None:
    from onnxwright import opset13

    @script(default_opset=opset13)
    def f(x: FLOAT[...]) -> FLOAT[...]:
        versions.append(x._backend().opset.version)
        return x + x

    versions: list[int] = []
    f.function(Tensor(X))
    call_function(f.function, f.signature, (X,), {}, opset=opset13)
    assert versions[1] == 13


def test_breakpoints_and_prints_work(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print(x)
        return x

    run(f, np.array([1.0], np.float32))
    assert capsys.readouterr().out == "[1.] FLOAT[1]\n"
