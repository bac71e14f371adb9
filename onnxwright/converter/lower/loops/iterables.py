"""What a `for` iterates over: ranges, tensors, sequences, lists, `enumerate`, `zip`, `reversed`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.converter.analyze.effects import is_iterator
from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.expressions.items import item_at, items_of
from onnxwright.converter.lower.expressions.lowering import apply_binary
from onnxwright.converter.lower.memory import ITERATED, as_view, rebinds, written_names
from onnxwright.converter.lower.run_time_lists import RunTimeList, length, settled
from onnxwright.converter.lower.run_time_lists import item_at as item_of_list
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import AttributeRef, is_dynamic, same_static
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import cast, emit1, gather, int_constant, rank_of, shape_of
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType


@dataclass
class DynamicTripCount:
    """What a `for` loop iterates over, if that is decided at run time.

    Attributes:
        count: the trip count, as an INT64 scalar or an int.
        item: from the iteration number (a weak INT64 scalar, or an int) to what the target gets.
    """

    count: Any
    item: Callable[[Any], Any]


def read_iterable(low: Lowering, node: hir.Expr, body: hir.Block = ()) -> Any:
    """A static list or range, or the trip count of a run-time loop.

    Args:
        node: what the loop iterates over.
        body: the body of the loop, which may write into it.
    """
    if isinstance(node, hir.Call) and isinstance(node.func, hir.Name):
        function = low.frame.lookup(node.func.id, node.func.span)
        if function in (range, enumerate, zip, reversed) and not node.keywords:
            parts = [a.value if isinstance(a, hir.Star) else a for a in node.args]
            if len(parts) == len(node.args) and not any(isinstance(a, hir.Star) for a in node.args):
                return _builtin_iterable(low, function, node, body)
    value = low.evaluate(node)
    return iterations_of(low, value, node.span, _reader(low, node, value, body))


def _reader(low: Lowering, node: hir.Expr, value: Any, body: hir.Block) -> Callable[[], Any] | None:
    """Reads a tensor again in each iteration, where the body writes into tensors.

    The rows that numpy hands out are those of the moment: a write into the name itself is seen,
    a write into the same memory through another name is refused (OW868).
    """
    if not isinstance(value, GraphValue) or not written_names(body):
        return None
    name = f"{ITERATED} {node.span.line}:{node.span.col}"
    if isinstance(node, hir.Name) and not rebinds(body, node.id):
        name = node.id
    else:
        low.frame.env[name] = value
    return lambda: low.frame.lookup(name, node.span)


def _builtin_iterable(low: Lowering, function: Any, node: hir.Call, body: hir.Block) -> Any:
    span = node.span
    if function is range:
        args = [low.value(low.evaluate(a)) for a in node.args]
        return range_of(low, args, span)
    if function is enumerate:
        inner = read_iterable(low, node.args[0], body)
        start = low.value(low.evaluate(node.args[1])) if len(node.args) > 1 else 0
        return _enumerated(low, inner, start, span)
    if function is reversed:
        inner = read_iterable(low, node.args[0], body)
        if not isinstance(inner, DynamicTripCount):
            return list(reversed(items_of(low, inner, span)))
        last = apply_binary(low, "sub", inner.count, 1, span)
        return DynamicTripCount(
            inner.count, lambda n: inner.item(apply_binary(low, "sub", last, n, span))
        )
    return _zipped(low, [read_iterable(low, a, body) for a in node.args], span)


def iterations_of(
    low: Lowering, value: Any, span: Span, reader: Callable[[], Any] | None = None
) -> Any:
    """The iterations of a loop over an evaluated iterable: itself, or a trip count with its items.

    `reader` gives what the iterable is when an item is read, where that may change.
    """
    value = low.value(value)
    b = low.at(span)
    if isinstance(value, RunTimeList):
        held = settled(b, value)
        return DynamicTripCount(length(b, held), lambda n: item_of_list(low.b, held, n))
    if isinstance(value, GraphValue):
        if isinstance(b.type_of(value), SequenceType):
            count = b.as_weak(emit1(b, "SequenceLength", (value,)), "int")
            return DynamicTripCount(
                count, lambda n: emit1(low.b, "SequenceAt", (value, index_value(low, n)))
            )
        read: Callable[[], Any] = reader or (lambda: value)
        count = _over_tensor(low, value, span).count
        return DynamicTripCount(count, lambda n: _row(low, read(), n))
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            fail(messages.NotIterable(what="an array of rank 0", span=span))
        return _over_tensor(low, b.constant(value), span)
    if isinstance(value, (range, list, tuple, dict, set, frozenset, str)):
        return value
    if isinstance(value, AttributeRef):
        return _over_tensor(low, value.as_value(b), span)
    return value if is_iterator(value) else items_of(low, value, span)


def index_value(low: Lowering, n: Any) -> GraphValue:
    """An iteration number as a tensor for indexing."""
    if isinstance(n, int):
        index: GraphValue = int_constant(low.b, n)
        return index
    return low.b.as_weak(n, None)


def _over_tensor(low: Lowering, x: GraphValue, span: Span) -> DynamicTripCount:
    b = low.b
    if rank_of(b, x) == 0:
        fail(messages.NotIterable(what="a tensor of rank 0", span=span))
    shape = shape_of(b, x)
    if shape is not None and isinstance(shape[0], int):
        count: Any = shape[0]
    else:
        whole = emit1(b, "Shape", (b.as_weak(x, None),))
        count = b.as_weak(gather(b, whole, int_constant(b, 0)), "int")
    return DynamicTripCount(count, lambda n: _row(low, x, n))


def _row(low: Lowering, x: GraphValue, n: Any) -> Any:
    """A row of a tensor, a view of it."""
    row = gather(low.b, low.b.as_weak(x, None), index_value(low, n))
    return as_view(low.b.as_weak(row, x.weak), x)


def _enumerated(low: Lowering, inner: Any, start: Any, span: Span) -> Any:
    if is_iterator(inner) and not is_dynamic(start):
        return enumerate(inner, start)
    if not isinstance(inner, DynamicTripCount) and not is_dynamic(start):
        return list(enumerate(items_of(low, inner, span), start))
    trips = _as_iterations(low, inner, span)

    def item(n: GraphValue) -> Any:
        number = n if same_static(start, 0) else apply_binary(low, "add", n, start, span)
        return (number, trips.item(n))

    return DynamicTripCount(trips.count, item)


def _zipped(low: Lowering, parts: list[Any], span: Span) -> Any:
    if any(map(is_iterator, parts)) and not any(isinstance(p, DynamicTripCount) for p in parts):
        return zip(*parts, strict=False)
    if not any(isinstance(p, DynamicTripCount) for p in parts):
        return list(zip(*(items_of(low, p, span) for p in parts), strict=False))
    trips = [_as_iterations(low, p, span) for p in parts]
    static = [t.count for t in trips if isinstance(t.count, int)]
    dynamic = [t.count for t in trips if not isinstance(t.count, int)]
    counts = [*([min(static)] if static else []), *dynamic]
    b = low.b
    count = counts[0] if len(counts) == 1 else arithmetic.minimum_maximum(b, "Min", counts)
    return DynamicTripCount(count, lambda n: tuple(t.item(n) for t in trips))


def _as_iterations(low: Lowering, iterable: Any, span: Span) -> DynamicTripCount:
    if isinstance(iterable, DynamicTripCount):
        return iterable
    if isinstance(iterable, range):
        start, step = iterable.start, iterable.step
        return DynamicTripCount(
            len(iterable),
            lambda n: apply_binary(
                low, "add", apply_binary(low, "mul", n, step, span), start, span
            ),
        )
    items = items_of(low, iterable, span)
    return DynamicTripCount(len(items), lambda n: item_at(low, items, n, span, low.at(span)))


def range_of(low: Lowering, args: list[Any], span: Span) -> Any:
    """`range(...)` of one to three arguments, static or not."""
    if not is_dynamic(args):
        return low.python(span, range, *args)
    if not 1 <= len(args) <= 3:
        return low.python(span, range, *args)
    b = low.at(span)
    args = [_range_argument(low, a, span) for a in args]
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if isinstance(step, int) and step == 0:
        return low.python(span, range, 0, 0, 0)
    if same_static(start, 0) and same_static(step, 1):
        count = stop
    elif same_static(step, 1):
        count = apply_binary(low, "sub", stop, start, span)
    else:
        # The trip count, rounded up, is minus the floor of (start - stop) / step.
        distance = apply_binary(low, "sub", start, stop, span)
        floored = apply_binary(low, "floordiv", distance, step, span)
        count = arithmetic.unary(b, "neg", floored) if isinstance(floored, GraphValue) else -floored

    def item(n: GraphValue) -> Any:
        scaled = n if same_static(step, 1) else apply_binary(low, "mul", n, step, span)
        if same_static(start, 0):
            return scaled
        return apply_binary(low, "add", scaled, start, span)

    return DynamicTripCount(count, item)


def _range_argument(low: Lowering, x: Any, span: Span) -> Any:
    """An argument of `range` as an int or a weak INT64 scalar."""
    b = low.b
    if not isinstance(x, GraphValue):
        array = np.asarray(x)
        if array.size == 1 and array.dtype.kind in "iu":
            return int(array.reshape(()))
        return low.python(span, range, x).stop
    dtype = x.dtype
    if dtype is not None and not dtype.is_integer and dtype is not DType.BOOL:
        fail(messages.NotIterable(what=f"a range of {dtype.name}", span=span))
    value = cast(b, b.as_weak(x, None), DType.INT64)
    if rank_of(b, value) != 0:
        value = emit1(b, "Reshape", (value, int_constant(b, [])))
    return b.as_weak(value, "int")
