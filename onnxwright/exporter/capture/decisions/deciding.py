"""`if`, `a if test else b` and `assert` of rewritten code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.exporter.capture.assumptions.decisions import recorded_now
from onnxwright.exporter.capture.assumptions.size_tests import Known, as_test, has_sides
from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.handlers import handler_of, refuse_handled
from onnxwright.exporter.capture.decisions.conditional import conditional
from onnxwright.exporter.capture.decisions.truth import decided
from onnxwright.exporter.capture.graphs.regions import Region, tracer
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.session import (
    current,
    equal_sides,
    note,
    refused_here,
)
from onnxwright.exporter.capture.values.logic import suppose
from onnxwright.exporter.capture.values.state import UNSET, State, result_of

# -- raising ---------------------------------------------------------------------------------------
# Errors that are raised for some values of a tensor, and caught by the model's own `except`.  A
# side of a decision that only raises is a check, which a model has no place for: it is left out.
# Where an `except` takes the error, it is not a check: what follows depends on it.


def refuse_caught(side: Callable[[], Any], state: State | None = None) -> None:
    """Refuse a decision of which one side raises an error that the model catches.

    Args:
        side: it.
        state: what it changes, if anything; as before afterwards.

    Raises:
        CaughtError: an `except` of the model takes the error.
    """
    if handler_of(None) is None:
        return
    before = None if state is None else state.read()
    error: Exception | None = None
    with Region() as region:
        try:
            side()
        except Exception as raised:  # noqa: BLE001 - whatever the model raises
            error = raised
        region.discard()
    if state is not None and before is not None:
        state.write(before)
    if error is not None:
        refuse_handled(error)


# -- deciding --------------------------------------------------------------------------------------


def is_unset(value: Any) -> bool:
    """Whether a variable is to have no value."""
    return value is UNSET


def if_(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    state: State,
    then_raises: bool = False,
    else_raises: bool = False,
    written: bool = True,
) -> None:
    """`if test: then` `else: orelse`; not `written` by the user, but by the passes for exits."""
    test = as_test(test)
    if has_sides(test):
        if then_raises == else_raises and _by_sizes(test, then, orelse, state):
            return
        test = bool(test)
    answer = decided(test)
    session = current()
    if answer is None and session is not None:
        if then_raises != else_raises:
            with refused_here():
                refuse_caught(then if then_raises else orelse, state)
            session.record("check left out")
            answer = else_raises
            suppose(test, answer)
        else:
            answer = session.answer()
            if answer is not None:
                session.record("assumed")
            else:
                answer = equal_sides()
    if answer is not None:
        if written:
            note("If", answer)
        (then if answer else orelse)()
        return
    assert session is not None
    if conditional(test, then, orelse, state) and written:
        session.record("If")


def _by_sizes(
    test: Any, then: Callable[[], None], orelse: Callable[[], None], state: State
) -> bool:
    """Run both sides of a decision by sizes; whether that is possible."""
    session, recorded = current(), recorded_now()
    assert session is not None
    place = model_line()
    if place in session.sizes.guarded:
        return False
    before, env_state = state.read(), Known(test.node.shape_env)
    count, joined_count = (
        len(recorded.decisions) if recorded is not None else 0,
        len(session.sizes.joined),
    )
    try:
        conditional(test, then, orelse, state)
    except Exception as error:  # noqa: BLE001 - an error of either side
        state.write(before)
        env_state.restore()
        if recorded is not None:
            recorded.forget_since(count)
        del session.sizes.joined[joined_count:]
        session.sizes.guarded[place] = f"{type(error).__name__}: {error}"
        return False
    return True


def _fail() -> None:
    raise AssertionError


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`then if test else orelse`."""
    test = as_test(test)
    answer = None if has_sides(test) else decided(test)
    if answer is not None:
        note("If", answer)
        return (then if answer else orelse)()
    return result_of(functools.partial(if_, test), then, orelse)


def cond_of_torch(own: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.cond`, as the decision that it is."""

    def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
        if current() is None or tracer() is None:
            return own(pred, true_fn, false_fn, operands)
        sides = (functools.partial(bound(f), *operands) for f in (true_fn, false_fn))
        return choose(pred, *sides)

    return cond


def assert_(test: Callable[[], Any], message: Callable[[], Any] | None = None) -> None:
    """`assert test, message`."""
    if not __debug__:
        return
    session, value = current(), None
    try:
        value = test()
        answer = decided(value)
    except GuardOnDataDependentSymNode:
        # A comparison of sizes that are known at run time.
        answer = None
    if answer is None:
        if session is not None:
            with refused_here():
                refuse_caught(_fail)
            session.record("check left out")
            suppose(value, answer=True)
        return
    if not answer:
        raise AssertionError(*([message()] if message is not None else []))
