"""Lowering of loops: to one Loop where the trip count is dynamic, unrolled where it must be.

Names carried around a loop are found by liveness; their types by lowering the body until they no
longer change.  A loop over a static list is unrolled.  One over a static range, or a `while` whose
first test is known, is tried as one Loop, and unrolled where something in it must be known while
compiling: a number as an attribute, or how a Python object changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from onnxwright.converter.analyze.effects import is_iterator
from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.expressions.items import items_of
from onnxwright.converter.lower.expressions.logic import negate, run_time_condition, short_circuit
from onnxwright.converter.lower.expressions.lowering import apply_binary
from onnxwright.converter.lower.loops.carried import AnyLoop
from onnxwright.converter.lower.loops.emission import lower_loop
from onnxwright.converter.lower.loops.iterables import DynamicTripCount, read_iterable
from onnxwright.converter.lower.memory import ITERATED, written_names
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import bind_target
from onnxwright.converter.lower.statements.branches import choose
from onnxwright.converter.lower.values import is_dynamic
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import NeedsStaticValue, ScriptError
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, emit1
from onnxwright.semantics.operands import truth
from onnxwright.types.dtypes import DType

UNROLL_LIMIT = 1024


def for_loop(low: Lowering, s: hir.For) -> None:
    """A `for` loop over anything."""
    iterable = read_iterable(low, s.iterable, s.body)
    if isinstance(iterable, DynamicTripCount):
        dynamic_for(low, s, iterable, Region("this loop", s.span))
    elif isinstance(iterable, range):
        range_loop(low, s, iterable)
    else:
        items = items_one_by_one(low, iterable, s.iterable.span)
        if isinstance(iterable, (list, tuple)) and written_names(s.body):
            items = _readable(low, items, list(iterable), s.iterable.span)
        unroll(low, s, items)


def _readable(low: Lowering, items: Iterator[Any], left: list[Any], span: Span) -> Iterator[Any]:
    """The items of a list, refused where the body wrote into the memory of a later one (OW868)."""
    held = f"{ITERATED} {span.line}:{span.col}"
    low.frame.env[held] = tuple(left)
    for item in items:
        low.frame.lookup(held, span)
        left = left[1:]
        low.frame.env[held] = tuple(left)
        yield item


def range_loop(low: Lowering, s: hir.For, numbers: range) -> None:
    """A loop over a static range: a Loop, unless its variable must be known."""
    if not numbers:
        return
    start, step = numbers.start, numbers.step
    count = (numbers[-1] - start) // step + 1  # `len` takes no more than an address has
    if count >= 1 << 63:
        _too_many(s, count)

    def item(n: GraphValue) -> Any:
        scaled = apply_binary(low, "mul", n, step, s.span) if step != 1 else n
        return apply_binary(low, "add", scaled, start, s.span) if start else scaled

    region = Region("this loop", s.span, tried=True)
    trips = DynamicTripCount(count, item)
    failed = try_as_loop(
        low, region, lambda: dynamic_for(low, s, trips, region, at_least_once=True)
    )
    if failed is None:
        return
    if region.grows:
        unroll_or_carry(
            low,
            lambda: unroll(low, s, iter(numbers)) if count <= UNROLL_LIMIT else _too_many(s, count),
            lambda: dynamic_for(low, s, trips, Region("this loop", s.span), at_least_once=True),
        )
        return
    if count > UNROLL_LIMIT:
        _too_many(s, count)
    unroll(low, s, iter(numbers))


def try_as_loop(low: Lowering, region: Region, run: Callable[[], None]) -> NeedsStaticValue | None:
    """Lower a loop over known values as one Loop; undo it all where that cannot be.

    Returns:
        What must be known while compiling, so that the loop has to be unrolled; else None.
    """
    undo = _undoing(low)
    try:
        run()
    except NeedsStaticValue as error:
        if error.region not in (None, region):
            raise
        undo()
        return error
    return None


def _undoing(low: Lowering) -> Callable[[], None]:
    """A function that undoes all that is lowered from now on."""
    recorder, env, frame = low.b.recorder, dict(low.frame.env), low.frame
    mark, callees = recorder.checkpoint(), dict(low.context.callees)

    def undo() -> None:
        recorder.rollback(mark)
        low.frame = frame
        low.frame.env = env
        low.context.callees = callees

    return undo


def unroll_or_carry(low: Lowering, run: Callable[[], None], carry: Callable[[], None]) -> None:
    """A loop over known values that makes a list longer: unrolled, so that the length is known.

    Where that cannot be, it is a Loop, and the model decides how long the list is.
    """
    undo, restore = _undoing(low), low.regions.saved(low.frames())
    try:
        run()
    except ScriptError as error:
        undo()
        restore()
        again = _undoing(low)
        try:
            carry()
        except ScriptError:
            again()
            raise error from None


def _too_many(s: AnyLoop, count: int) -> NoReturn:
    span = s.iterable.span if isinstance(s, hir.For) else s.test.span
    fail(messages.TooManyIterations(count=count, limit=UNROLL_LIMIT, span=span))


# -- unrolled --------------------------------------------------------------------------------------


def items_one_by_one(low: Lowering, iterable: Any, span: Span) -> Iterator[Any]:
    """The items of an iterable, each read when Python would read it."""
    if is_iterator(iterable):
        return _from_iterator(low, iterable, span)
    if isinstance(iterable, list):
        return _from_list(low, iterable, items_of(low, iterable, span))
    return iter(items_of(low, iterable, span))


def _from_iterator(low: Lowering, iterator: Any, span: Span) -> Iterator[Any]:
    while True:
        low.regions.change(iterator, "iterating over it", span)
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield low.import_value(item)


def _from_list(low: Lowering, items: list[Any], first: list[Any]) -> Iterator[Any]:
    """The items of a list that the loop itself may change."""
    start, n = list(items), 0
    low.regions.iterated.append(items)
    try:
        while n < len(items):
            is_unchanged = n < len(start) and items[n] is start[n]
            yield first[n] if is_unchanged else low.import_value(items[n])
            n += 1
    finally:
        # By identity: lists of tensors are not compared.
        held = low.regions.iterated
        del held[max(n for n, one in enumerate(held) if one is items)]


def unroll(low: Lowering, s: hir.For, items: Iterator[Any]) -> None:
    """One copy of the body for each item; a run-time `break` puts the rest in branches."""
    for count, item in enumerate(items, 1):
        bind_target(low, s.target, item)
        low.execute(s.body)
        if _left_loop(low, s, lambda: unroll(low, s, items)):
            return
        if count > 64 * UNROLL_LIMIT:
            _too_many(s, count)


def _left_loop(low: Lowering, s: AnyLoop, rest: Callable[[], None]) -> bool:
    """Whether nothing follows in this block: `break` was reached, or `rest` is in a branch."""
    if s.broken is None:
        return False
    flag = low.frame.env[s.broken]
    if not is_dynamic(flag):
        return bool(flag)
    test = truth(low.at(s.span), flag)
    names = list(dict.fromkeys([*s.carried, *s.live_out, s.broken]))
    choose(low, test, lambda: None, rest, names, s.span)
    return True


def unroll_while(low: Lowering, s: hir.While, reason: NeedsStaticValue) -> None:
    """One copy of the body for each iteration; the first test was true."""
    _iterations(low, s, reason, 1)


def _iterations(low: Lowering, s: hir.While, reason: NeedsStaticValue, count: int) -> None:
    while True:
        if count > UNROLL_LIMIT:
            if reason.region is None:
                raise reason
            _too_many(s, count)
        low.execute(s.body)
        count += 1
        if _left_loop(low, s, functools.partial(_tested, low, s, reason, count)):
            return
        test = low.evaluate(s.test)
        if is_dynamic(test) and not isinstance(test, (list, tuple, dict)):
            run_time_while(low, s, test)
            return
        if not low.python(s.test.span, bool, test):
            return


def _tested(low: Lowering, s: hir.While, reason: NeedsStaticValue, count: int) -> None:
    """The iterations after one that may have left the loop."""
    test = low.evaluate(s.test)
    if is_dynamic(test) and not isinstance(test, (list, tuple, dict)):
        run_time_while(low, s, test)
    elif low.python(s.test.span, bool, test):
        _iterations(low, s, reason, count)


# -- Loop ------------------------------------------------------------------------------------------


def dynamic_for(
    low: Lowering,
    s: hir.For,
    trips: DynamicTripCount,
    region: Region,
    *,
    at_least_once: bool = False,
) -> None:
    """A `for` as one Loop with a trip count."""
    count = trips.count
    if isinstance(count, int):
        if count <= 0:
            return
        at_least_once = True
    b = low.at(s.span)
    trip = as_value(b, count, dtype=DType.INT64)

    def start(n: GraphValue) -> None:
        bind_target(low, s.target, trips.item(n))

    def cond_out() -> GraphValue | None:
        return _not_broken(low, s) if s.broken is not None else None

    lower_loop(low, s, region, trip, None, start, cond_out, at_least_once=at_least_once)


def while_loop(low: Lowering, s: hir.While) -> None:
    """A `while` as one Loop whose condition is tested again at the end of each iteration.

    Where the first test is known, it is unrolled if something must be known while compiling.
    """
    test = low.evaluate(s.test)
    if isinstance(test, (list, tuple, dict)):
        test = bool(test)
    if is_dynamic(test):
        run_time_while(low, s, test)
        return
    if not low.python(s.test.span, bool, test):
        return
    region = Region("this loop", s.span, tried=True)
    failed = try_as_loop(low, region, lambda: _while(low, s, region, None))
    if failed is not None and region.grows:
        reason = failed
        unroll_or_carry(
            low,
            lambda: unroll_while(low, s, reason),
            lambda: _while(low, s, Region("this loop", s.span), None),
        )
    elif failed is not None:
        unroll_while(low, s, failed)


def run_time_while(low: Lowering, s: hir.While, test: Any) -> None:
    """A `while` whose first test is known only when the model runs."""
    first = run_time_condition(low, test, s.test.span, scalar=True)
    _while(low, s, Region("this loop", s.span), first)


def _while(low: Lowering, s: hir.While, region: Region, first: GraphValue | None) -> None:
    def cond_out() -> GraphValue:
        if s.broken is None:
            again = low.evaluate(s.test)
        else:
            flag = low.frame.env[s.broken]
            left = negate(low, low.value(flag))
            again = short_circuit(
                low, "and", left, lambda: low.evaluate(s.test), s.test.span, may_fail=True
            )
        if is_dynamic(again) and not isinstance(again, (list, tuple, dict)):
            return run_time_condition(low, again, s.test.span, scalar=True)
        condition: GraphValue = low.at(s.test.span).constant(np.array(bool(again)))
        return condition

    depth = low.dynamic_depth
    low.dynamic_depth = depth + 1
    try:
        lower_loop(
            low, s, region, None, first, lambda n: None, cond_out, at_least_once=first is None
        )
    finally:
        low.dynamic_depth = depth


def _not_broken(low: Lowering, s: AnyLoop) -> GraphValue:
    assert s.broken is not None
    flag = low.value(low.frame.env[s.broken])
    b = low.at(s.span)
    if isinstance(flag, GraphValue):
        negated: GraphValue = emit1(b, "Not", (b.as_weak(flag, None),))
        return negated
    negated = b.constant(np.array(not flag))
    return negated
