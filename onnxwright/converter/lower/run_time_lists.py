"""Python lists whose length the model decides: a sequence, or a tensor with the items on axis 0.

A list that is appended in a run-time loop, or on one side of a run-time branch, becomes a
`RunTimeList`.  It never changes: appending makes another one, which the name is bound to.  What is
appended is kept aside until something reads the list, so that a loop that only appends needs no
sequence: its items become a scan output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from onnxwright.converter.lower.merge import LeafType, bring, leaf_type, unify
from onnxwright.converter.lower.values import RunTimeContainer
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import adapters
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.literals import as_value, cast, emit1, gather, int_constant
from onnxwright.semantics.operands import truth
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType, TensorType

UNKNOWN = LeafType(None, None)
# Python's operations on a list that a RunTimeList has, for messages.
METHODS = ("append", "extend", "insert", "clear", "pop")


class Reader(Protocol):
    """The place of a loop that carries a list; it is called when the body reads the list."""

    def read(self) -> None:
        """The body needs what earlier iterations appended."""


@dataclass(frozen=True, eq=False)
class RunTimeList(RunTimeContainer):
    """A list of tensors whose length is known when the model runs.

    Attributes:
        name: the variable that holds it, for messages.
        item: the type of its items.
        sequence: its first items, as a sequence.
        stacked: its first items, as one tensor with a first axis more.
        added: what is appended to those.
        reader: the loop whose earlier iterations made the first items, where it is being lowered.
    """

    name: str
    item: LeafType
    sequence: GraphValue | None = None
    stacked: GraphValue | None = None
    added: tuple[Any, ...] = ()
    reader: Reader | None = None

    @property
    def kind(self) -> SequenceType:
        """Its type as a value: a sequence."""
        return sequence_kind(self.item)

    def as_value(self, b: GraphBackend, dtype: DType | None = None) -> GraphValue:
        """The list as a sequence."""
        return sequence_value(b, self, self.item, self.name)

    def with_items(self, items: Sequence[Any]) -> RunTimeList:
        """The list with more items at its end."""
        return replace(self, added=(*self.added, *items))


def is_list(x: Any) -> bool:
    """Whether a value is a Python list, of known length or not."""
    return isinstance(x, (list, RunTimeList))


def item_type(b: GraphBackend, *lists: Any) -> LeafType | str:
    """The common type of the items of lists, or why there is none."""
    common_type_of_items: LeafType | None = None
    for x in lists:
        kinds = [x.item] if isinstance(x, RunTimeList) and x.item != UNKNOWN else []
        for item in x.added if isinstance(x, RunTimeList) else x:
            kind = None if isinstance(item, (RunTimeList, list, tuple)) else leaf_type(b, item)
            if kind is None or (kind.kind is not None and not isinstance(kind.kind, TensorType)):
                return "its items are not tensors"
            kinds.append(kind)
        for kind in kinds:
            joined = kind if common_type_of_items is None else unify(common_type_of_items, kind)
            if joined is None:
                return f"its items are {common_type_of_items} and {kind}"
            common_type_of_items = joined
    return common_type_of_items or UNKNOWN


def sequence_kind(item: LeafType) -> SequenceType:
    """The type of a sequence of such items."""
    kind = item.kind if isinstance(item.kind, TensorType) else TensorType(None)
    return SequenceType(kind)


def sequence_value(b: GraphBackend, x: Any, item: LeafType, name: str) -> GraphValue:
    """A list as a sequence of tensors.

    Raises:
        ScriptTypeError: the element type of the items is not known (OW895).
    """
    kind = sequence_kind(item)
    added = list(x.added if isinstance(x, RunTimeList) else x)
    sequence: GraphValue | None = None
    if isinstance(x, RunTimeList):
        if x.reader is not None:
            x.reader.read()
        if x.stacked is not None:
            sequence = emit1(b, "SplitToSequence", (x.stacked,), axis=0, keepdims=0)
        else:
            sequence = x.sequence
    elif added:
        values = tuple(_item(b, v, item) for v in added)
        return _typed(b, emit1(b, "SequenceConstruct", values), kind)
    if sequence is None:
        if item.dtype is None:
            fail(messages.ListItemType(name=name, span=b.here()))
        sequence = emit1(b, "SequenceEmpty", (), dtype=int(item.dtype))
    for v in added:
        sequence = emit1(b, "SequenceInsert", (_typed(b, sequence, kind), _item(b, v, item)))
    return _typed(b, sequence, kind)


def _item(b: GraphBackend, x: Any, item: LeafType) -> GraphValue:
    return b.as_weak(bring(b, x, item), None)


def _typed(b: GraphBackend, x: GraphValue, kind: SequenceType) -> GraphValue:
    if x.kind == kind:
        return x
    b.recorder.set_type(x.value, kind)
    adapters.set_type(x.value, kind)
    return b.wrap(x.value, kind)


# -- scan outputs ----------------------------------------------------------------------------------


def is_fixed(item: LeafType, names: frozenset[str], *, many: bool) -> bool:
    """Whether all items have one shape: numbers, and sizes that were known before the loop.

    Where an iteration appends `many`, the shape must be numbers, none of them 0.
    """
    kind = item.kind
    if not isinstance(kind, TensorType) or kind.shape is None or kind.dtype is None:
        return False
    if many and not all(isinstance(d, int) and d > 0 for d in kind.shape):
        return False
    return all(d is not None and set(dims.names_in(d)) <= names for d in kind.shape)


def scan_item(b: GraphBackend, items: Sequence[Any], item: LeafType) -> GraphValue:
    """What one iteration appends, as one scan output."""
    return _item(b, items[0], item) if len(items) == 1 else _stack(b, items, item)


def from_scan(
    b: GraphBackend, x: Any, scanned: GraphValue, per_iteration: int, item: LeafType, name: str
) -> RunTimeList:
    """The list after a loop, from what was in it before and a scan output.

    `scanned` has an axis for the iterations, and one for the items of each where there are several.
    """
    assert isinstance(item.kind, TensorType)
    assert item.kind.shape is not None
    kind = TensorType(item.dtype, (None, *item.kind.shape))
    if per_iteration > 1:
        target = int_constant(b, [-1, *(d for d in item.kind.shape if isinstance(d, int))])
        scanned = emit1(b, "Reshape", (scanned, target))
    parts = [scanned]
    if isinstance(x, RunTimeList) and x.stacked is not None:
        parts = [x.stacked, scanned]
    if isinstance(x, list) and x:
        parts = [_stack(b, x, item), scanned]
    scanned_items = parts[0] if len(parts) == 1 else emit1(b, "Concat", tuple(parts), axis=0)
    b.recorder.set_type(scanned_items.value, kind)
    adapters.set_type(scanned_items.value, kind)
    return RunTimeList(name, item, stacked=b.wrap(scanned_items.value, kind))


def can_scan(x: Any) -> bool:
    """Whether what a loop appends to a list can be put after the list's items with one Concat."""
    if isinstance(x, RunTimeList):
        return x.stacked is not None and not x.added and x.reader is None
    return isinstance(x, list)


