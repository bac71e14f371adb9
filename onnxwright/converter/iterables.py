"""What a `for` goes over: ranges, tensors, sequences, lists, `enumerate`, `zip`, `reversed`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.branches import Branches
from onnxwright.converter.effects import is_iterator
from onnxwright.converter.values import (
    AttributeRef,
    is_dynamic,
    same_static,
)
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    cast,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType


@dataclass
class DynamicTripCount:
    """What a `for` loop goes over, when that is decided at run time.

    Attributes:
        count: the trip count, as an INT64 scalar or an int.
        item: from the iteration number (a weak INT64 scalar) to what the target gets.
    """

    count: Any
    item: Callable[[GraphValue], Any]


class Iterables(Branches):
    """Reads the iterable of a `for`: a static list or range, or turns decided at run time."""

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
        return self.turns_of(self.evaluate(node), node.span)

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
            if not isinstance(inner, DynamicTripCount):
                return list(reversed(self.items_of(inner, span)))
            last = self.apply_binary("sub", inner.count, 1, span)
            return DynamicTripCount(
                inner.count, lambda n: inner.item(self.apply_binary("sub", last, n, span))
            )
        return self._zipped([self.iterable(a) for a in node.args], span)

    def turns_of(self, value: Any, span: Span) -> Any:
        value = self.value(value)
        b = self.at(span)
        if isinstance(value, GraphValue):
            if isinstance(b.type_of(value), SequenceType):
                count = b.as_weak(emit1(b, "SequenceLength", (value,)), "int")
                return DynamicTripCount(
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
        return value if is_iterator(value) else self.items_of(value, span)

    def index_value(self, n: Any) -> GraphValue:
        """A turn number as a tensor for indexing."""
        if isinstance(n, int):
            made: GraphValue = int_constant(self.b, n)
            return made
        return self.b.as_weak(n, None)

    def _over_tensor(self, x: GraphValue, span: Span) -> DynamicTripCount:
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
        return DynamicTripCount(
            count, lambda n: self.b.as_weak(gather(self.b, x, self.index_value(n)), weak)
        )

    def _enumerated(self, inner: Any, start: Any, span: Span) -> Any:
        if is_iterator(inner) and not is_dynamic(start):
            return enumerate(inner, start)
        if not isinstance(inner, DynamicTripCount) and not is_dynamic(start):
            return list(enumerate(self.items_of(inner, span), start))
        turns = self._as_turns(inner, span)

        def item(n: GraphValue) -> Any:
            number = n if same_static(start, 0) else self.apply_binary("add", n, start, span)
            return (number, turns.item(n))

        return DynamicTripCount(turns.count, item)

    def _zipped(self, parts: list[Any], span: Span) -> Any:
        if any(map(is_iterator, parts)) and not any(isinstance(p, DynamicTripCount) for p in parts):
            return zip(*parts, strict=False)
        if not any(isinstance(p, DynamicTripCount) for p in parts):
            return list(zip(*(self.items_of(p, span) for p in parts), strict=False))
        turns = [self._as_turns(p, span) for p in parts]
        static = [t.count for t in turns if isinstance(t.count, int)]
        dynamic = [t.count for t in turns if not isinstance(t.count, int)]
        counts = [*([min(static)] if static else []), *dynamic]
        b = self.b
        count = counts[0] if len(counts) == 1 else arithmetic.minimum_maximum(b, "Min", counts)
        return DynamicTripCount(count, lambda n: tuple(t.item(n) for t in turns))

    def _as_turns(self, iterable: Any, span: Span) -> DynamicTripCount:
        if isinstance(iterable, DynamicTripCount):
            return iterable
        if isinstance(iterable, range):
            start, step = iterable.start, iterable.step
            return DynamicTripCount(
                len(iterable),
                lambda n: self.apply_binary(
                    "add", self.apply_binary("mul", n, step, span), start, span
                ),
            )
        items = self.items_of(iterable, span)
        return DynamicTripCount(len(items), lambda n: self.item(items, n, span, self.at(span)))

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

        return DynamicTripCount(count, item)

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
