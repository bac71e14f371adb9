"""Lowering of indexing, iteration, comprehensions and the binding of targets."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.converter.analyze.effects import is_iterator
from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.memory import as_view, joined
from onnxwright.converter.lower.run_time_lists import RunTimeList, part_of
from onnxwright.converter.lower.run_time_lists import item_at as item_at_run_time
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import AttributeRef, ShapeTuple, is_dynamic
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import calls
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.literals import (
    describe,
    gather,
    int_constant,
    is_number_like,
    plain_kind,
    shape_of,
)
from onnxwright.semantics.shared_memory import is_view_index
from onnxwright.tracing.graph_backend import GraphBackend

ITEM_LIMIT = 1 << 16


def what_it_is(x: Any) -> str:
    """A short name of an evaluated object, for messages."""
    if isinstance(x, GraphValue):
        return "this tensor"
    name = getattr(x, "__name__", None)
    if type(x).__name__ == "module":
        return f"module `{name}`"
    return describe(x)


def evaluate_subscript(low: Lowering, node: hir.Subscript) -> Any:
    """`value[index]`."""
    value = low.evaluate(node.value)
    index = low.evaluate(node.index)
    b = low.at(node.span)
    item = item_at(low, value, index, node.span, b)
    if isinstance(value, GraphValue) and is_view_index(index):
        return as_view(item, value)
    return item


def item_at(low: Lowering, value: Any, index: Any, span: Span, b: GraphBackend) -> Any:
    """`value[index]`, both evaluated."""
    value = low.value(value)
    if isinstance(value, RunTimeList):
        return _list_item(low, value, index, span, b)
    if isinstance(value, GraphValue):
        weak = value.weak
        item = subscript(b, b.as_weak(value, None), map_index(index, low.value))
        return b.as_weak(item, weak)
    if not is_dynamic(index):
        return low.python(span, operator.getitem, value, index)
    if isinstance(value, np.ndarray):
        return subscript(b, b.constant(value), map_index(index, low.value))
    if isinstance(value, (list, tuple)) and is_number_like(value) and len(value):
        weak = plain_kind(value)
        table = b.constant(np.array(list(value)))
        item = subscript(b, table, map_index(index, low.value))
        return b.as_weak(item, weak if weak in ("bool", "int", "float") else None)
    if _are_alike(value, index):
        return _chosen(b, list(value), low.value(index))
    advice = (
        "index with a number known when compiling; a list of tensors of one type may be indexed "
        "with an integer of the graph"
    )
    return low.needed_now(f"the index of {describe(value)}", span, advice)


def _are_alike(items: Any, index: Any) -> bool:
    """Whether items can be those of a sequence: tensors of one element type, and an index of it."""
    if not isinstance(items, (list, tuple)) or not isinstance(index, GraphValue):
        return False
    tensors = [x for x in items if isinstance(x, GraphValue)]
    dtypes = {getattr(x.kind, "dtype", None) for x in tensors if x.weak is None}
    others = [x for x in items if not isinstance(x, GraphValue)]
    is_one_type = len(dtypes) == 1 and None not in dtypes
    return is_one_type and index.rank in (0, None) and all(map(is_number_like, others))


def _chosen(b: GraphBackend, items: list[Any], index: GraphValue) -> Any:
    """An item of a list of tensors, chosen when the model runs."""
    place = b.as_weak(index, None)
    return joined(calls.call(b, b.opset["SequenceAt"], (items, place), {}, None), *items)


def _list_item(low: Lowering, x: RunTimeList, index: Any, span: Span, b: GraphBackend) -> Any:
    """`x[index]` of a list whose length the model decides."""
    if not isinstance(index, slice):
        return item_at_run_time(b, x, index)
    item = part_of(b, x, slice(*(low.value(p) for p in (index.start, index.stop, index.step))))
    if item is None:
        fail(
            control_flow.RunTimeListUse(
                name=x.name,
                what="has no slices: its items may differ in shape",
                advice="stack it, `op.ConcatFromSequence(..., axis=0, new_axis=1)`, and slice that",
                span=span,
            )
        )
    return item


def _count(r: range) -> int:
    """How many numbers a range has; `len` gives up beyond 64 bits."""
    return max(0, (r.stop - r.start + r.step - (1 if r.step > 0 else -1)) // r.step)


def items_of(low: Lowering, value: Any, span: Span) -> list[Any]:
    """Everything in an iterable whose length is known when compiling."""
    value = low.value(value)
    if isinstance(value, RunTimeList):
        fail(
            control_flow.RunTimeListUse(
                name=value.name,
                what="has as many items as the model decides when it runs",
                advice="loop over it, or use `op.ConcatFromSequence`",
                span=span,
            )
        )
    if isinstance(value, GraphValue):
        b = low.at(span)
        shape = shape_of(b, value)
        if shape and isinstance(shape[0], int):
            strong = b.as_weak(value, None)
            rows = [gather(b, strong, int_constant(b, n)) for n in range(shape[0])]
            return [as_view(b.as_weak(row, value.weak), value) for row in rows]
        what = "a tensor whose first size is not known when compiling"
        fail(control_flow.NotIterable(what=what, span=span))
    if isinstance(value, AttributeRef):
        low.needed_now(f"the length of attribute `{value.name}`", span)
    low.regions.before_operation(iter, [value], span)
    if is_iterator(value):
        low.regions.change(value, "iterating over it", span)
    if isinstance(value, range) and (count := _count(value)) > ITEM_LIMIT:
        fail(control_flow.TooManyIterations(count=count, limit=ITEM_LIMIT, span=span))
    try:
        return [low.import_value(v) for v in value]
    except TypeError:
        fail(control_flow.NotIterable(what=describe(value), span=span))


def map_index(index: Any, function: Callable[[Any], Any]) -> Any:
    """An index with `function` applied to each of its parts."""
    if isinstance(index, tuple) and not isinstance(index, ShapeTuple):
        return tuple(map_index(item, function) for item in index)
    if isinstance(index, slice):
        return slice(*(function(p) for p in (index.start, index.stop, index.step)))
    return function(index)
