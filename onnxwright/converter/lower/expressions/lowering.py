"""Lowering of expressions: Python computes what is known now, the semantics build the rest."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.expressions.items import items_of, what_it_is
from onnxwright.converter.lower.expressions.logic import warn_elementwise
from onnxwright.converter.lower.frame import COMPREHENSION, Closure, Frame
from onnxwright.converter.lower.memory import as_view
from onnxwright.converter.lower.regions import CONTAINERS
from onnxwright.converter.lower.run_time_lists import RunTimeList, has_items
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import bind_name, change_container
from onnxwright.converter.lower.values import (
    AttributeRef,
    ShapeTuple,
    TensorMethod,
    is_dynamic,
    shape_of_value,
)
from onnxwright.diagnostics.catalogue import control_flow, types
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail, located, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, emit1, own_array, rank_of, shape_of
from onnxwright.semantics.numpy_functions.table import METHODS, fresh
from onnxwright.semantics.operands import SYMBOLS
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import SequenceType


def make_closure(low: Lowering, node: hir.LocalFunction) -> Closure:
    """A nested function as a value; its defaults are evaluated here, as Python does."""
    defaults = {p.name: low.evaluate(p.default) for p in node.params if p.default is not None}
    return Closure(node, low.frame, defaults)


_TENSOR_ADVICE = {
    "item": "use `x` itself, or `int(x)`, `float(x)`",
    "value": "the value is known only when the model runs; use `x` itself",
    "tolist": "the elements are known only when the model runs; `len(x)` and `x[i]` are there",
    "numpy": "the elements are known only when the model runs; use `x` itself",
    "fill": "use `x[...] = value`",
    "sort": "use `np.sort(x)`, which makes a new tensor",
}


_SEQUENCE_ADVICE = {
    "append": "use `{xs} = op.SequenceInsert({xs}, x)`",
    "insert": "use `{xs} = op.SequenceInsert({xs}, x, position)`",
    "pop": "use `op.SequenceAt({xs}, i)` and `{xs} = op.SequenceErase({xs}, i)`",
    "extend": "use `{xs} = op.SequenceInsert({xs}, x)` for each item",
    "remove": "use `{xs} = op.SequenceErase({xs}, i)`",
    "+": "use `{xs} = op.SequenceInsert({xs}, x)` for each item",
}


# -- simple expressions ----------------------------------------------------------------------------


def evaluate_name(low: Lowering, node: hir.Name) -> Any:
    """What a name holds."""
    value = low.frame.lookup(node.id, node.span)
    if isinstance(value, Initializer):
        return low.initializer(value, outermost=True, hint=node.id)
    if isinstance(value, CONTAINERS) and not low.frame.binds(node.id):
        low.regions.from_outside(value)
    return low.import_value(value)


def evaluate_literal(low: Lowering, node: hir.Literal) -> Any:
    """A literal."""
    return node.value


def evaluate_attribute(low: Lowering, node: hir.Attribute) -> Any:
    """`value.name`, of a tensor or of a Python object."""
    value = low.evaluate(node.value)
    b = low.at(node.span)
    if isinstance(value, GraphValue):
        return tensor_attribute(low, value, node)
    if isinstance(value, RunTimeList):
        fail(
            control_flow.RunTimeListUse(
                name=value.name,
                what=f"does not have `.{node.name}` here",
                advice="use `append`, `extend`, `insert`, `pop` and `clear` as statements",
                span=node.span,
            )
        )
    if isinstance(value, AttributeRef):
        low.needed_now(f"`.{node.name}` of attribute `{value.name}`", node.span)
    if isinstance(value, Closure):
        advice = "a nested function has no attributes here"
        what = f"`{value.function.name}`"
        fail(messages.NoSuchAttribute(what=what, name=node.name, advice=advice, span=node.span))
    if isinstance(value, ShapeTuple) and not hasattr(tuple, node.name):
        return tensor_attribute(low, emit1(b, "Shape", (value.of,)), node)
    low.regions.before_attribute(value, node.name, node.span)
    try:
        return low.import_value(getattr(value, node.name))
    except OnnxwrightError:
        with located(node.span):
            raise
    except AttributeError:
        from difflib import get_close_matches

        near = get_close_matches(node.name, dir(value), 1)
        advice = f"did you mean `{near[0]}`?" if near else "look at what it is where it is made"
        fail(
            messages.NoSuchAttribute(
                what=what_it_is(value),
                name=node.name,
                advice=advice,
                span=node.span,
                meant=near[0] if near else None,
            )
        )


def tensor_attribute(low: Lowering, x: GraphValue, node: hir.Attribute) -> Any:
    """`x.shape`, `x.T`, `x.ndim`, `x.dtype`, `x.size` of a tensor."""
    b = low.b
    if node.name == "shape":
        return shape_of_value(b, x)
    if node.name == "T":
        if rank_of(b, x) in (0, 1):
            return x
        return as_view(emit1(b, "Transpose", (b.as_weak(x, None),)), x)
    if node.name in ("ndim", "rank"):
        rank = rank_of(b, x)
        if rank is not None:
            return rank
        size = emit1(b, "Size", (emit1(b, "Shape", (x,)),))
        return b.as_weak(size, "int")
    if node.name == "size":
        shape = shape_of(b, x)
        if shape is not None and all(isinstance(d, int) for d in shape):
            return int(np.prod([d for d in shape if isinstance(d, int)], dtype=np.int64))
        return b.as_weak(emit1(b, "Size", (x,)), "int")
    if node.name in ("dtype", "onnx_dtype"):
        dtype = x.dtype
        if dtype is None:
            return low.needed_now("the element type", node.span, "annotate the parameter")
        return dtype if node.name == "onnx_dtype" else dtype.numpy
    if node.name in METHODS:
        return TensorMethod(x, node.name)
    if isinstance(b.type_of(x), SequenceType):
        _refuse_on_sequence(node.name, node.value, node.span)
    advice = _TENSOR_ADVICE.get(node.name, "use an operator: `op....`")
    fail(messages.MethodOfTensor(name=node.name, advice=advice, span=node.span))


def _refuse_on_sequence(name: str, sequence: hir.Expr, span: Span) -> NoReturn:
    """Say which operator does what a method or an operator of Python's lists would do."""
    advice = _SEQUENCE_ADVICE.get(name, "use an operator: `op.SequenceAt({xs}, i)`")
    advice = advice.format(xs=sequence.id if isinstance(sequence, hir.Name) else "xs")
    fail(messages.MethodOfTensor(name=name, advice=advice, what="sequences of ONNX", span=span))