def _stack(b: GraphBackend, items: Sequence[Any], item: LeafType) -> GraphValue:
    rows = tuple(_unsqueezed(b, _item(b, v, item)) for v in items)
    stacked: GraphValue = rows[0] if len(rows) == 1 else emit1(b, "Concat", rows, axis=0)
    return stacked


def _unsqueezed(b: GraphBackend, x: GraphValue) -> GraphValue:
    if b.opset.version < 13:
        old: GraphValue = emit1(b, "Unsqueeze", (x,), axes=[0])
        return old
    row: GraphValue = emit1(b, "Unsqueeze", (x, int_constant(b, [0])))
    return row


# -- reading ---------------------------------------------------------------------------------------


def settled(b: GraphBackend, x: RunTimeList) -> RunTimeList:
    """The list with nothing kept aside: one tensor where it is one, else a sequence."""
    if x.stacked is not None and x.reader is None:
        if not x.added:
            return x
        assert isinstance(x.item.kind, TensorType)
        joined = item_type(b, x)
        if isinstance(joined, LeafType) and joined == x.item:
            parts = (x.stacked, _stack(b, x.added, x.item))
            items = emit1(b, "Concat", parts, axis=0)
            return RunTimeList(x.name, x.item, stacked=b.wrap(items.value, x.stacked.kind))
    joined = item_type(b, x)
    item = joined if isinstance(joined, LeafType) else x.item
    return RunTimeList(x.name, item, sequence=sequence_value(b, x, item, x.name))


def length(b: GraphBackend, x: RunTimeList) -> Any:
    """`len(x)`."""
    x = settled(b, x)
    if x.stacked is not None:
        return b.as_weak(gather(b, emit1(b, "Shape", (x.stacked,)), int_constant(b, 0)), "int")
    return b.as_weak(emit1(b, "SequenceLength", (x.sequence,)), "int")


