"""What a loop carries: for each name the structure of its value, for each leaf a slot."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Union

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.names import target_names
from onnxwright.converter.lower.memory import (
    check_next_iteration,
    forget_others,
    joined,
    written_names,
)
from onnxwright.converter.lower.merge import LeafType, bring, leaf_type, unify
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.run_time_lists import (
    UNKNOWN,
    RunTimeList,
    can_scan,
    from_scan,
    is_fixed,
    is_list,
    item_type,
    scan_item,
    sequence_kind,
    sequence_value,
)
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.branches import placeholder, witness
from onnxwright.converter.lower.values import (
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
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import describe
from onnxwright.types.dims import names_in
from onnxwright.types.kinds import TensorType

AnyLoop = Union[hir.For, hir.While]


@dataclass(eq=False)
class Slot:
    """One carried leaf: whose it is, what it starts as, and the type it has all the way round."""

    name: str
    init: Any
    kind: LeafType
    inside: GraphValue | None = None
    end: Any = None
    like: GraphValue | None = None


@dataclass(eq=False)
class ListSlot(Slot):
    """A carried list whose length the model decides.

    Attributes:
        item: the type of its items.
        scan: the body only appends, so that the items are a scan output.
        assumed: what `scan` was when the body was started.
        held: the list as the body is given it.
        count: how many items an iteration appends, for a scan output.
    """

    item: LeafType = UNKNOWN
    scan: bool = False
    assumed: bool = False
    held: RunTimeList | None = None
    count: int = 0

    def read(self) -> None:
        """The body needs what earlier iterations appended."""
        self.scan = False

    def join(self, item: LeafType) -> bool:
        """Take another type of items; whether it is the same."""
        same = item == self.item
        self.item = item
        self.kind = LeafType(None, sequence_kind(item))
        return same


class Carried:
    """What a loop carries: for each name the structure of its value, for each leaf a slot."""

    def __init__(self, low: Lowering, s: AnyLoop, region: Region, at_least_once: bool) -> None:
        self.low = low
        self.s = s
        self.region = region
        self.at_least_once = at_least_once
        self.slots: list[Slot] = []
        self.shape: dict[str, Any] = {}
        self.late: dict[str, Any] = {}
        self.lost: dict[str, Poison] = {}
        self.unstable = ""
        self.written = written_names(s.body)
        env = low.frame.env
        for name, span in self.written.items():
            if isinstance(env.get(name), GraphValue):
                forget_others(low, name, env[name], span)
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
        """A slot for a leaf that a value can represent; anything else must stay what it is."""
        kind = leaf_type(self.low.b, x)
        if kind is None or isinstance(x, str):
            return x
        if isinstance(x, RunTimeList):
            return self._list_slot(name, x, x.item, scan=can_scan(x))
        slot = Slot(name, x, kind)
        self.slots.append(slot)
        return slot

    def _list_slot(self, name: str, init: Any, item: LeafType, *, scan: bool) -> ListSlot:
        kind = LeafType(None, sequence_kind(item))
        slot = ListSlot(name, init, kind, item=item, scan=scan)
        self.slots.append(slot)
        return slot

    def enter(self, env: dict[str, Any]) -> None:
        """Give the names their values inside the body."""
        b = self.low.b
        for slot in self.slots:
            if isinstance(slot, ListSlot):
                self._enter_list(slot)
                continue
            entered = b.recorder.input(
                slot.name if not slot.name.startswith(hir.INTERNAL) else "carried", slot.kind.kind
            )
            init = slot.init
            slot.inside = joined(b.wrap(entered, slot.kind.kind, slot.kind.weak), init)
            if slot.like is not None:
                b.recorder.info(entered).same_dtype_as = slot.like.value
            elif isinstance(init, GraphValue) and init.weak is None and slot.kind.dtype is None:
                same = b.recorder.same_dtype_as(init.value) or init.value
                b.recorder.info(entered).same_dtype_as = same
        for name in self.s.carried:
            if name in self.shape:
                env[name] = map_leaves(self.shape[name], _inside)
            else:
                env[name] = self._unset(name, env)

    def _enter_list(self, slot: ListSlot) -> None:
        """The list as the body is given it; its sequence only if the body needs one."""
        slot.assumed = slot.scan
        slot.inside = None
        if not slot.scan:
            b = self.low.b
            kind = sequence_kind(slot.item)
            name = slot.name if not slot.name.startswith(hir.INTERNAL) else "carried"
            slot.inside = b.wrap(b.recorder.input(name, kind), kind)
        slot.held = RunTimeList(slot.name, slot.item, sequence=slot.inside, reader=slot)

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
            if _lists_differ(before, end):
                stable = self._compare_lists(name, before, end) and stable
                continue
            if not same_structure(before, end):
                self._clash(name, _show(before), _show(end))
            for slot, value in zip(leaves(before), leaves(end), strict=True):
                stable = self._compare(name, slot, value) and stable
        for name in self.s.carried:
            if name not in self.shape and name not in self.lost:
                stable = self._settle(name, env) and stable
        check_next_iteration(self.low, self.written, self.shape)
        return stable and not self._drop_unchanged(env)

    def _compare_lists(self, name: str, before: Any, end: Any) -> bool:
        """A list that the body makes longer, or may: False where it must be lowered again."""
        slot = before if isinstance(before, ListSlot) else None
        start = slot.init if slot is not None else map_leaves(before, _init)
        held = [] if slot is None or slot.held is None else [slot.held]
        items = [x for x in (start, *held) if x is not FILLER]
        item = item_type(self.low.b, *items, end)
        if isinstance(item, str) and _holds_containers(end):
            what = "has containers as items, in a list whose length the model decides"
            advice = "append to several lists, one for each part"
            fail(messages.RunTimeListUse(name=name, what=what, advice=advice, span=self.head()))
        if isinstance(item, str):
            grows = len(end.added) if isinstance(end, RunTimeList) else len(end)
            same = _show(before) if slot is None else "a list"
            self._clash(name, same, f"a list of {grows}" if slot is None else f"one where {item}")
        assert isinstance(item, LeafType)
        if slot is None:
            if self.region.tried:
                self.region.grows = True
                self._clash(name, _show(before), _show(end))
            gone = {id(x) for x in leaves(before)}
            self.slots = [x for x in self.slots if id(x) not in gone]
            self.shape[name] = self._list_slot(name, start, item, scan=can_scan(start))
            self.unstable = name
            return False
        if not slot.join(item):
            self.unstable = name
            return False
        slot.scan = slot.scan and self._only_appends(slot, end)
        self.unstable = name
        return slot.scan == slot.assumed

    def _only_appends(self, slot: ListSlot, end: Any) -> bool:
        """Whether what an iteration appends can be a scan output."""
        if not isinstance(end, RunTimeList) or end.reader is not slot or not end.added:
            return False
        slot.count = len(end.added)
        root = self.low.b.recorder.scopes[0]
        kinds = [self.low.b.recorder.type_of(v) for v in root.inputs]
        shapes = [k.shape or () for k in kinds if isinstance(k, TensorType)]
        sizes = frozenset(n for shape in shapes for d in shape if d for n in names_in(d))
        return is_fixed(slot.item, sizes, many=slot.count > 1)

    def _drop_unchanged(self, env: dict[str, Any]) -> bool:
        """Stop carrying what every iteration leaves as it was; the body then knows it too."""
        same = set()
        for name, before in self.shape.items():
            if isinstance(before, ListSlot):
                if env[name] is before.held and before.init is not FILLER:
                    same.add(id(before))
                continue
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
            if isinstance(x, RunTimeList):
                return self._list_slot(name, FILLER, x.item, scan=False)
            like = None
            if kind.weak is None and kind.dtype is None:
                like = self.outer_witness(x)
            slot = Slot(name, FILLER, kind, like=like)
            self.slots.append(slot)
            return slot

        self.shape[name] = map_leaves(end, one)
        return False

    @property
    def carried(self) -> list[Slot]:
        """The slots that are loop-carried values."""
        return [s for s in self.slots if not (isinstance(s, ListSlot) and s.scan)]

    @property
    def scanned(self) -> list[ListSlot]:
        """The slots that are scan outputs."""
        return [s for s in self.slots if isinstance(s, ListSlot) and s.scan]

    def results(self, env: dict[str, Any]) -> list[GraphValue]:
        """What an iteration gives: one value for each carried slot, then one for each scanned."""
        by_slot: dict[int, GraphValue] = {}
        for name, before in self.shape.items():
            end = env[name]
            if isinstance(before, ListSlot):
                by_slot[id(before)] = self._list_result(before, end)
                continue
            for slot, value in zip(leaves(before), leaves(end), strict=True):
                if isinstance(slot, Slot):
                    like = slot.inside if slot.kind.dtype is None else None
                    slot.end = value
                    by_slot[id(slot)] = bring(self.low.b, value, slot.kind, like)
        return [by_slot[id(slot)] for slot in (*self.carried, *self.scanned)]

    def _list_result(self, slot: ListSlot, end: Any) -> GraphValue:
        if slot.scan:
            return scan_item(self.low.b, end.added, slot.item)
        return sequence_value(self.low.b, end, slot.item, slot.name)

    def inits(self) -> list[GraphValue]:
        """The start of each carried slot, in the scope around the loop."""
        result = []
        for slot in self.carried:
            if isinstance(slot, ListSlot) and slot.init is not FILLER:
                result.append(sequence_value(self.low.b, slot.init, slot.item, slot.name))
            elif slot.init is FILLER:
                like = slot.like
                result.append(placeholder(self.low, slot.kind, like))
            else:
                result.append(bring(self.low.b, slot.init, slot.kind, slot.like))
        return result

    def finish(self, env: dict[str, Any], values: list[GraphValue]) -> None:
        """Give the names their values after the loop."""
        by_slot: dict[int, Any] = {}
        for slot, value in zip((*self.carried, *self.scanned), values, strict=True):
            by_slot[id(slot)] = self._after(slot, value)
        for name, shape in self.shape.items():
            env[name] = map_leaves(shape, lambda x: by_slot[id(x)] if isinstance(x, Slot) else x)
        env.update(self.late)
        env.update(self.lost)

    def _after(self, slot: Slot, value: GraphValue) -> Any:
        """What a slot is after the loop."""
        if not isinstance(slot, ListSlot):
            return joined(value, slot.init, slot.end)
        if slot.scan:
            return from_scan(self.low.b, slot.init, value, slot.count, slot.item, slot.name)
        return RunTimeList(slot.name, slot.item, sequence=value)


def _inside(x: Any) -> Any:
    if isinstance(x, ListSlot):
        return x.held
    return x.inside if isinstance(x, Slot) else x


def _init(x: Any) -> Any:
    return x.init if isinstance(x, Slot) else x


def _lists_differ(before: Any, end: Any) -> bool:
    """Whether an iteration changes, or may change, the length of a list."""
    if isinstance(before, ListSlot):
        return is_list(end) and end is not before.held
    if not isinstance(before, list) or not is_list(end):
        return False
    return isinstance(end, RunTimeList) or not same_structure(before, end)


def _holds_containers(x: Any) -> bool:
    items = x.added if isinstance(x, RunTimeList) else x
    return any(isinstance(v, (list, tuple, dict)) for v in items)


FILLER: Any = object()
NOTHING: Any = object()


def _show(x: Any) -> str:
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, Slot):
        return str(x.kind)
    return describe(x) if not isinstance(x, GraphValue) else "a tensor"
