"""Lowering of run-time choices to If: both sides are lowered, then what differs is merged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.memory import joined, newly_stale
from onnxwright.converter.lower.merge import LeafType, bring, leaf_type, unify
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.run_time_lists import (
    RunTimeList,
    is_list,
    item_type,
    sequence_kind,
    sequence_value,
)
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import name_value
from onnxwright.converter.lower.values import (
    Poison,
    leaves,
    map_leaves,
    same_static,
    same_structure,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import Diagnostic, Label, fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir import adapters
from onnxwright.ir.recorded import Scope
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import describe, emit1
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType, TensorType

_MISSING: Any = object()


class _Side:
    """One side of a branch: its scope and what it leaves in each name."""

    def __init__(self, scope: Scope, env: dict[str, Any]) -> None:
        self.scope = scope
        self.env = env
        self.outputs: list[GraphValue] = []


def chosen_value(
    low: Lowering,
    test: GraphValue,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    span: Span,
) -> Any:
    """The value of one of two computations, chosen when the model runs."""
    name = f"{hir.INTERNAL}chosen"

    def put(compute: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            low.frame.env[name] = compute()

        return run

    bound = [n for n in low.frame.env if not n.startswith(hir.INTERNAL)]
    choose(low, test, put(then), put(orelse), [name, *bound], span)
    result = low.frame.env.pop(name)
    if isinstance(result, Poison):
        fail(result.diagnostic.at(span))
    return result


def choose(
    low: Lowering,
    test: GraphValue,
    then: Callable[[], None],
    orelse: Callable[[], None],
    live: list[str],
    span: Span,
) -> None:
    """Run one of two pieces of code; afterwards `live` names hold what it left in them."""
    before, held = low.frame.env, set(low.b.recorder.name_owner)
    region = Region("this condition", span)
    with low.regions.inside(region):
        first = _side(low, then, before)
    with low.regions.inside(Region("this condition", span)):
        second = _side(low, orelse, before)
    merged: dict[str, Any] = {}
    merging = _Merging(low, (first, second), span)
    for name in live:
        a, c = first.env.get(name, _MISSING), second.env.get(name, _MISSING)
        if a is _MISSING and c is _MISSING:
            continue
        merged[name] = merging.value(name, a, c)
    for side in (first, second):
        for name, value in newly_stale(before, side.env).items():
            merged.setdefault(name, value)
    low.frame.env = {n: v for n, v in before.items() if n in first.env and n in second.env}
    for name in before:
        if name not in first.env or name not in second.env:
            merged.setdefault(name, Poison(_maybe(low, name, span)))
    chosen = _emit_if(test, merging, held)
    for name, value in merged.items():
        low.frame.env[name] = map_leaves(
            value, lambda x: x.read(chosen) if isinstance(x, _Output) else x
        )


def _side(low: Lowering, run: Callable[[], None], before: dict[str, Any]) -> _Side:
    recorder = low.b.recorder
    low.frame.env = dict(before)
    recorder.push()
    try:
        run()
    except BaseException:
        recorder.drop()
        low.frame.env = before
        raise
    side = _Side(recorder.suspend(), low.frame.env)
    low.frame.env = before
    return side


def _maybe(low: Lowering, name: str, span: Span) -> Diagnostic:
    if name == hir.RESULT:
        what = "some path ends without one"
        return messages.MissingReturn(name=low.frame.name, what=what, span=low.last_span)
    label = Label(
        Span(span.file, span.line, span.col, span.line, span.col + 2), "set on one side only"
    )
    advice = f"give `{name}` a value before the `if`, or set it in both branches"
    return messages.MayBeUnassigned(name=name, advice=advice, labels=(label,))


# -- merging ---------------------------------------------------------------------------------------


@dataclass
class _Merging:
    """What names hold after a branch; what differs becomes an output of both sides.

    Fields:
        low: the lowering.
        sides: the two sides.
        span: the condition.
        hints: for each output the name that it has in the program, or "".
    """

    low: Lowering
    sides: tuple[_Side, _Side]
    span: Span
    hints: list[str] = field(default_factory=list)

    def value(self, name: str, a: Any, c: Any) -> Any:
        """What a name holds after the branch: as before, an output of the If, or nothing."""
        if a is not _MISSING and c is not _MISSING and same_static(a, c):
            return a
        lost_a = a is _MISSING or isinstance(a, Poison)
        lost_c = c is _MISSING or isinstance(c, Poison)
        if lost_a or lost_c:
            if lost_a and lost_c:
                return a if isinstance(a, Poison) else c
            if name.startswith(hir.INTERNAL) and name not in (hir.RESULT, "%chosen"):
                return self._with_placeholder(a if lost_c else c, lost_a)
            held = a if isinstance(a, Poison) else c if isinstance(c, Poison) else None
            return held if held is not None else Poison(_maybe(self.low, name, self.span))
        if name != hir.RESULT and is_list(a) and is_list(c):
            if not (isinstance(a, list) and isinstance(c, list) and same_structure(a, c)):
                return self._lists(name, a, c)
        if not same_structure(a, c):
            if name == hir.RESULT:
                rule = "every `return` must give as many"
                fail(
                    messages.ReturnCount(
                        name=self.low.frame.name,
                        got="different numbers of values",
                        expected=rule,
                        span=self.span,
                    )
                )
            return self._unmergeable(name, a, c)
        pairs = zip(leaves(a), leaves(c), strict=True)
        merged = iter([self._leaf(name, x, y) for x, y in pairs])
        return map_leaves(a, lambda _: next(merged))

    def _lists(self, name: str, a: Any, c: Any) -> Any:
        """Two lists that may differ in length, as a sequence."""
        item = item_type(self.low.b, a, c)
        if not isinstance(item, LeafType) or item.dtype is None:
            return self._unmergeable(name, a, c)
        for value, side in ((a, self.sides[0]), (c, self.sides[1])):
            merged = functools.partial(sequence_value, self.low.b, value, item, name)
            side.outputs.append(self._in_scope(side, merged))
        place = self._output("" if name.startswith(hir.INTERNAL) else name)
        return _Output(place, LeafType(None, sequence_kind(item)), RunTimeList(name, item))

    def _leaf(self, name: str, x: Any, y: Any) -> Any:
        if same_static(x, y):
            return x
        tx, ty = (self._type(v, side) for v, side in zip((x, y), self.sides))
        if tx is None or ty is None:
            return self._unmergeable(name, x, y)
        to = unify(tx, ty)
        if to is None:
            shown = "the result" if name.startswith(hir.INTERNAL) else name
            fail(messages.BranchTypes(name=shown, then=str(tx), orelse=str(ty), span=self.span))
        b = self.low.b
        for value, other, side in ((x, y, self.sides[0]), (y, x, self.sides[1])):
            unknown = to.weak is None and to.dtype is None
            like = witness(self.low, other, side.scope) if unknown else None
            brought = functools.partial(bring, b, value, to, like)
            side.outputs.append(self._in_scope(side, brought))
        place = self._output("" if name.startswith(hir.INTERNAL) else name)
        return _Output(place, to, sides=(x, y))

    def _with_placeholder(self, value: Any, first_lost: bool) -> Any:
        """A value that only one side makes, and that is only read where that side ran."""
        lost, has = self.sides if first_lost else self.sides[::-1]

        def one(x: Any) -> Any:
            kind = self._type(x, has)
            if kind is None:
                return x
            has.outputs.append(self._in_scope(has, lambda: bring(self.low.b, x, kind)))
            filler = self._in_scope(lost, lambda: placeholder(self.low, kind, x))
            lost.outputs.append(filler)
            return _Output(self._output(""), kind, x if isinstance(x, RunTimeList) else None)

        return map_leaves(value, one)

    def _output(self, hint: str) -> int:
        """The place of the output that both sides have just got."""
        self.hints.append(hint)
        return len(self.hints) - 1

    def _unmergeable(self, name: str, a: Any, c: Any) -> Poison:
        is_result = name == hir.RESULT
        return Poison(
            messages.NotMergeable(
                name="the result" if name.startswith(hir.INTERNAL) else name,
                left=_show(a),
                right=_show(c),
                labels=() if is_result else (Label(self.span, "decided by this"),),
                span=self.span if is_result else None,
            )
        )

    def _type(self, x: Any, side: _Side) -> LeafType | None:
        leaf: LeafType | None = self._in_scope(side, lambda: leaf_type(self.low.b, x))
        return leaf

    def _in_scope(self, side: _Side, compute: Callable[[], Any]) -> Any:
        recorder = self.low.b.recorder
        recorder.resume(side.scope)
        try:
            return compute()
        finally:
            recorder.suspend()


def placeholder(low: Lowering, kind: LeafType, like: Any) -> GraphValue:
    """A value of a type that nothing reads: zeros, or an empty sequence."""
    b = low.b
    if isinstance(kind.kind, SequenceType) and isinstance(kind.kind.elem, TensorType):
        dtype = kind.kind.elem.dtype
        empty: GraphValue = emit1(b, "SequenceEmpty", (), dtype=int(dtype or 1))
        return empty
    dtype = kind.dtype
    if dtype is None:
        witness_type = witness(low, like, b.recorder.scope)
        if witness_type is None:
            fail(messages.ExitNeedsType(span=b.here()))
        empty = emit1(b, "CastLike", (b.constant(np.zeros((), np.float32)), witness_type))
        return empty
    shape = kind.kind.shape if isinstance(kind.kind, TensorType) else None
    dims = [d if isinstance(d, int) else 0 for d in shape or ()]
    if int(np.prod(dims, dtype=np.int64)) > 16:
        dims[0] = 0
    zero = np.zeros(dims, dtype.numpy)
    if dtype is DType.STRING:
        zero[...] = ""
    return b.as_weak(b.constant(zero), kind.weak)


def witness(
    low: Lowering, x: Any, scope: Scope, around: Sequence[Scope] | None = None
) -> GraphValue | None:
    """A value visible in `scope` whose (unknown) element type is that of `x`."""
    if not isinstance(x, GraphValue):
        return None
    recorder = low.b.recorder
    around = recorder.scopes if around is None else around
    current = x.value
    seen = set()
    while current not in seen:
        seen.add(current)
        if current in scope.values or any(current in s.values for s in around):
            return low.b.wrap(current, recorder.type_of(current))
        nearer = recorder.same_dtype_as(current)
        if nearer is None:
            return None
        current = nearer
    return None


# -- the node --------------------------------------------------------------------------------------


def _unused(low: Lowering, x: GraphValue) -> None:
    """A test that decides nothing: it may go, if nothing else reads it or names it."""
    producer = x.value.producer()
    recorder = low.b.recorder
    if producer is None or any(v in low.named for v in producer.outputs):
        return
    recorder.read_by_sugar(producer)
    for value in producer.inputs:
        if value is not None and len(value.uses()) == 1:
            _unused(low, low.b.wrap(value, None))


def _emit_if(test: GraphValue, merging: _Merging, held: set[str]) -> list[GraphValue]:
    """The If node, unless nothing comes out of it."""
    low, hints, (first, second) = merging.low, merging.hints, merging.sides
    recorder = low.b.recorder
    if not hints:
        _unused(low, test)
        recorder.forget(first.scope)
        recorder.forget(second.scope)
        return []
    graphs = []
    for side, name in ((first, "then_branch"), (second, "else_branch")):
        recorder.resume(side.scope)
        values = [v.value for v in side.outputs]
        graph = recorder.pop(values, name)
        recorder.branch_of[graph.name or ""] = name
        graphs.append(graph)
    b = low.at(merging.span)
    op = b.opset["If"]
    outputs = b.emit(op, (test,), {"then_branch": graphs[0], "else_branch": graphs[1]}, len(hints))
    result = []
    for value, hint, x, y in zip(outputs, hints, first.outputs, second.outputs, strict=True):
        weak = x.weak if x.weak == y.weak else None
        kind = _joined_kind(value.kind, x.kind, y.kind)
        recorder.set_type(value.value, kind)
        adapters.set_type(value.value, kind)
        for branch in (x, y):
            info = recorder.info(value.value)
            info.same_dtype_as = info.same_dtype_as or recorder.same_dtype_as(branch.value)
        named = low.b.wrap(value.value, kind, weak)
        if hint:
            name_value(low, named, hint)
            if hint not in held:  # what the sides held goes by its place
                low.handlers.own_name(recorder, hint, value.value)
        result.append(named)
    return result


class _Output:
    """Placeholder for an output of the If until the node exists."""

    def __init__(
        self,
        place: int,
        kind: LeafType,
        of: RunTimeList | None = None,
        sides: tuple[Any, ...] = (),
    ) -> None:
        self.place = place
        self.sides = sides
        self.kind = kind
        self.of = of

    def read(self, results: Sequence[GraphValue]) -> Any:
        """The output; for a list, the list that has its items."""
        value = joined(results[self.place], *self.sides)
        return value if self.of is None else RunTimeList(self.of.name, self.of.item, value)


def _joined_kind(inferred: Any, x: Any, y: Any) -> Any:
    return inferred if inferred is not None else unify_kinds(x, y)


def unify_kinds(x: Any, y: Any) -> Any:
    """The common type of two tensors of which one may be unknown."""
    joined = unify(LeafType(None, x), LeafType(None, y))
    return joined.kind if joined is not None else None


def _show(x: Any) -> str:
    if isinstance(x, GraphValue):
        return f"a tensor ({x.kind})" if x.kind is not None else "a tensor"
    return describe(x)
