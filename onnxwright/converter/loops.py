"""Lowering of loops: to one Loop where the turns are a matter of run time, unrolled where not.

Names carried around a loop are found by liveness; their types by lowering the body until they no
longer change.  A loop over a static list is unrolled; one over a static range only where its
variable must be a number (as an attribute, or to index a list).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.branches import Branches
from onnxwright.converter.merge import LeafType, bring, leaf_type, unify
from onnxwright.converter.values import (
    AttributeRef,
    Poison,
    ShapeTuple,
    is_dynamic,
    leaves,
    map_leaves,
    same_static,
    same_structure,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.ir import adapters
from onnxwright.ir.builder import detach
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    as_value,
    cast,
    describe,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType, TensorType

UNROLL_LIMIT = 1024
_Loop = Union[hir.For, hir.While]
# Errors that say a number must be known: a loop that can be unrolled is, when one comes up.
_WANTS_STATIC = ("OW534", "OW312", "OW306", "OW307", "OW208", "OW403", "OW413", "OW205", "OW309")


@dataclass
class _Turns:
    """What a `for` loop goes over, when that is decided at run time.

    Attributes:
        count: how many turns, as an INT64 scalar or an int.
        item: from the number of a turn (a weak INT64 scalar) to what the target gets.
    """

    count: Any
    item: Callable[[GraphValue], Any]


class Loops(Branches):
    """Lowers `for` and `while`."""

    def block(self, statements: hir.Block) -> None:
        """Lower statements in order."""
        raise AssertionError("given by the statements room")

    def for_loop(self, s: hir.For) -> None:
        """A `for` loop over anything."""
        iterable = self.iterable(s.iterable)
        if isinstance(iterable, _Turns):
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
        mark, outer_nodes = recorder.names.mark(), len(recorder.scope.nodes)
        try:
            self.dynamic_for(s, _Turns(len(turns), item), at_least_once=True)
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

    def _forget_nodes(self, count: int) -> None:
        """Drop what was appended to the innermost scope after its first `count` nodes."""
        recorder = self.b.recorder
        extra = recorder.scope.nodes[count:]
        del recorder.scope.nodes[count:]
        gone = {v for node in extra for v in node.outputs}
        recorder.scope.made -= gone
        constants = recorder.scope.constants
        for key in [k for k, v in constants.items() if v in gone]:
            del constants[key]
        for node in reversed(extra):
            detach(node)

    # -- what a loop goes over -------------------------------------------------------------------

    def iterable(self, node: hir.Expr) -> Any:
        """A static list or range, or the turns of a run-time loop."""
        if isinstance(node, hir.Call) and isinstance(node.func, hir.Name):
            function = self.frame.lookup(node.func.id, node.func.span)
            if function in (range, enumerate, zip, reversed) and not node.keywords:
                parts = [a.value if isinstance(a, hir.Star) else a for a in node.args]
                if len(parts) == len(node.args) and not any(
                    isinstance(a, hir.Star) for a in node.args
                ):
                    return self._builtin_iterable(function, node)
        return self._turns_of(self.evaluate(node), node.span)

    def _builtin_iterable(self, function: Any, node: hir.Call) -> Any:
        span = node.span
        if function is range:
            args = [self.value(self.evaluate(a)) for a in node.args]
            return self.range_of(args, span)
        if function is enumerate:
            inner = self.iterable(node.args[0])
            start = self.value(self.evaluate(node.args[1])) if len(node.args) > 1 else 0
            return self._enumerated(inner, start, span)
        if function is reversed:
            inner = self.iterable(node.args[0])
            if not isinstance(inner, _Turns):
                return list(reversed(self.items_of(inner, span)))
            last = self.apply_binary("sub", inner.count, 1, span)
            return _Turns(
                inner.count, lambda n: inner.item(self.apply_binary("sub", last, n, span))
            )
        return self._zipped([self.iterable(a) for a in node.args], span)

    def _turns_of(self, value: Any, span: Span) -> Any:
        value = self.value(value)
        b = self.at(span)
        if isinstance(value, GraphValue):
            if isinstance(b.type_of(value), SequenceType):
                count = b.as_weak(emit1(b, "SequenceLength", (value,)), "int")
                return _Turns(
                    count, lambda n: emit1(self.b, "SequenceAt", (value, self.index_value(n)))
                )
            return self._over_tensor(value, span)
        if isinstance(value, np.ndarray):
            if value.ndim == 0:
                fail(messages.NotIterable(what="an array of rank 0", span=span))
            return self._over_tensor(b.constant(value), span)
        if isinstance(value, (range, list, tuple, dict, set, frozenset, str)):
            return value
        if isinstance(value, AttributeRef):
            return self._over_tensor(value.__ow_as_value__(b), span)
        return self.items_of(value, span)

    def index_value(self, n: Any) -> GraphValue:
        """A turn number as a tensor for indexing."""
        if isinstance(n, int):
            made: GraphValue = int_constant(self.b, n)
            return made
        return self.b.as_weak(n, None)

    def _over_tensor(self, x: GraphValue, span: Span) -> _Turns:
        b = self.b
        if rank_of(b, x) == 0:
            fail(messages.NotIterable(what="a tensor of rank 0", span=span))
        weak = x.weak
        x = b.as_weak(x, None)
        shape = shape_of(b, x)
        if shape is not None and isinstance(shape[0], int):
            count: Any = shape[0]
        else:
            whole = emit1(b, "Shape", (x,))
            count = b.as_weak(gather(b, whole, int_constant(b, 0)), "int")
        return _Turns(count, lambda n: self.b.as_weak(gather(self.b, x, self.index_value(n)), weak))

    def _enumerated(self, inner: Any, start: Any, span: Span) -> Any:
        if not isinstance(inner, _Turns) and not is_dynamic(start):
            return list(enumerate(self.items_of(inner, span), start))
        turns = self._as_turns(inner, span)

        def item(n: GraphValue) -> Any:
            number = n if same_static(start, 0) else self.apply_binary("add", n, start, span)
            return (number, turns.item(n))

        return _Turns(turns.count, item)

    def _zipped(self, parts: list[Any], span: Span) -> Any:
        if not any(isinstance(p, _Turns) for p in parts):
            return list(zip(*(self.items_of(p, span) for p in parts), strict=False))
        turns = [self._as_turns(p, span) for p in parts]
        static = [t.count for t in turns if isinstance(t.count, int)]
        dynamic = [t.count for t in turns if not isinstance(t.count, int)]
        counts = [*([min(static)] if static else []), *dynamic]
        b = self.b
        count = counts[0] if len(counts) == 1 else arithmetic.minimum_maximum(b, "Min", counts)
        return _Turns(count, lambda n: tuple(t.item(n) for t in turns))

    def _as_turns(self, iterable: Any, span: Span) -> _Turns:
        if isinstance(iterable, _Turns):
            return iterable
        if isinstance(iterable, range):
            start, step = iterable.start, iterable.step
            return _Turns(
                len(iterable),
                lambda n: self.apply_binary(
                    "add", self.apply_binary("mul", n, step, span), start, span
                ),
            )
        items = self.items_of(iterable, span)
        return _Turns(len(items), lambda n: self.item(items, n, span, self.at(span)))

    def range_of(self, args: list[Any], span: Span) -> Any:
        """`range(...)` of one to three arguments, static or not."""
        if not is_dynamic(args):
            return self.python(span, range, *args)
        if not 1 <= len(args) <= 3:
            return self.python(span, range, *args)
        b = self.at(span)
        args = [self._range_argument(a, span) for a in args]
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        if isinstance(step, int) and step == 0:
            return self.python(span, range, 0, 0, 0)
        if same_static(start, 0) and same_static(step, 1):
            count = stop
        elif same_static(step, 1):
            count = self.apply_binary("sub", stop, start, span)
        else:
            # The number of turns, rounded up, is minus the floor of (start - stop) / step.
            distance = self.apply_binary("sub", start, stop, span)
            turns = self.apply_binary("floordiv", distance, step, span)
            count = arithmetic.unary(b, "neg", turns) if isinstance(turns, GraphValue) else -turns

        def item(n: GraphValue) -> Any:
            scaled = n if same_static(step, 1) else self.apply_binary("mul", n, step, span)
            if same_static(start, 0):
                return scaled
            return self.apply_binary("add", scaled, start, span)

        return _Turns(count, item)

    def _range_argument(self, x: Any, span: Span) -> Any:
        """An argument of `range` as an int or a weak INT64 scalar."""
        b = self.b
        if not isinstance(x, GraphValue):
            array = np.asarray(x)
            if array.size == 1 and array.dtype.kind in "iu":
                return int(array.reshape(()))
            return self.python(span, range, x).stop
        dtype = x.dtype
        if dtype is not None and not dtype.is_integer and dtype is not DType.BOOL:
            fail(messages.NotIterable(what=f"a range of {dtype.name}", span=span))
        value = cast(b, b.as_weak(x, None), DType.INT64)
        if rank_of(b, value) != 0:
            value = emit1(b, "Reshape", (value, int_constant(b, [])))
        return b.as_weak(value, "int")

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

    def never(self, s: _Loop) -> None:
        """A loop that makes no turn: what it would bind has no value."""

    # -- Loop --------------------------------------------------------------------------------------

    def dynamic_for(self, s: hir.For, turns: _Turns, *, at_least_once: bool = False) -> None:
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

    def _not_broken(self, s: _Loop) -> GraphValue:
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
        s: _Loop,
        trip: GraphValue | None,
        first: GraphValue | None,
        start: Callable[[GraphValue], None],
        go_on: Callable[[], GraphValue | None],
        *,
        at_least_once: bool,
    ) -> None:
        """Lower the body until the types of what it carries are stable, then emit the Loop."""
        state = _State(self, s, at_least_once)
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
        s: _Loop,
        state: _State,
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
        s: _Loop,
        state: _State,
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


@dataclass(eq=False)
class _Slot:
    """One carried leaf: whose it is, what it starts as, and the type it has all the way round."""

    name: str
    init: Any
    kind: LeafType
    inside: GraphValue | None = None
    like: GraphValue | None = None


class _State:
    """What a loop carries: for each name the structure of its value, for each leaf a slot."""

    def __init__(self, loops: Loops, s: _Loop, at_least_once: bool) -> None:
        self.loops = loops
        self.s = s
        self.at_least_once = at_least_once
        self.slots: list[_Slot] = []
        self.shape: dict[str, Any] = {}
        self.late: dict[str, Any] = {}
        self.lost: dict[str, Poison] = {}
        self.unstable = ""
        env = loops.frame.env
        targets = target_names(s.target) if isinstance(s, hir.For) else []
        for name in s.carried:
            value = env.get(name)
            if name not in env or isinstance(value, Poison):
                continue
            if name in targets and name not in s.live_out:
                continue
            if isinstance(value, ShapeTuple):
                value = tuple(value)
            self.shape[name] = map_leaves(value, functools.partial(self._slot, name))

    def _slot(self, name: str, x: Any) -> Any:
        """A slot for a leaf that a value can stand for; anything else must stay what it is."""
        kind = leaf_type(self.loops.b, x)
        if kind is None or isinstance(x, str):
            return x
        slot = _Slot(name, x, kind)
        self.slots.append(slot)
        return slot

    def enter(self, env: dict[str, Any]) -> None:
        """Give the names their values inside the body."""
        b = self.loops.b
        for slot in self.slots:
            made = b.recorder.input(
                slot.name if not slot.name.startswith(hir.INTERNAL) else "carried", slot.kind.kind
            )
            slot.inside = b.wrap(made, slot.kind.kind, slot.kind.weak)
            init = slot.init
            if slot.like is not None:
                b.recorder.witness[made] = slot.like.value
            elif isinstance(init, GraphValue) and init.weak is None and slot.kind.dtype is None:
                b.recorder.witness[made] = b.recorder.witness.get(init.value, init.value)
        for name in self.s.carried:
            if name in self.shape:
                env[name] = map_leaves(
                    self.shape[name], lambda x: x.inside if isinstance(x, _Slot) else x
                )
            else:
                env[name] = self._unset(name, env)

    def _unset(self, name: str, env: dict[str, Any]) -> Poison:
        held = env.get(name)
        if isinstance(held, Poison):
            return held
        span = self.s.span
        word = "for" if isinstance(self.s, hir.For) else "while"
        start = Span(span.file, span.line, span.col, span.line, span.col + len(word))
        label = Label(start, "this loop may make no turn")
        advice = f"give `{name}` a value before the loop"
        return Poison(messages.MayBeUnassigned(name=name, advice=advice, labels=(label,)))

    def leave(self, env: dict[str, Any]) -> bool:
        """Compare what the body leaves with what it was given; False if types had to change."""
        stable = True
        for name in list(self.shape):
            end = env.get(name)
            if end is None and name not in env:
                end = self._unset(name, {})
            if isinstance(end, Poison):
                if name in self.s.live_out:
                    self.lost[name] = end
                fixed = {id(x) for x in leaves(self.shape.pop(name))}
                self.slots = [x for x in self.slots if id(x) not in fixed]
                stable = False
                continue
            end = tuple(end) if isinstance(end, ShapeTuple) else end
            before = self.shape[name]
            if not same_structure(before, end):
                self._clash(name, _show(before), _show(end))
            for slot, value in zip(leaves(before), leaves(end), strict=True):
                stable = self._compare(name, slot, value) and stable
        for name in self.s.carried:
            if name not in self.shape and name not in self.lost:
                stable = self._settle(name, env) and stable
        return stable and not self._drop_unchanged(env)

    def _drop_unchanged(self, env: dict[str, Any]) -> bool:
        """Stop carrying what every turn leaves as it was; it is then known inside the body too."""
        same = set()
        for name, before in self.shape.items():
            for slot, value in zip(leaves(before), leaves(env[name]), strict=True):
                if isinstance(slot, _Slot) and slot.init is not _Filler and slot.inside is not None:
                    if isinstance(value, GraphValue) and value.value is slot.inside.value:
                        same.add(id(slot))
        if same:
            self.slots = [slot for slot in self.slots if id(slot) not in same]
            self.shape = {
                name: map_leaves(shape, lambda x: x.init if id(x) in same else x)
                for name, shape in self.shape.items()
            }
        return bool(same)

    def _clash(self, name: str, before: str, after: str) -> None:
        shown = "the result" if name.startswith(hir.INTERNAL) else name
        fail(messages.LoopTypes(name=shown, before=before, after=after, span=self.head()))

    def head(self) -> Span:
        """The first line of the loop."""
        span = self.s.span
        first = self.s.iterable.span if isinstance(self.s, hir.For) else self.s.test.span
        return Span(span.file, span.line, span.col, first.end_line, first.end_col)

    def _compare(self, name: str, slot: Any, end: Any) -> bool:
        if not isinstance(slot, _Slot):
            if not same_static(slot, end):
                self._clash(
                    name,
                    describe(slot),
                    describe(end) if not isinstance(end, GraphValue) else "a tensor",
                )
            return True
        kind = leaf_type(self.loops.b, end)
        if kind is None:
            self._clash(name, str(slot.kind), describe(end))
        assert kind is not None
        joined = unify(slot.kind, kind)
        if joined is None:
            self._clash(name, str(slot.kind), str(kind))
        assert joined is not None
        if joined.weak is None and joined.dtype is None and slot.kind.weak is not None:
            like = self.loops.witness(end, self.loops.b.recorder.scopes[-2])
            if like is not None and slot.like is None:
                slot.like = like
        if joined != slot.kind:
            slot.kind = joined
            self.unstable = name
            return False
        return True

    def _settle(self, name: str, env: dict[str, Any]) -> bool:
        """A name that has no value before the loop, but may have one after it."""
        end = env.get(name, _NOTHING)
        if name not in self.s.live_out or end is _NOTHING:
            return True
        if isinstance(end, Poison):
            self.late[name] = end
            return True
        internal = name.startswith(hir.INTERNAL)
        if not (self.at_least_once or internal):
            self.late[name] = self._unset(name, {})
            return True
        end = tuple(end) if isinstance(end, ShapeTuple) else end

        def one(x: Any) -> Any:
            kind = leaf_type(self.loops.b, x)
            if kind is None or isinstance(x, str):
                return x
            like = None
            if kind.weak is None and kind.dtype is None:
                like = self.loops.witness(x, self.loops.b.recorder.scopes[-2])
            slot = _Slot(name, _Filler, kind, like=like)
            self.slots.append(slot)
            return slot

        self.shape[name] = map_leaves(end, one)
        return False

    def results(self, env: dict[str, Any]) -> list[GraphValue]:
        """What the body gives to the next turn, one value for each slot, in their order."""
        made: dict[int, GraphValue] = {}
        for name, before in self.shape.items():
            end = env[name]
            for slot, value in zip(leaves(before), leaves(end), strict=True):
                if isinstance(slot, _Slot):
                    like = slot.inside if slot.kind.dtype is None else None
                    made[id(slot)] = bring(self.loops.b, value, slot.kind, like)
        return [made[id(slot)] for slot in self.slots]

    def inits(self) -> list[GraphValue]:
        """The start of each slot, in the scope around the loop."""
        result = []
        for slot in self.slots:
            if slot.init is _Filler:
                like = slot.like
                result.append(self.loops.placeholder(slot.kind, like))
            else:
                result.append(bring(self.loops.b, slot.init, slot.kind, slot.like))
        return result

    def finish(self, env: dict[str, Any], values: list[GraphValue]) -> None:
        """Give the names their values after the loop."""
        by_slot = {id(slot): value for slot, value in zip(self.slots, values, strict=True)}
        for name, shape in self.shape.items():
            env[name] = map_leaves(shape, lambda x: by_slot[id(x)] if isinstance(x, _Slot) else x)
        env.update(self.late)
        env.update(self.lost)


_Filler: Any = object()
_NOTHING: Any = object()


def _show(x: Any) -> str:
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, _Slot):
        return str(x.kind)
    return describe(x) if not isinstance(x, GraphValue) else "a tensor"
