"""Lowering of loops: to one Loop where the trip count is dynamic, unrolled where it must be.

Names carried around a loop are found by liveness; their types by lowering the body until they no
longer change.  A loop over a static list is unrolled.  One over a static range, or a `while` whose
first test is known, is tried as one Loop, and unrolled where something in it must be known while
compiling: a number as an attribute, or how a Python object changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.carried import AnyLoop, Carried
from onnxwright.converter.effects import is_iterator
from onnxwright.converter.iterables import DynamicTripCount, Iterables
from onnxwright.converter.regions import Region
from onnxwright.converter.values import (
    is_dynamic,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import NeedsStaticValue
from onnxwright.ir import adapters
from onnxwright.ir.builder import detach
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    as_value,
    emit1,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType

UNROLL_LIMIT = 1024


class Loops(Iterables):
    """Lowers `for` and `while`."""

    def block(self, statements: hir.Block) -> None:
        """Lower statements in order."""
        raise AssertionError("given by the statements room")

    def for_loop(self, s: hir.For) -> None:
        """A `for` loop over anything."""
        iterable = self.iterable(s.iterable)
        if isinstance(iterable, DynamicTripCount):
            self.dynamic_for(s, iterable, Region("this loop", s.span))
        elif isinstance(iterable, range):
            self.range_loop(s, iterable)
        else:
            self.unrolled(s, self.source(iterable, s.iterable.span))

    def range_loop(self, s: hir.For, numbers: range) -> None:
        """A loop over a static range: a Loop, unless its variable must be known."""
        if len(numbers) == 0:
            return
        start, step = numbers.start, numbers.step

        def item(n: GraphValue) -> Any:
            scaled = self.apply_binary("mul", n, step, s.span) if step != 1 else n
            return self.apply_binary("add", scaled, start, s.span) if start else scaled

        region = Region("this loop", s.span, tried=True)
        trips = DynamicTripCount(len(numbers), item)
        failed = self.attempt(
            region, lambda: self.dynamic_for(s, trips, region, at_least_once=True)
        )
        if failed is not None:
            if len(numbers) > UNROLL_LIMIT:
                self._too_many(s, len(numbers))
            self.unrolled(s, iter(numbers))

    def attempt(self, region: Region, run: Callable[[], None]) -> NeedsStaticValue | None:
        """Lower a loop over known values as one Loop; undo it all where that cannot be.

        Returns:
            What must be known while compiling, so that the loop has to be unrolled; else None.
        """
        recorder, env, frame = self.b.recorder, dict(self.frame.env), self.frame
        mark, callees = recorder.checkpoint(), dict(self.context.callees)
        try:
            run()
        except NeedsStaticValue as error:
            if error.region not in (None, region):
                raise
            recorder.rollback(mark)
            self.frame = frame
            self.frame.env = env
            self.context.callees = callees
            return error
        return None

    def _too_many(self, s: AnyLoop, count: int) -> NoReturn:
        span = s.iterable.span if isinstance(s, hir.For) else s.test.span
        fail(messages.TooManyTurns(turns=count, limit=UNROLL_LIMIT, span=span))

    # -- unrolled ----------------------------------------------------------------------------------

    def source(self, iterable: Any, span: Span) -> Iterator[Any]:
        """The items of an iterable, each read when Python would read it."""
        if is_iterator(iterable):
            return self._from_iterator(iterable, span)
        if isinstance(iterable, list):
            return self._from_list(iterable, self.items_of(iterable, span))
        return iter(self.items_of(iterable, span))

    def _from_iterator(self, iterator: Any, span: Span) -> Iterator[Any]:
        while True:
            self.regions.change(iterator, "iterating over it", span)
            try:
                item = next(iterator)
            except StopIteration:
                return
            yield self.import_value(item)

    def _from_list(self, items: list[Any], first: list[Any]) -> Iterator[Any]:
        """The items of a list that the loop itself may change."""
        start, n = list(items), 0
        self.regions.iterated.append(items)
        try:
            while n < len(items):
                known = n < len(start) and items[n] is start[n]
                yield first[n] if known else self.import_value(items[n])
                n += 1
        finally:
            self.regions.iterated.remove(items)

    def unrolled(self, s: hir.For, items: Iterator[Any]) -> None:
        """One copy of the body for each item; a run-time `break` puts the rest in branches."""
        for count, item in enumerate(items, 1):
            self.bind(s.target, item)
            self.block(s.body)
            if self._leaves(s, lambda: self.unrolled(s, items)):
                return
            if count > 64 * UNROLL_LIMIT:
                self._too_many(s, count)

    def _leaves(self, s: AnyLoop, rest: Callable[[], None]) -> bool:
        """Whether nothing follows in this block: `break` was reached, or `rest` is in a branch."""
        if s.broken is None:
            return False
        flag = self.frame.env[s.broken]
        if not is_dynamic(flag):
            return bool(flag)
        test = arithmetic.truth(self.at(s.span), flag)
        names = list(dict.fromkeys([*s.carried, *s.live_out, s.broken]))
        self.choose(test, lambda: None, rest, names, s.span)
        return True

    def unrolled_while(self, s: hir.While, reason: NeedsStaticValue) -> None:
        """One copy of the body for each iteration; the first test was true."""
        self._iterations(s, reason, 1)

    def _iterations(self, s: hir.While, reason: NeedsStaticValue, count: int) -> None:
        while True:
            if count > UNROLL_LIMIT:
                if reason.region is None:
                    raise reason
                self._too_many(s, count)
            self.block(s.body)
            count += 1
            if self._leaves(s, functools.partial(self._tested, s, reason, count)):
                return
            test = self.evaluate(s.test)
            if is_dynamic(test) and not isinstance(test, (list, tuple, dict)):
                self.run_time_while(s, test)
                return
            if not self.python(s.test.span, bool, test):
                return

    def _tested(self, s: hir.While, reason: NeedsStaticValue, count: int) -> None:
        """The iterations after one that may have left the loop."""
        test = self.evaluate(s.test)
        if is_dynamic(test) and not isinstance(test, (list, tuple, dict)):
            self.run_time_while(s, test)
        elif self.python(s.test.span, bool, test):
            self._iterations(s, reason, count)

    # -- Loop --------------------------------------------------------------------------------------

    def dynamic_for(
        self,
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
        b = self.at(s.span)
        trip = as_value(b, count, dtype=DType.INT64)

        def start(n: GraphValue) -> None:
            self.bind(s.target, trips.item(n))

        def cond_out() -> GraphValue | None:
            return self._not_broken(s) if s.broken is not None else None

        self._loop(s, region, trip, None, start, cond_out, at_least_once=at_least_once)

    def while_loop(self, s: hir.While) -> None:
        """A `while` as one Loop whose condition is tested again at the end of each iteration.

        Where the first test is known, it is unrolled if something must be known while compiling.
        """
        test = self.evaluate(s.test)
        if isinstance(test, (list, tuple, dict)):
            test = bool(test)
        if is_dynamic(test):
            self.run_time_while(s, test)
            return
        if not self.python(s.test.span, bool, test):
            return
        region = Region("this loop", s.span, tried=True)
        failed = self.attempt(region, lambda: self._while(s, region, None))
        if failed is not None:
            self.unrolled_while(s, failed)

    def run_time_while(self, s: hir.While, test: Any) -> None:
        """A `while` whose first test is known only when the model runs."""
        first = self.condition(test, s.test.span, scalar=True)
        self._while(s, Region("this loop", s.span), first)

    def _while(self, s: hir.While, region: Region, first: GraphValue | None) -> None:
        def cond_out() -> GraphValue:
            if s.broken is None:
                again = self.evaluate(s.test)
            else:
                flag = self.frame.env[s.broken]
                left = self.negate(self.value(flag))
                again = self.both(
                    "and", left, lambda: self.evaluate(s.test), s.test.span, may_fail=True
                )
            if is_dynamic(again) and not isinstance(again, (list, tuple, dict)):
                return self.condition(again, s.test.span, scalar=True)
            made: GraphValue = self.at(s.test.span).constant(np.array(bool(again)))
            return made

        depth = self.dynamic_depth
        self.dynamic_depth = depth + 1
        try:
            self._loop(
                s, region, None, first, lambda n: None, cond_out, at_least_once=first is None
            )
        finally:
            self.dynamic_depth = depth

    def _not_broken(self, s: AnyLoop) -> GraphValue:
        assert s.broken is not None
        flag = self.value(self.frame.env[s.broken])
        b = self.at(s.span)
        if isinstance(flag, GraphValue):
            made: GraphValue = emit1(b, "Not", (b.as_weak(flag, None),))
            return made
        made = b.constant(np.array(not flag))
        return made

    def _loop(
        self,
        s: AnyLoop,
        region: Region,
        trip: GraphValue | None,
        first: GraphValue | None,
        start: Callable[[GraphValue], None],
        cond_out: Callable[[], GraphValue | None],
        *,
        at_least_once: bool,
    ) -> None:
        """Lower the body until the types of what it carries are stable, then emit the Loop."""
        recorder = self.b.recorder
        state = Carried(self, s, at_least_once)
        region.shared = frozenset(self.regions.shared_names(s.carried, self.frame, self.frames()))
        for _ in range(12):
            mark = recorder.checkpoint()
            with self.regions.inside(region):
                body = self._body(s, state, start, cond_out)
            if body.stable:
                break
            recorder.rollback(mark)
        else:
            fail(
                messages.LoopTypes(
                    name=state.unstable, before="one type", after="another", span=s.span
                )
            )
        self._emit_loop(s, state, body, trip, first)

    def _body(
        self,
        s: AnyLoop,
        state: Carried,
        start: Callable[[GraphValue], None],
        cond_out: Callable[[], GraphValue | None],
    ) -> _Body:
        """Lower the body once with the carried types as they are thought to be."""
        recorder, b = self.b.recorder, self.b
        before = self.frame.env
        recorder.push()
        try:
            self.frame.env = dict(before)
            kind = TensorType(DType.INT64, ())
            number = b.wrap(recorder.input("iter_num", kind), kind, "int")
            flag = recorder.input("cond_in", TensorType(DType.BOOL, ()))
            state.enter(self.frame.env)
            start(number)
            self.block(s.body)
            again = cond_out()
            if again is None:
                again = b.wrap(flag, TensorType(DType.BOOL, ()))
            stable = state.leave(self.frame.env)
            outputs = state.results(self.frame.env) if stable else []
            return _Body(stable, again, outputs)
        except BaseException:
            recorder.drop()
            raise
        finally:
            self.frame.env = before

    def _emit_loop(
        self,
        s: AnyLoop,
        state: Carried,
        body: _Body,
        trip: GraphValue | None,
        first: GraphValue | None,
    ) -> None:
        recorder = self.b.recorder
        graph = recorder.pop([body.again.value, *(v.value for v in body.outputs)], "body")
        b = self.at(s.span)
        if first is None:
            # NOTE: always given: some runtimes take an absent condition for false.
            first = b.constant(np.array(True))
        inits = state.inits()
        count = len(inits)
        if count == 0:
            for node in reversed(list(graph)):
                detach(node)
            state.finish(self.frame.env, [])
            return
        made = b.emit(b.opset["Loop"], (trip, first, *inits), {"body": graph}, count)
        values = []
        for value, slot, init in zip(made, state.slots, inits, strict=True):
            kind = slot.kind.kind if slot.kind.kind is not None else value.kind
            recorder.set_type(value.value, kind)
            adapters.set_type(value.value, kind)
            info = recorder.info(value.value)
            info.same_dtype_as = (
                info.same_dtype_as or recorder.same_dtype_as(init.value) or init.value
            )
            named = b.wrap(value.value, kind, slot.kind.weak)
            if not slot.name.startswith(hir.INTERNAL):
                self.name_value(named, slot.name)
            values.append(named)
        state.finish(self.frame.env, values)


@dataclass
class _Body:
    stable: bool
    again: GraphValue
    outputs: list[GraphValue]
