"""Python's built-in functions on values of the graph: `min`, `len`, `int`, `sum` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.converter.lower.expressions.items import items_of
from onnxwright.converter.lower.expressions.logic import always, short_circuit, warn_elementwise
from onnxwright.converter.lower.expressions.lowering import apply_binary
from onnxwright.converter.lower.frame import Closure
from onnxwright.converter.lower.loops.iterables import iterations_of
from onnxwright.converter.lower.run_time_lists import (
    RunTimeList,
    as_tensor,
    has_items,
    length,
    settled,
    summed,
)
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.branches import chosen_value
from onnxwright.converter.lower.values import AttributeRef, is_dynamic, same_static
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, cast, emit1, shape_of
from onnxwright.semantics.operands import truth
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


def as_python(low: Lowering, function: Any, span: Span) -> Any:
    """A nested function or lambda as Python code can call it; anything else as it is."""
    if not isinstance(function, Closure):
        return function
    return lambda *args, **kwargs: low.apply(function, list(args), kwargs, span)


def _ordered(python: Callable[..., Any]) -> Callable[..., Any]:
    """`sorted`, and `min` and `max` with a key: the keys are compared when compiling."""

    def handle(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        only = low.value(args[0]) if len(args) == 1 else None
        if isinstance(only, (GraphValue, RunTimeList)):
            advice = "use `op.TopK`, which sorts along an axis"
            low.needed_now(f"the order that `{python.__name__}` finds", span, advice)
        named = {key: as_python(low, value, span) for key, value in kwargs.items()}
        return low.python(span, python, *args, **named)

    return handle


def _one_or_many(python: Callable[..., Any], name: str, reduce_name: str) -> Callable[..., Any]:
    def handle(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        b = low.at(span)
        if kwargs.get("key") is not None:
            return _ordered(python)(low, args, kwargs, span)
        if kwargs:
            low.needed_now(f"`{name.lower()}` with keywords", span, "use `op.Min` or `op.Max`")
        items = args if len(args) > 1 else None
        if items is None:
            only = low.value(args[0])
            if isinstance(only, RunTimeList) and only.item.weak is not None:
                only = b.as_weak(as_tensor(b, only), only.item.weak)
            if isinstance(only, GraphValue):
                total = arithmetic.reduce_all(b, reduce_name, only)
                return b.as_weak(total, only.weak)
            items = items_of(low, only, span) if is_dynamic(only) else list(only)
        items = [low.value(i) for i in items]
        if len(items) == 1:
            return items[0]
        if not any(isinstance(i, GraphValue) for i in items):
            items = [as_value(b, i) if is_dynamic(i) else i for i in items]
        warn_elementwise(low, name.lower(), items, span)
        return arithmetic.minimum_maximum(b, name, items)

    return handle


def _sum(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    only = low.value(args[0])
    if isinstance(only, RunTimeList):
        return _sum_of_list(low, only, start, span)
    if isinstance(only, GraphValue):
        b = low.at(span)
        total: Any = b.as_weak(arithmetic.reduce_all(b, "ReduceSum", only), only.weak)
        if start == 0 and not is_dynamic(start):
            return total
        return apply_binary(low, "add", start, total, span)
    total = start
    for item in only:
        total = (
            item
            if total is start and not is_dynamic(start) and start == 0 and is_dynamic(item)
            else apply_binary(low, "add", total, item, span)
        )
    return total


def _sum_of_list(low: Lowering, x: RunTimeList, start: Any, span: Span) -> Any:
    """`sum` of a list whose length the model decides; that of no items is the start."""
    x = settled(low.at(span), x)

    def all_items() -> Any:
        b = low.at(span)
        total = b.as_weak(summed(b, x), x.item.weak)
        return total if same_static(start, 0) else apply_binary(low, "add", start, total, span)

    if x.stacked is not None:
        return all_items()
    b = low.at(span)
    kind = x.item.kind
    nothing = start
    if not is_dynamic(start) and isinstance(kind, TensorType):
        nothing = b.as_weak(as_value(b, start, dtype=kind.dtype), x.item.weak)
    return chosen_value(low, has_items(b, x), all_items, always(nothing), span)


def _number(kind: str) -> Callable[..., Any]:
    def handle(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        value = low.value(args[0])
        b = low.at(span)
        if isinstance(value, RunTimeList) and kind == "bool":
            return b.as_weak(has_items(b, value), "bool")
        if not isinstance(value, GraphValue):
            value = as_value(b, value)
        shape = shape_of(b, value)
        if shape is not None and any(isinstance(d, int) and d != 1 for d in shape):
            fail(control_flow.NotACondition(what=f"a tensor of shape {list(shape)}", span=span))
        return arithmetic.to_python_number(b, kind, value)

    return handle


def _len(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value = low.value(args[0])
    if isinstance(value, RunTimeList):
        return length(low.at(span), value)
    if not isinstance(value, GraphValue):
        return len(value)
    return iterations_of(low, value, span).count


def _abs(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value = low.value(args[0])
    b = low.at(span)
    return arithmetic.unary(
        b, "abs", value if isinstance(value, GraphValue) else as_value(b, value)
    )


def _round(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    digits = args[1] if len(args) > 1 else kwargs.get("ndigits")
    if is_dynamic(digits):
        low.needed_now("the number of digits of `round`", span)
    return arithmetic.round_half_even(low.at(span), low.value(args[0]), digits)


def _pow(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    if len(args) != 2:
        low.needed_now("`pow` with a modulus", span, "use `x ** y % z`")
    return apply_binary(low, "pow", args[0], args[1], span)


def _divmod(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    x, y = args
    return (apply_binary(low, "floordiv", x, y, span), apply_binary(low, "mod", x, y, span))


def _as_container(make: Callable[[Any], Any]) -> Callable[..., Any]:
    def handle(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        if make is list and isinstance(args[0], RunTimeList):
            return args[0].with_items(())
        return make(items_of(low, args[0], span))

    return handle


def _any_all(op: str) -> Callable[..., Any]:
    def handle(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        value = low.value(args[0])
        b = low.at(span)
        if isinstance(value, RunTimeList) and value.item.weak is not None:
            value = as_tensor(b, value)
        if isinstance(value, GraphValue):
            flags = cast(b, truth(b, value), DType.INT32)
            name = "ReduceMax" if op == "or" else "ReduceMin"
            flag_of_all = emit1(b, name, (flags,), keepdims=0)
            return b.as_weak(cast(b, flag_of_all, DType.BOOL), "bool")
        result: Any = op == "and"
        for item in items_of(low, value, span) if is_dynamic(value) else value:
            result = short_circuit(low, op, result, always(item), span)
        return result

    return handle


def _isinstance(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value, types = args
    kinds = types if isinstance(types, tuple) else (types,)
    if isinstance(value, GraphValue):
        plain = {"bool": bool, "int": int, "float": float}.get(value.weak or "")
        if plain is not None:
            return any(isinstance(k, type) and issubclass(plain, k) for k in kinds)
        return any(getattr(k, "__name__", "") == "Tensor" for k in kinds)
    if isinstance(value, AttributeRef):
        low.needed_now(f"the type of attribute `{value.name}`", span)
    return isinstance(value, types)


def _range(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    low.needed_now("a `range` outside a `for`", span, "loop over it directly: `for i in range(n):`")


def _dict(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    return dict(*args, **kwargs)


def _zip(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    return list(zip(*(items_of(low, a, span) for a in args), strict=False))


def _enumerate(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return list(enumerate(items_of(low, args[0], span), start))


def _map(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    """`map`: every item at once."""
    items = [items_of(low, a, span) for a in args[1:]]
    return [low.apply(args[0], list(each), {}, span) for each in zip(*items, strict=False)]


def _filter(low: Lowering, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    """`filter`: what is kept must be known when compiling."""
    kept: list[Any] = []
    for item in items_of(low, args[1], span):
        test = item if args[0] is None else low.apply(args[0], [item], {}, span)
        if is_dynamic(test) and not isinstance(test, (list, tuple, dict)):
            low.needed_now(
                "which items `filter` keeps", span, "`op.Compress` keeps part of a tensor"
            )
        if low.python(span, bool, test):
            kept.append(item)
    return kept


BUILTINS: dict[Any, Callable[..., Any]] = {
    min: _one_or_many(min, "Min", "ReduceMin"),
    max: _one_or_many(max, "Max", "ReduceMax"),
    sorted: _ordered(sorted),
    sum: _sum,
    abs: _abs,
    len: _len,
    round: _round,
    pow: _pow,
    divmod: _divmod,
    int: _number("int"),
    float: _number("float"),
    bool: _number("bool"),
    list: _as_container(list),
    tuple: _as_container(tuple),
    reversed: _as_container(lambda items: list(reversed(items))),
    any: _any_all("or"),
    all: _any_all("and"),
    isinstance: _isinstance,
    range: _range,
    dict: _dict,
    zip: _zip,
    enumerate: _enumerate,
    map: _map,
    filter: _filter,
}
