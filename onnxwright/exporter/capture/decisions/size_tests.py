"""Which tests are decisions by sizes: those that hold at some sizes of the inputs only."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.assumptions.decisions import Decision, if_empty
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.torch_internals import ValueRanges


def condition_of(test: Any) -> Any:
    """A test as a condition on sizes of inputs alone; None for other tests.

    Args:
        test: a truth value or a number of Python, or a symbolic one.
    """
    session = current()
    if session is None or session.sizes is None:
        return None
    if not isinstance(test, (torch.SymBool, torch.SymInt)):
        return None
    expression = test.node.expr
    if not getattr(expression, "free_symbols", None) or free_unbacked_symbols(expression):
        return None
    return expression if isinstance(test, torch.SymBool) else sympy.Ne(expression, 0)


def empty_of(test: Any) -> Decision | None:
    """The decision that a size is not 0, on which a test depends; None for other tests."""
    session = current()
    if session is None or session.sizes is None or not session.sizes.may_join():
        return None
    return if_empty(test.node) if isinstance(test, torch.SymBool) else None


def as_test(value: Any) -> Any:
    """The truth value of a number that follows from sizes, also in a tensor; other tests as is."""
    session = current()
    if session is None:
        return value
    number = session.number_of(value) if isinstance(value, torch.Tensor) else value
    if number is None or (number is not value and free_unbacked_symbols(number)):
        return value
    is_size = isinstance(number, torch.SymInt) and not free_unbacked_symbols(number)
    return number != 0 if is_size else number


def has_sides(test: Any) -> bool:
    """Whether both sides of a test are run, as it is about sizes."""
    return is_open(test) or empty_of(test) is not None


def is_open(test: Any) -> bool:
    """Whether a test is about sizes, and holds at some of them only."""
    condition, session = condition_of(test), current()
    if condition is None or session is None or not session.sizes.may_join():
        return False
    if condition in (sympy.true, sympy.false):
        return False
    env = test.node.shape_env
    ranges = tuple((s, own_range(known)) for s, known in env.var_to_range.items())
    if env._maybe_evaluate_static(condition, var_to_range=ranges) is not None:
        return False
    return session.sizes.facts.verdict(condition) is None


def is_certain(test: Any) -> bool:
    """Whether a test holds at all sizes: torch takes them for 2 or more, and narrows ranges."""
    condition, session = _or_if_empty(test), current()
    if condition is None or session is None:
        return bool(statically_known_true(test))
    if empty_of(test) is not None:
        return bool(replace(session.sizes.facts, least=0).proves(condition))
    return bool(session.sizes.is_certain(condition, test.node.shape_env))


def is_certain_if_filled(test: Any) -> bool:
    """Whether a test holds at all sizes but 0, which the model refuses from now on."""
    return is_certain(test) or (empty_of(test) is not None and bool(test))


def supposing(test: Any) -> AbstractContextManager[Any]:
    """In this context, a test about sizes holds."""
    condition, session = _or_if_empty(test), current()
    if condition is None or session is None:
        return nullcontext()
    found: AbstractContextManager[Any] = session.sizes.supposing(condition)
    return found


def _or_if_empty(test: Any) -> Any:
    """As `condition_of`; of a test that torch answers as no size is 0 for it, that one is not 0."""
    found = empty_of(test)
    if found is None:
        return condition_of(test)
    return found.expression if test.node.expr == sympy.true else sympy.Not(found.expression)


def own_range(known: Any) -> Any:
    """The range of a size; torch's lower bound of 2 says nothing."""
    return ValueRanges(1, known.upper) if known.lower == 2 else known
