# ruff: noqa: ANN001, ANN201, ANN202, D101, D102, D103 - programs under test
"""What a decorator hands out is what is compiled: the function that Python calls.

Each program runs eagerly, which is Python itself, and compiled; both must agree, or compiling must
be refused with a line.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

import numpy as np
import pytest

from onnxwright import FLOAT, graph, script
from onnxwright import opset18 as op
from onnxwright.errors import ScriptError
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)


def doubled(f):
    @functools.wraps(f)
    def g(x):
        return f(x) * 2

    return g


def logged(f):
    @functools.wraps(f)
    def g(*a, **k):
        return f(*a, **k) + 100

    return g


def by_hand(f):
    def g(x):
        return f(x) * 3

    g.__wrapped__ = f
    return g


def with_signature(f):
    def g(y, scale=2.0):
        return f(y) * scale

    g.__signature__ = __import__("inspect").signature(f)
    return functools.update_wrapper(g, f)


def as_lambda(f):
    return functools.wraps(f)(lambda x: f(x) - 7)


def scaled(by):
    def decorate(f):
        @functools.wraps(f)
        def g(x):
            return f(x) * by

        return g

    return decorate


@doubled
def helper(x):
    return x + 1


@doubled
@logged
def twice_decorated(x):
    return x + 1


@by_hand
def marked(x):
    return x + 1


@with_signature
def signed(x):
    return x + 1


@as_lambda
def lambda_helper(x):
    return x + 1


@scaled(5)
def by_five(x):
    return x + 1


@functools.cache
def _cached(k):
    return k + 1


@logged
@script()
def above(x):
    return x + 1


class Layer:
    @logged
    def __call__(self, x):
        return x + 1

    @logged
    def method(self, x):
        return x + 1

    @staticmethod
    @doubled
    def static(x):
        return x + 1

    @classmethod
    @logged
    def of_class(cls, x):
        return x + 1


layer = Layer()
partial = functools.partial(helper)


@script()
def uses_helper(x: FLOAT["N"]):
    return helper(x)


@script()
def uses_two(x: FLOAT["N"]):
    return twice_decorated(x)


@script()
def uses_by_hand(x: FLOAT["N"]):
    return marked(x)


@script()
def uses_signature(x: FLOAT["N"]):
    return signed(x)


@script()
def uses_lambda(x: FLOAT["N"]):
    return lambda_helper(x)


@script()
def uses_factory(x: FLOAT["N"]):
    return by_five(x)


@script()
def uses_cache(x: FLOAT["N"]):
    return x * _cached(3)


@script()
def uses_above(x: FLOAT["N"]):
    return above(x)


@script()
def uses_call(x: FLOAT["N"]):
    return layer(x)


@script()
def uses_method(x: FLOAT["N"]):
    return layer.method(x)


@script()
def uses_static(x: FLOAT["N"]):
    return layer.static(x)


@script()
def uses_classmethod(x: FLOAT["N"]):
    return Layer.of_class(x)


@script()
def uses_partial(x: FLOAT["N"]):
    return partial(x)


@script()
@doubled
def under(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1


@script()
def uses_under(x: FLOAT["N"]):
    return under(x)


@script()
def nested(x: FLOAT["N"]):
    @doubled
    def h(y):
        return y + 1

    return h(x)


@script()
def nested_keywords(x: FLOAT["N"]):
    @logged
    @scaled(3)
    def h(x):
        return x + 1

    return h(x=x)


@script()
def nested_marked(x: FLOAT["N"]):
    @graph()
    def body(total, one):
        new = total + one
        return new, new

    _, sums = op.Scan(x[0] * 0, x, body=body, num_scan_inputs=1)
    return sums


@script()
def nested_body(x: FLOAT["N"]):
    @logged
    def body(total, one):
        return total + one

    def both(*values):
        new = body(*values)
        return new, new

    _, sums = op.Scan(x[0] * 0, x, body=both, num_scan_inputs=1)
    return sums


@script()
def nested_wraps(x: FLOAT["N"]):
    def local(f):
        @functools.wraps(f)
        def g(*a):
            return f(*a) * 4

        return g

    @local
    def h(y):
        return y + 1

    return h(x)


PROGRAMS = [
    uses_helper, uses_two, uses_by_hand, uses_signature, uses_lambda, uses_factory, uses_cache,
    uses_above, uses_call, uses_method, uses_static, uses_classmethod, uses_partial, under,
    uses_under, nested, nested_keywords, nested_marked, nested_body,
    nested_wraps,
]  # fmt: skip
# What programs give that plain numpy cannot run.
WITH_SCRIPTS = {
    "uses_above": X + 101,
    "uses_under": (X + 1) * 2,
    "nested_marked": np.cumsum(X, dtype=np.float32),
    "nested_body": np.cumsum(X + 100, dtype=np.float32),
}


@each("program", PROGRAMS)
def test_the_decorated_function_is_compiled(program, agree: Callable[..., object]) -> None:
    expected = program.function(X.copy()) if program is not under else (X + 1) * 2
    if program.name in WITH_SCRIPTS:
        expected = WITH_SCRIPTS[program.name]
    agree(program, X, expected=expected)


class _Quiet(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *details):
        return False


@_Quiet()
def quiet(x):
    return x + 1


class Doubling:
    """A decorator that is a class without a Python function to compile."""

    def __init__(self, f):
        functools.update_wrapper(self, f)
        self.f = f

    __call__ = functools.partialmethod(lambda self, x: self.f(x) * 2)


@Doubling
def by_class(x):
    return x + 1


@script()
def uses_quiet(x: FLOAT["N"]):
    return quiet(x)


@script()
def uses_class(x: FLOAT["N"]):
    return by_class(x)


@pytest.mark.parametrize("program", [uses_quiet, uses_class], ids=lambda p: p.name)
def test_a_decorator_that_cannot_be_compiled_is_refused(program) -> None:
    with pytest.raises(ScriptError) as caught:
        program.to_model_proto()
    assert caught.value.diagnostic.span is not None


@logged
def all_parameters(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1


def test_a_script_without_parameters_of_its_own_is_refused() -> None:
    """`**k` has no place in the inputs of a model."""
    with pytest.raises(ScriptError, match=r"\*\*k"):
        script()(all_parameters).to_model_proto()