def item_at(b: GraphBackend, x: RunTimeList, index: Any) -> Any:
    """`x[index]`; negative indices count from the end."""
    x = settled(b, x)
    at = as_value(b, index, dtype=DType.INT64)
    at = cast(b, b.as_weak(at, None), DType.INT64)
    if x.stacked is not None:
        return b.as_weak(gather(b, x.stacked, at), x.item.weak)
    item = emit1(b, "SequenceAt", (x.sequence, at))
    kind = x.item.kind
    b.recorder.set_type(item.value, kind)
    adapters.set_type(item.value, kind)
    return b.wrap(item.value, kind, x.item.weak)


def part_of(b: GraphBackend, x: RunTimeList, index: slice) -> RunTimeList | None:
    """`x[start:stop:step]`, where the items are one tensor; else None."""
    from_start = settled(b, x)
    if from_start.stacked is None:
        return None
    return replace(from_start, stacked=subscript(b, from_start.stacked, index))


def as_tensor(b: GraphBackend, x: RunTimeList) -> GraphValue:
    """The items as one tensor, along a new first axis; all of them must have one shape."""
    x = settled(b, x)
    if x.stacked is not None:
        return x.stacked
    tensor: GraphValue = emit1(b, "ConcatFromSequence", (x.sequence,), axis=0, new_axis=1)
    return tensor


def concatenated(b: GraphBackend, x: RunTimeList, axis: int, new_axis: bool) -> GraphValue | None:
    """`op.ConcatFromSequence` of a list that is one tensor; None where a sequence is needed.

    Source: ONNX ConcatFromSequence 11.
    """
    x = settled(b, x)
    kind = x.item.kind
    if x.stacked is None or not isinstance(kind, TensorType) or kind.shape is None:
        return None
    rank = len(kind.shape) + bool(new_axis)
    if not -rank <= axis < rank:
        return None
    axis %= rank
    others = [d for n, d in enumerate(kind.shape) if n != axis]
    if not new_axis and not all(isinstance(d, int) and d > 0 for d in others):
        return None
    moved = x.stacked
    if axis:
        perm = [*range(1, axis + 1), 0, *range(axis + 1, len(kind.shape) + 1)]
        moved = emit1(b, "Transpose", (moved,), perm=perm)
    if new_axis:
        return moved
    fixed = [d for d in others if isinstance(d, int)]
    target = [*fixed[:axis], -1, *fixed[axis:]]
    tensor: GraphValue = emit1(b, "Reshape", (moved, int_constant(b, target)))
    return tensor


def changed(
    b: GraphBackend, x: RunTimeList, method: str, args: Sequence[Any], items: Sequence[Any]
) -> Any:
    """The list after `x.method(*args)`; None where that cannot be said."""
    if method in ("append", "extend"):
        return x.with_items(items)
    if method == "clear" and not args:
        return []
    if method == "insert" and len(args) == 2:
        joined = item_type(b, x, [args[1]])
        item = joined if isinstance(joined, LeafType) else x.item
        place = cast(b, b.as_weak(as_value(b, args[0]), None), DType.INT64)
        inputs = (sequence_value(b, x, item, x.name), _item(b, args[1], item), place)
        sequence = _typed(b, emit1(b, "SequenceInsert", inputs), sequence_kind(item))
        return RunTimeList(x.name, item, sequence=sequence)
    if method == "pop" and len(args) <= 1:
        places = [cast(b, b.as_weak(as_value(b, a), None), DType.INT64) for a in args]
        held = (sequence_value(b, x, x.item, x.name), *places)
        sequence = _typed(b, emit1(b, "SequenceErase", held), sequence_kind(x.item))
        return RunTimeList(x.name, x.item, sequence=sequence)
    return None


def summed(b: GraphBackend, x: RunTimeList) -> GraphValue:
    """The sum of the items."""
    stacked = as_tensor(b, x)
    if b.opset.version < 13:
        old: GraphValue = emit1(b, "ReduceSum", (stacked,), axes=[0], keepdims=0)
        return old
    total: GraphValue = emit1(b, "ReduceSum", (stacked, int_constant(b, [0])), keepdims=0)
    return total


def has_items(b: GraphBackend, x: RunTimeList) -> GraphValue:
    """Whether there are items."""
    flag: GraphValue = truth(b, length(b, x))
    return flag
