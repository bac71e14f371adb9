"""Lowering of indexing, iteration, comprehensions and the binding of targets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.base import Base, static_truth, what_it_is
from onnxwright.converter.effects import is_iterator
from onnxwright.converter.frame import COMPREHENSION, Frame
from onnxwright.converter.values import (
    AttributeRef,
    ShapeTuple,
    is_dynamic,
)
from onnxwright.diagnostics.catalogue import control_flow, ops, syntax
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics.graph_backend import GraphBackend, GraphValue
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.literals import (
    describe,
    gather,
    int_constant,
    is_number_like,
    plain_kind,
    shape_of,
)


class Items(Base):
    """Takes values apart and binds names to the parts."""

    def subscript(self, node: hir.Subscript) -> Any:
        value = self.evaluate(node.value)
        index = self.evaluate(node.index)
        b = self.at(node.span)
        return self.item(value, index, node.span, b)

    def item(self, value: Any, index: Any, span: Span, b: GraphBackend) -> Any:
        """`value[index]`, both evaluated."""
        value = self.value(value)
        if isinstance(value, GraphValue):
            weak = value.weak
            made = subscript(b, b.as_weak(value, None), map_index(index, self.value))
            return b.as_weak(made, weak)
        if not is_dynamic(index):
            return self.python(span, lambda: value[index])
        if isinstance(value, np.ndarray):
            return subscript(b, b.constant(value), map_index(index, self.value))
        if isinstance(value, (list, tuple)) and is_number_like(value) and len(value):
            weak = plain_kind(value)
            table = b.constant(np.array(list(value)))
            made = subscript(b, table, map_index(index, self.value))
            return b.as_weak(made, weak if weak in ("bool", "int", "float") else None)
        advice = (
            "index with a number known when compiling; a list of tensors can become one tensor "
            "with `op.Concat`, or a sequence with `op.SequenceConstruct`"
        )
        return self.needed_now(f"the index of {describe(value)}", span, advice)

    def items_of(self, value: Any, span: Span) -> list[Any]:
        """Everything in an iterable whose length is known when compiling."""
        value = self.value(value)
        if isinstance(value, GraphValue):
            b = self.at(span)
            shape = shape_of(b, value)
            if shape and isinstance(shape[0], int):
                return [
                    b.as_weak(gather(b, b.as_weak(value, None), int_constant(b, n)), value.weak)
                    for n in range(shape[0])
                ]
            what = "a tensor whose first size is not known when compiling"
            fail(control_flow.NotIterable(what=what, span=span))
        if isinstance(value, AttributeRef):
            self.needed_now(f"the length of attribute `{value.name}`", span)
        if is_iterator(value):
            self.regions.change(value, "iterating over it", span)
        try:
            return [self.import_value(v) for v in value]
        except TypeError:
            fail(control_flow.NotIterable(what=describe(value), span=span))

    def comprehension(self, node: hir.Comprehension) -> Any:
        pairs: list[tuple[Any, Any]] = []
        bound = frozenset(n for clause in node.clauses for n in target_names(clause.target))
        # A scope of its own, as in Python: functions made in it see its variables.
        outer = self.frame
        self.frame = Frame(COMPREHENSION, bound, outer)
        try:
            self._clauses(node, 0, pairs)
        finally:
            self.frame = outer
        if node.kind == "dict":
            return self.regions.own(dict(pairs))
        items = [element for element, _ in pairs]
        made = self.python(node.span, set, items) if node.kind == "set" else items
        return self.regions.own(made)

    def _clauses(self, node: hir.Comprehension, depth: int, pairs: list[tuple[Any, Any]]) -> None:
        if depth == len(node.clauses):
            element = self.evaluate(node.element)
            pairs.append((element, None if node.value is None else self.evaluate(node.value)))
            return
        clause = node.clauses[depth]
        for item in self.items_of(self.evaluate(clause.iterable), clause.iterable.span):
            self.bind(clause.target, item)
            keep = True
            for test in clause.tests:
                value = self.evaluate(test)
                if is_dynamic(value):
                    self.needed_now("the `if` of a comprehension", test.span)
                keep = keep and static_truth(value)
            if keep:
                self._clauses(node, depth + 1, pairs)

    def bind(self, target: hir.Target, value: Any) -> None:
        """Bind a target to a value."""
        if isinstance(target, hir.NameTarget):
            self.bind_name(target.id, value)
        elif isinstance(target, hir.ItemTarget):
            self.bind_item(target, value)
        else:
            self.unpack(target, value)

    def unpack(self, target: hir.TupleTarget, value: Any) -> None:
        """Bind several names to the parts of a value.

        Raises:
            ScriptValueError: the numbers differ (OW535).
        """
        items = self.items_of(value, target.span)
        count = len(target.items)
        short = len(items) < count - (target.star is not None)
        if short or (target.star is None and len(items) != count):
            fail(
                ops.WrongOutputCount(
                    what=what_it_is(value),
                    got=_count(len(items), "value"),
                    wanted=_count(count, "name"),
                    span=target.span,
                )
            )
        if target.star is not None:
            after = count - target.star - 1
            middle = items[target.star : len(items) - after]
            items = [*items[: target.star], middle, *items[len(items) - after :]]
        for part, item in zip(target.items, items, strict=True):
            self.bind(part, item)

    def change_container(
        self, name: str, container: Any, span: Span, change: Callable[[Any], Any]
    ) -> Any:
        """Change a container: itself where Python's objects may change, else a copy for `name`.

        Raises:
            ScriptError: other names hold it too, so that a copy would not be what Python makes
                (OW318, OW512).
        """
        regions = self.regions
        crossed = regions.between(container)
        if regions.is_own(container) and not crossed:
            return change(container)
        shared = regions.is_shared(container, self.frames())
        held = self.frame.env.get(name, self) is container
        if crossed and (shared or not held or any(name in r.shared for r in crossed)):
            regions.refuse(container, f"changing `{name}`" if name else "this", span, crossed[0])
        if shared or not held:
            advice = f"copy it first: `{name} = list({name})`"
            what = f"changing `{name}`, which is outside this function,"
            self.needed_now(what, span, advice)
        return change(regions.own(container.copy()))

    def bind_item(self, target: hir.ItemTarget, value: Any) -> None:
        """`container[index] = value` on a Python list or dict."""
        container = self.frame.lookup(target.id, target.span)
        index = self.evaluate(target.index)
        if isinstance(container, (list, dict, deque)) and not is_dynamic(index):

            def change(held: Any) -> Any:
                self.python(target.span, held.__setitem__, index, value)
                return held

            changed = self.change_container(target.id, container, target.span, change)
            if changed is not container:
                self.frame.env[target.id] = changed
            return
        advice = "`op.ScatterElements`, `op.ScatterND` or `op.Where` make a changed copy"
        construct = f"a part of `{target.id}`"
        fail(syntax.UnsupportedTarget(construct=construct, advice=advice, span=target.span))


def map_index(index: Any, function: Callable[[Any], Any]) -> Any:
    """An index with `function` applied to each of its parts."""
    if isinstance(index, tuple) and not isinstance(index, ShapeTuple):
        return tuple(map_index(item, function) for item in index)
    if isinstance(index, slice):
        return slice(*(function(p) for p in (index.start, index.stop, index.step)))
    return function(index)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
