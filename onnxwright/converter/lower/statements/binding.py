"""Binding: what a target, a name or an item of a container holds from now on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.expressions.items import items_of, map_index, what_it_is
from onnxwright.converter.lower.memory import check_not_written, forget_others, memory_of
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import is_dynamic
from onnxwright.diagnostics.catalogue import ops, syntax
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics.assignment import assign
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.shared_memory import is_view_index


def bind_target(low: Lowering, target: hir.Target, value: Any) -> None:
    """Bind a target to a value."""
    if isinstance(target, hir.NameTarget):
        bind_name(low, target.id, value)
    elif isinstance(target, hir.ItemTarget):
        bind_item(low, target, value)
    else:
        unpack(low, target, value)


def unpack(low: Lowering, target: hir.TupleTarget, value: Any) -> None:
    """Bind several names to the parts of a value.

    Raises:
        ScriptValueError: the numbers differ (OW535).
    """
    items = items_of(low, value, target.span)
    count = len(target.items)
    short = len(items) < count - (target.star is not None)
    if short or (target.star is None and len(items) != count):
        fail(
            ops.WrongOutputCount(
                what=what_it_is(value),
                got=_count(len(items), "value"),
                expected=_count(count, "name"),
                span=target.span,
            )
        )
    if target.star is not None:
        after = count - target.star - 1
        middle = items[target.star : len(items) - after]
        items = [*items[: target.star], middle, *items[len(items) - after :]]
    for n, (part, item) in enumerate(zip(target.items, items, strict=True)):
        held = low.frame.env.get(part.id) if isinstance(part, hir.ItemTarget) else None
        bind_target(low, part, item)
        if isinstance(part, hir.ItemTarget) and isinstance(held, GraphValue):
            check_not_written(items[n + 1 :], part.id, memory_of(held), target.span)


def change_container(
    low: Lowering, name: str, container: Any, span: Span, change: Callable[[Any], Any]
) -> Any:
    """Change a container: itself where Python's objects may change, else a copy for `name`.

    Raises:
        ScriptError: other names hold it too, so that a copy would not be what Python makes
            (OW318, OW512).
    """
    regions = low.regions
    if regions.is_outside(container):  # the next call sees what this one changed
        regions.change(container, f"changing `{name}`" if name else "this", span)
        return change(container)
    crossed = regions.between(container)
    if regions.is_own(container) and not crossed:
        return change(container)
    shared = regions.is_shared(container, low.frames())
    held = low.frame.env.get(name, low) is container
    if crossed and (shared or not held or any(name in r.shared for r in crossed)):
        regions.refuse(container, f"changing `{name}`" if name else "this", span, crossed[0])
    if shared or not held:
        advice = f"copy it first: `{name} = list({name})`"
        what = f"changing `{name}`, which is outside this function,"
        low.needed_now(what, span, advice)
    return change(regions.own(container.copy()))


def bind_item(low: Lowering, target: hir.ItemTarget, value: Any) -> None:
    """`container[index] = value` on a Python list or dict."""
    container = low.frame.lookup(target.id, target.span)
    path = [low.evaluate(part) for part in target.path]
    index = low.evaluate(target.index)
    if path:
        write_inside(low, target, container, [*path, index], value)
        return
    if isinstance(container, (list, dict, deque)) and not is_dynamic(index):

        def change(held: Any) -> Any:
            low.python(target.span, held.__setitem__, index, value)
            return held

        changed = change_container(low, target.id, container, target.span, change)
        if changed is not container:
            low.frame.env[target.id] = changed
        return
    if isinstance(container, (GraphValue, np.ndarray)) and target.id in low.frame.env:
        write_part(low, target, container, [index], value)
        return
    if isinstance(container, (list, dict, deque)):
        low.needed_now(f"which item of `{target.id}` is assigned", target.span)
    advice = "`op.ScatterElements`, `op.ScatterND` or `op.Where` make a changed copy"
    _refuse(f"a part of `{target.id}`", advice, target.span)


def write_inside(
    low: Lowering, target: hir.ItemTarget, held: Any, path: list[Any], value: Any
) -> None:
    """`x[i][j] = value`: of a tensor, or of one in a list or dict.

    Raises:
        ScriptError: the write would change a copy, as an array as an index makes one (OW103), or
            as for `write_part`.
    """
    if isinstance(held, (GraphValue, np.ndarray)) and target.id in low.frame.env:
        write_part(low, target, held, path, value)
        return
    item = None
    if isinstance(held, (list, dict)) and not is_dynamic(path[0]):
        item = low.python(target.span, held.__getitem__, path[0])
    if not isinstance(item, GraphValue):
        advice = "bind the inner one to a name, and assign to its items"
        _refuse(f"an item of an item of `{target.id}`", advice, target.span)
    written = _written(low, item, path[1:], value, target.span)

    def change(inside: Any) -> Any:
        inside[path[0]] = written
        return inside

    memory = memory_of(item)
    forget_others(low, target.id, item, target.span)
    changed = change_container(low, target.id, held, target.span, change)
    low.frame.env[target.id] = changed
    check_not_written([changed], target.id, memory - memory_of(written), target.span)


def _written(low: Lowering, x: Any, path: list[Any], value: Any, span: Span) -> GraphValue:
    """A tensor after a write at an index of an index of it."""
    b = low.at(span)
    parts = [b.as_weak(x if isinstance(x, GraphValue) else b.constant(x), None)]
    places = [map_index(index, low.value) for index in path]
    for index in places[:-1]:
        if not is_view_index(index):
            advice = "write with one index: `x[rows, columns] = value`"
            _refuse("a part of a copy, which an array as an index makes", advice, span)
        parts.append(subscript(b, parts[-1], index))
    constant = low.value(value)
    for part, index in zip(reversed(parts), reversed(places), strict=True):
        constant = assign(b, part, index, constant)
    return constant  # type: ignore[no-any-return]


def _refuse(construct: str, advice: str, span: Span) -> NoReturn:
    fail(syntax.UnsupportedTarget(construct=construct, advice=advice, span=span))


def write_part(low: Lowering, target: hir.ItemTarget, x: Any, path: list[Any], value: Any) -> None:
    """`x[index] = value` of a tensor: `x` is bound to a new one.

    Raises:
        ScriptError: the index or the value does not fit; names that hold the same memory raise
            when they are read (OW868).
    """
    written = _written(low, x, path, value, target.span)
    if isinstance(x, GraphValue):
        forget_others(low, target.id, x, target.span)
    bind_name(low, target.id, written)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def bind_name(low: Lowering, name: str, value: Any) -> None:
    """Bind a name, and name a new graph value after it."""
    if isinstance(value, GraphValue) and not name.startswith(hir.INTERNAL):
        name_value(low, value, name)
        if name not in low.b.recorder.name_owner:
            low.handlers.own_name(low.b.recorder, name, value.value)
    low.frame.env[name] = value


def name_value(low: Lowering, value: GraphValue, name: str) -> None:
    """Name a value after the first variable that holds it."""
    ir_value = value.value
    producer = ir_value.producer()
    if producer is None or ir_value in low.named or producer.op_type == "Constant":
        return
    if ir_value in low.b.recorder.scope.values:
        low.named.add(ir_value)
        low.b.recorder.rename(ir_value, name)
