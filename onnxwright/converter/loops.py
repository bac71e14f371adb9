"""Lowering of loops: to one Loop where the turns are a matter of run time, unrolled where not.

Names carried around a loop are found by liveness; their types by lowering the body until they no
longer change.  A loop over a static list is unrolled; one over a static range only where its
variable must be a number (as an attribute, or to index a list).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.carried import AnyLoop, Carried
from onnxwright.converter.iterables import Iterables, Turns
from onnxwright.converter.values import (
    is_dynamic,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ScriptError
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
# Errors that say a number must be known: a loop that can be unrolled is, when one comes up.
_WANTS_STATIC = frozenset(
    ("OW205", "OW208", "OW209", "OW306", "OW307", "OW309", "OW312", "OW403", "OW413", "OW511",
     "OW512", "OW534")
)  # fmt: skip


class Loops(Iterables):
    """Lowers `for` and `while`."""

    def block(self, statements: hir.Block) -> None:
        """Lower statements in order."""
        raise AssertionError("given by the statements room")

    def for_loop(self, s: hir.For) -> None:
        """A `for` loop over anything."""
        iterable = self.iterable(s.iterable)
        if isinstance(iterable, Turns):
            self.dynamic_for(s, iterable)
        elif isinstance(iterable, range):
            self.range_loop(s, iterable)
        else:
            self.unrolled(s, self.items_of(iterable, s.iterable.span))

    def range_loop(self, s: hir.For, turns: range) -> None:
        """A loop over a static range: a Loop, unless its variable must be known."""
        if len(turns) == 0:
            self.never(s)
            return
        start, step = turns.start, turns.step

        def item(n: GraphValue) -> Any:
            scaled = self.apply_binary("mul", n, step, s.span) if step != 1 else n
            return self.apply_binary("add", scaled, start, s.span) if start else scaled

        recorder, before = self.b.recorder, dict(self.frame.env)
        used, opsets = len(self.b.used_ops), {d: dict(v) for d, v in self.b.opsets.items()}
        mark, outer_nodes = recorder.names.mark(), set(recorder.scope.nodes)
        try:
            self.dynamic_for(s, Turns(len(turns), item), at_least_once=True)
        except ScriptError as error:
            if not any(d.code in _WANTS_STATIC for d in error.diagnostics):
                raise
            self.frame.env = before
            del self.b.used_ops[used:]
            self.b.opsets = opsets
            self._forget_nodes(outer_nodes)
            recorder.names.rewind(mark)
            if len(turns) > UNROLL_LIMIT:
                count = len(turns)
                fail(messages.TooManyTurns(turns=count, limit=UNROLL_LIMIT, span=s.iterable.span))
            self.unrolled(s, list(turns))

    def _forget_nodes(self, known: set[Any]) -> None:
        """Drop what was appended to the innermost scope beside the `known` nodes."""
        recorder = self.b.recorder
        kept = known | recorder.first
        extra = [node for node in recorder.scope.nodes if node not in kept]
        recorder.scope.nodes[:] = [node for node in recorder.scope.nodes if node in kept]
        gone = {v for node in extra for v in node.outputs}
        recorder.scope.made -= gone
        constants = recorder.scope.constants
        for key in [k for k, v in constants.items() if v in gone]:
            del constants[key]
        for node in reversed(extra):
            detach(node)

    # -- unrolled ----------------------------------------------------------------------------------

    def unrolled(self, s: hir.For, items: list[Any]) -> None:
        """One copy of the body for each item; a run-time `break` puts the rest in branches."""
        if not items:
            self.never(s)
            return
        self.bind(s.target, items[0])
        self.block(s.body)
        self._rest(s, items, 1)

    def _rest(self, s: hir.For, items: list[Any], at: int) -> None:
        for n in range(at, len(items)):
            if s.broken is not None:
                flag = self.frame.env[s.broken]
                if not is_dynamic(flag):
                    if flag:
                        return
                else:
                    test = arithmetic.truth(self.at(s.span), flag)
                    live = [*s.carried, *s.live_out, s.broken]
                    names = list(dict.fromkeys(live))
                    self.choose(
                        test,
                        lambda: None,
                        functools.partial(self._one_more, s, items, n),
                        names,
                        s.span,
                    )
                    return
            self.bind(s.target, items[n])
            self.block(s.body)

    def _one_more(self, s: hir.For, items: list[Any], at: int) -> None:
        self.bind(s.target, items[at])
        self.block(s.body)
        self._rest(s, items, at + 1)

    def never(self, s: AnyLoop) -> None:
        """A loop that makes no turn: what it would bind has no value."""

    # -- Loop --------------------------------------------------------------------------------------

    def dynamic_for(self, s: hir.For, turns: Turns, *, at_least_once: bool = False) -> None:
        """A `for` as one Loop with a trip count."""
        count = turns.count
        if isinstance(count, int):
            if count <= 0:
                self.never(s)
                return
            at_least_once = True
        b = self.at(s.span)
        trip = as_value(b, count, dtype=DType.INT64)
        loop_break = s.broken is not None

        def start(n: GraphValue) -> None:
            self.bind(s.target, turns.item(n))

        def go_on() -> GraphValue | None:
            return self._not_broken(s) if loop_break else None

        self._loop(s, trip, None, start, go_on, at_least_once=at_least_once)

    def while_loop(self, s: hir.While) -> None:
        """A `while` as one Loop whose condition is tested again at the end of each turn."""
        test = self.evaluate(s.test)
        if isinstance(test, (list, tuple, dict)):
            test = bool(test)
        sure = not is_dynamic(test)
        if sure and not test:
            self.never(s)
            return
        first = None if sure else self.condition(test, s.test.span, scalar=True)

        def go_on() -> GraphValue:
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

        self._loop(s, None, first, lambda n: None, go_on, at_least_once=sure)

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
        trip: GraphValue | None,
        first: GraphValue | None,
        start: Callable[[GraphValue], None],
        go_on: Callable[[], GraphValue | None],
        *,
        at_least_once: bool,
    ) -> None:
        """Lower the body until the types of what it carries are stable, then emit the Loop."""
        state = Carried(self, s, at_least_once)
        for _ in range(12):
            body = self._turn(s, state, start, go_on)
            if body.stable:
                break
            self.b.recorder.drop()
        else:
            fail(
                messages.LoopTypes(
                    name=state.unstable, before="one type", after="another", span=s.span
                )
            )
        self._emit_loop(s, state, body, trip, first)

    def _turn(
        self,
        s: AnyLoop,
        state: Carried,
        start: Callable[[GraphValue], None],
        go_on: Callable[[], GraphValue | None],
    ) -> _Body:
        """Lower the body once with the carried types as they are thought to be."""
        recorder, b = self.b.recorder, self.b
        before = self.frame.env
        used = len(b.used_ops)
        recorder.push()
        try:
            self.frame.env = dict(before)
            kind = TensorType(DType.INT64, ())
            number = b.wrap(recorder.input("turn", kind), kind, "int")
            flag = recorder.input("go_on", TensorType(DType.BOOL, ()))
            state.enter(self.frame.env)
            start(number)
            self.block(s.body)
            again = go_on()
            if again is None:
                again = b.wrap(flag, TensorType(DType.BOOL, ()))
            stable = state.leave(self.frame.env)
            if not stable:
                del b.used_ops[used:]
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
            recorder.types[value.value] = kind
            adapters.set_type(value.value, kind)
            root = recorder.witness.get(init.value, init.value)
            recorder.witness.setdefault(value.value, root)
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
