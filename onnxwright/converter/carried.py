"""What a loop carries: for each name the structure of its value, for each leaf a slot."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Union

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.branches import placeholder, witness
from onnxwright.converter.merge import LeafType, bring, leaf_type, unify
from onnxwright.converter.state import Lowering
from onnxwright.converter.values import (
    Poison,
    ShapeTuple,
    leaves,
    map_leaves,
    same_static,
    same_structure,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    describe,
)

AnyLoop = Union[hir.For, hir.While]


@dataclass(eq=False)
class Slot:
    """One carried leaf: whose it is, what it starts as, and the type it has all the way round."""

    name: str
    init: Any
    kind: LeafType
    inside: GraphValue | None = None
    like: GraphValue | None = None


class Carried:
    """What a loop carries: for each name the structure of its value, for each leaf a slot."""

    def __init__(self, low: Lowering, s: AnyLoop, at_least_once: bool) -> None:
        self.low = low
        self.s = s
        self.at_least_once = at_least_once
        self.slots: list[Slot] = []
        self.shape: dict[str, Any] = {}
        self.late: dict[str, Any] = {}
        self.lost: dict[str, Poison] = {}
        self.unstable = ""
        env = low.frame.env
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
        kind = leaf_type(self.low.b, x)
        if kind is None or isinstance(x, str):
            return x
        slot = Slot(name, x, kind)
        self.slots.append(slot)
        return slot

    def enter(self, env: dict[str, Any]) -> None:
        """Give the names their values inside the body."""
        b = self.low.b
        for slot in self.slots:
            made = b.recorder.input(
                slot.name if not slot.name.startswith(hir.INTERNAL) else "carried", slot.kind.kind
            )
            slot.inside = b.wrap(made, slot.kind.kind, slot.kind.weak)
            init = slot.init
            if slot.like is not None:
                b.recorder.info(made).same_dtype_as = slot.like.value
            elif isinstance(init, GraphValue) and init.weak is None and slot.kind.dtype is None:
                same = b.recorder.same_dtype_as(init.value) or init.value
                b.recorder.info(made).same_dtype_as = same
        for name in self.s.carried:
            if name in self.shape:
                env[name] = map_leaves(
                    self.shape[name], lambda x: x.inside if isinstance(x, Slot) else x
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
        label = Label(start, "this loop may run zero times")
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
        """Stop carrying what every iteration leaves as it was; the body then knows it too."""
        same = set()
        for name, before in self.shape.items():
            for slot, value in zip(leaves(before), leaves(env[name]), strict=True):
                if isinstance(slot, Slot) and slot.init is not FILLER and slot.inside is not None:
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
        if not isinstance(slot, Slot):
            if not same_static(slot, end):
                self._clash(
                    name,
                    describe(slot),
                    describe(end) if not isinstance(end, GraphValue) else "a tensor",
                )
            return True
        kind = leaf_type(self.low.b, end)
        if kind is None:
            self._clash(name, str(slot.kind), describe(end))
        assert kind is not None
        joined = unify(slot.kind, kind)
        if joined is None:
            self._clash(name, str(slot.kind), str(kind))
        assert joined is not None
        if joined.weak is None and joined.dtype is None and slot.kind.weak is not None:
            like = self.outer_witness(end)
            if like is not None and slot.like is None:
                slot.like = like
        if joined != slot.kind:
            slot.kind = joined
            self.unstable = name
            return False
        return True

    def outer_witness(self, x: Any) -> GraphValue | None:
        """A value from outside the body whose (unknown) element type is that of `x`."""
        outer = self.low.b.recorder.scopes[:-1]
        return witness(self.low, x, outer[-1], outer)

    def _settle(self, name: str, env: dict[str, Any]) -> bool:
        """A name that has no value before the loop, but may have one after it."""
        end = env.get(name, NOTHING)
        if name not in self.s.live_out or end is NOTHING:
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
            kind = leaf_type(self.low.b, x)
            if kind is None or isinstance(x, str):
                return x
            like = None
            if kind.weak is None and kind.dtype is None:
                like = self.outer_witness(x)
            slot = Slot(name, FILLER, kind, like=like)
            self.slots.append(slot)
            return slot

        self.shape[name] = map_leaves(end, one)
        return False

    def results(self, env: dict[str, Any]) -> list[GraphValue]:
        """What the body gives to the next iteration, one value for each slot, in their order."""
        made: dict[int, GraphValue] = {}
        for name, before in self.shape.items():
            end = env[name]
            for slot, value in zip(leaves(before), leaves(end), strict=True):
                if isinstance(slot, Slot):
                    like = slot.inside if slot.kind.dtype is None else None
                    made[id(slot)] = bring(self.low.b, value, slot.kind, like)
        return [made[id(slot)] for slot in self.slots]

    def inits(self) -> list[GraphValue]:
        """The start of each slot, in the scope around the loop."""
        result = []
        for slot in self.slots:
            if slot.init is FILLER:
                like = slot.like
                result.append(placeholder(self.low, slot.kind, like))
            else:
                result.append(bring(self.low.b, slot.init, slot.kind, slot.like))
        return result

    def finish(self, env: dict[str, Any], values: list[GraphValue]) -> None:
        """Give the names their values after the loop."""
        by_slot = {id(slot): value for slot, value in zip(self.slots, values, strict=True)}
        for name, shape in self.shape.items():
            env[name] = map_leaves(shape, lambda x: by_slot[id(x)] if isinstance(x, Slot) else x)
        env.update(self.late)
        env.update(self.lost)


FILLER: Any = object()
NOTHING: Any = object()


def _show(x: Any) -> str:
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, Slot):
        return str(x.kind)
    return describe(x) if not isinstance(x, GraphValue) else "a tensor"