def evaluate_slice(low: Lowering, node: hir.SliceExpr) -> Any:
    """`lower:upper:step`."""
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if p is None else low.evaluate(p) for p in parts))


def evaluate_display(low: Lowering, node: hir.Display) -> Any:
    """`(a, b)`, `[a, b]` or `{a, b}`."""
    items = expand_items(low, node.items)
    if node.kind == "tuple":
        return tuple(items)
    if node.kind == "set":
        if is_dynamic(items):
            low.needed_now("the members of a set", node.span)
        return low.regions.own(low.python(node.span, set, items))
    return low.regions.own(items)


def expand_items(low: Lowering, nodes: Iterable[hir.Expr]) -> list[Any]:
    """The values of several expressions, with `*xs` unpacked."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, hir.Star):
            values.extend(items_of(low, low.evaluate(node.value), node.span))
        else:
            values.append(low.evaluate(node))
    return values


def evaluate_dict_display(low: Lowering, node: hir.DictDisplay) -> Any:
    """`{key: value, **others}`."""
    entries: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = low.evaluate(item)
        if key is None:
            entries.update(value)
            continue
        name = low.evaluate(key)
        if is_dynamic(name):
            low.needed_now("a key of a dict", key.span)
        entries[name] = value
    return low.regions.own(entries)


def evaluate_format(low: Lowering, node: hir.Format) -> str:
    """An f-string, whose values are known when compiling."""
    text = ""
    for part in node.parts:
        if isinstance(part, str):
            text += part
            continue
        value, spec = low.evaluate(part[0]), part[2]
        if is_dynamic(value):
            low.needed_now("a value in an f-string", part[0].span)
        convert = _CONVERSIONS.get(part[1])
        value = value if convert is None else convert(value)
        form = "" if spec is None else low.evaluate(spec)
        text += low.python(node.span, format, value, form)
    return text


def evaluate_walrus(low: Lowering, node: hir.Walrus) -> Any:
    """`name := value`, which a comprehension binds in the function around it."""
    value = low.evaluate(node.value)
    inner = low.frame
    while low.frame.name == COMPREHENSION and isinstance(low.frame.outer, Frame):
        low.frame = low.frame.outer
    bind_name(low, node.name, value)
    low.frame = inner
    return value


def evaluate_local_function(low: Lowering, node: hir.LocalFunction) -> Closure:
    """A lambda or nested function."""
    return make_closure(low, node)


# -- operators -------------------------------------------------------------------------------------


def evaluate_unary(low: Lowering, node: hir.Unary) -> Any:
    """`-x`, `+x`, `~x` or `not x`."""
    x = low.value(low.evaluate(node.operand))
    b = low.at(node.span)
    if isinstance(x, GraphValue):
        if node.op == "not_":
            warn_elementwise(low, "not", (x,), node.span)
        result = arithmetic.unary(b, node.op, x)
        return fresh(b, result) if result is x else result
    if isinstance(x, RunTimeList):
        return arithmetic.unary(b, node.op, has_items(b, x))
    if node.op == "not_" and isinstance(x, (list, tuple, dict)):
        return not x
    if is_dynamic(x):
        return arithmetic.unary(b, node.op, as_value(b, x))
    return low.python(node.span, arithmetic.static_operator(node.op), x)


def evaluate_binary(low: Lowering, node: hir.Binary) -> Any:
    """`x + y` and the like; `x += y` changes a container itself."""
    x, y = low.evaluate(node.left), low.evaluate(node.right)
    if isinstance(x, RunTimeList) or isinstance(y, RunTimeList):
        return joined_lists(low, node, x, y)
    for value, side in ((x, node.left), (y, node.right)):
        if isinstance(value, GraphValue) and isinstance(value.kind, SequenceType):
            _refuse_on_sequence(SYMBOLS[node.op], side, node.span)
    if node.inplace and isinstance(x, (list, dict, set, deque)):
        return changed_in_place(low, node, x, y)
    return apply_binary(low, node.op, x, y, node.span)


def joined_lists(low: Lowering, node: hir.Binary, x: Any, y: Any) -> Any:
    """`xs + ys` and `xs += ys`, where the model decides about the length of one of them."""
    if node.op == "add" and isinstance(x, RunTimeList) and isinstance(y, (list, tuple)):
        if node.inplace:
            not_shared(low, x, node.span)
        return x.with_items(y)
    held = x if isinstance(x, RunTimeList) else y
    name = held.name
    what = f"does not take `{SYMBOLS[node.op]}` with this operand"
    if node.op == "add":
        advice = f"append the items of the other list in a loop: `for v in ys: {name}.append(v)`"
    elif node.op == "mul":
        advice = (
            "append the items to another list, once for each repetition: "
            f"`for v in {name}: copies.append(v)`"
        )
    else:
        advice = f"a list takes `+` with a Python list: `{name} += [y]`"
    fail(control_flow.RunTimeListUse(name=name, what=what, advice=advice, span=node.span))


def not_shared(low: Lowering, x: RunTimeList, span: Span) -> None:
    """Refuse to change a list that has another name, too: the change would not be seen there."""
    if low.regions.is_shared(x, low.frames()):
        what = f"changing `{x.name}`, which has another name, too,"
        low.needed_now(what, span, f"copy it first: `{x.name} = list({x.name})`")


def changed_in_place(low: Lowering, node: hir.Binary, x: Any, y: Any) -> Any:
    """`xs += ys` on a Python container, which changes the container itself."""
    name = node.left.id if isinstance(node.left, hir.Name) else ""
    if node.op == "add" and isinstance(x, (list, deque)):
        y = items_of(low, y, node.span)
    elif is_dynamic(y) and not isinstance(y, (list, tuple, dict)):
        low.needed_now("how often the items of a list are repeated", node.span)
    change = getattr(operator, f"i{node.op.rstrip('_')}")
    return change_container(
        low, name, x, node.span, lambda held: low.python(node.span, change, held, y)
    )


def apply_binary(low: Lowering, op: str, x: Any, y: Any, span: Span) -> Any:
    """A Python operator on two evaluated operands."""
    b = low.at(span)
    x, y = low.value(x), low.value(y)
    if isinstance(x, GraphValue) or isinstance(y, GraphValue):
        if op == "mod" and any(_is_floating(v) for v in (x, y)):
            warn(types.RemainderSign(span=span))
        return arithmetic.binary(b, op, x, y)
    x, y = (array_of_proto(v) for v in (x, y))
    return low.python(span, arithmetic.static_operator(op), x, y)


def _is_floating(x: Any) -> bool:
    dtype = x.dtype if isinstance(x, GraphValue) else None
    return dtype is not None and dtype.is_float


def array_of_proto(x: Any) -> Any:
    """A TensorProto as the array it holds, for Python to compute with."""
    return own_array(x) if type(x).__name__ == "TensorProto" else x


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
