"""Lowering of calls: operators, other scripts, nested functions, Python's own functions."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from onnxwright.converter.analyze.effects import is_hashable, is_iterator
from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.capture import CACHES
from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.calls.bodies import body_graph, is_body
from onnxwright.converter.lower.calls.builtin_calls import BUILTINS, as_python
from onnxwright.converter.lower.calls.inlining import call_closure, inline_python
from onnxwright.converter.lower.calls.numpy_calls import call_numpy, is_numpy
from onnxwright.converter.lower.context import is_script
from onnxwright.converter.lower.expressions.items import items_of
from onnxwright.converter.lower.expressions.lowering import expand_items, not_shared
from onnxwright.converter.lower.frame import Closure
from onnxwright.converter.lower.memory import as_view
from onnxwright.converter.lower.run_time_lists import (
    METHODS,
    RunTimeList,
    changed,
    concatenated,
    item_at,
    length,
)
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import change_container
from onnxwright.converter.lower.values import TensorMethod, is_dynamic, leaves
from onnxwright.diagnostics.catalogue import control_flow, ops
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.op import Op
from onnxwright.semantics import calls
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, describe
from onnxwright.semantics.numpy_functions.table import METHODS as ARRAY_METHODS
from onnxwright.semantics.numpy_functions.table import call_method
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import AttrKind
from onnxwright.types.roles import marks_function

_NEEDS_GRAPH = (AttrKind.GRAPH,)


def evaluate_call(low: Lowering, node: hir.Call, outputs: int | None) -> Any:
    """Evaluate a call; `outputs` is the number of results its target takes, if known."""
    if isinstance(node.func, hir.Attribute) and node.func.name.startswith(hir.INTERNAL):
        return _container_method(low, node)
    function = low.evaluate(node.func)
    if function is print:
        return None
    function, args = _call_arguments(low, function, node.args)
    kwargs: dict[str, Any] = {}
    for key, value_node in node.keywords:
        value = low.evaluate(value_node)
        if key is not None and key not in kwargs:
            kwargs[key] = value
        elif key is not None or isinstance(value, dict):
            arguments = value if key is None else {key: value}
            kwargs = low.python(value_node.span, _with_keywords, kwargs, arguments)
        else:
            low.needed_now("the mapping after `**`", value_node.span)
    return low.apply(function, args, kwargs, node.span, outputs)


def _with_keywords(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a call; one that is given twice is refused, as in Python."""
    for key in more:
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
        if key in before:
            raise TypeError(f"got multiple values for keyword argument {key!r}")
    return {**before, **more}


def _call_arguments(low: Lowering, function: Any, nodes: Sequence[hir.Expr]) -> tuple[Any, Any]:
    """The function and its arguments; `op.Concat(*xs)` of a list that the model makes long."""
    if len(nodes) == 1 and isinstance(nodes[0], hir.Star) and isinstance(function, Op):
        only = low.evaluate(nodes[0].value)
        if isinstance(only, RunTimeList) and (function.name, function.domain) == ("Concat", ""):
            return getattr(function.opset, "ConcatFromSequence"), [only]  # noqa: B009 - an operator
        return function, items_of(low, only, nodes[0].span)
    return function, expand_items(low, nodes)


def apply_function(
    low: Lowering,
    function: Any,
    args: list[Any],
    kwargs: dict[str, Any],
    span: Span,
    outputs: int | None = None,
) -> Any:
    """Call an evaluated function with evaluated arguments."""
    low.b.span = span
    while isinstance(function, functools.partial):
        args = [*function.args, *args]
        kwargs = {**function.keywords, **kwargs}
        function = function.func
    if isinstance(function, Op):
        return low.handlers.call_op(low, function, args, kwargs, span, outputs)
    if is_script(function):
        return low.handlers.call_script(low, function, args, kwargs, span)
    if isinstance(function, Closure):
        return call_closure(low, function, args, kwargs, span)
    if len(args) == 1 and isinstance(args[0], Closure) and _marks(function):
        update: Any = functools.update_wrapper
        wraps = function is functools.wraps
        return functools.partial(update, wrapped=args[0]) if wraps else args[0]
    if isinstance(function, GraphValue):
        advice = "a tensor is not a function; index it with `x[i]`"
        fail(messages.NotCallable(what="a tensor", advice=advice, span=span))
    if isinstance(function, TensorMethod):
        b = low.at(span)
        value = call_method(b, function.name, function.of, args, kwargs)
        return as_view(value, function.of) if ARRAY_METHODS[function.name].is_view else value
    handler = BUILTINS.get(function) if is_hashable(function) else None
    dynamic = is_dynamic(args) or is_dynamic(kwargs)
    if handler is not None and (dynamic or _holds_functions([*args, *kwargs.values()])):
        value = handler(low, args, kwargs, span)
        return low.regions.own(value) if type(value) in (list, dict) else value
    if dynamic and is_numpy(function):
        return call_numpy(low, function, args, kwargs, span)
    if not dynamic and not _holds_functions((*args, *kwargs.values())):
        if not callable(function):
            advice = "call an operator, a script or a Python function"
            fail(messages.NotCallable(what=describe(function), advice=advice, span=span))
        if not _makes_ops(function):
            low.regions.before_call(function, args, kwargs, span)
            result = low.python(span, function, *args, **kwargs)
            return low.regions.own_result(function, args, result)
    elif _keeps_values(function):
        low.regions.before_call(function, [], {}, span)
        return low.python(span, function, *args, **kwargs)
    return _call_python(low, function, args, kwargs, span)


def _marks(function: Any) -> bool:
    """Whether a function changes only what a nested function says of itself: name and marks."""
    names = function is functools.wraps or function is functools.update_wrapper
    return names or marks_function(function)


def _makes_ops(function: Any) -> bool:
    """Whether a Python function names an opset or a script: then it builds, it computes not."""
    if not isinstance(function, FunctionType):
        return False
    outer = OuterNames(function)
    for name in function.__code__.co_names:
        global_value = outer.function.__globals__.get(name)
        if type(global_value).__name__ == "Opset" or is_script(global_value):
            return True
    cells = (outer[n] for n in outer.cells if n in outer)
    return any(type(c).__name__ == "Opset" or is_script(c) for c in cells)


# -- operators -------------------------------------------------------------------------------------


def call_op(
    low: Lowering, op: Op, args: list[Any], kwargs: dict[str, Any], span: Span, outputs: int | None
) -> Any:
    """An operator call: subgraphs from callables, then the semantics of calls."""
    if op.name == "OptionalHasElement" and not op.domain:
        if not any(a is not None for a in (*args, kwargs.get("input"))):
            return False  # decided now, so that an `if` on it is, too
    if args and isinstance(args[0], RunTimeList) and not op.domain:
        as_list = _list_operator(low.at(span), op.name, args, kwargs)
        if as_list is not None:
            return as_list
    signature = op.signature
    graphs = (
        {n for n, p in signature.attributes.items() if p.kind in _NEEDS_GRAPH}
        if signature is not None
        else {n for n, v in kwargs.items() if is_body(v)}
    )
    kwargs = dict(kwargs)
    pending = {n: kwargs[n] for n in graphs if is_body(kwargs.get(n))}
    if pending:
        inputs = [None if a is None else _input_value(low, a) for a in args]
        for name, body in pending.items():
            kwargs[name] = body_graph(low, op, name, body, inputs, kwargs, span)
        args = inputs
        outputs = _graph_outputs(op, kwargs, inputs) or outputs
    b = low.at(span)
    if outputs is not None and signature is not None:
        outputs = _check_wanted(op, outputs, span)
    result = calls.call(b, op, args, kwargs, outputs)
    _remember_constant(low, op, kwargs, result)
    return result


def _list_operator(
    b: GraphBackend, name: str, args: list[Any], kwargs: dict[str, Any]
) -> GraphValue | None:
    """An operator of sequences on a list that is one tensor; None where a sequence is needed."""
    is_static = not is_dynamic(args[1:]) and not is_dynamic(kwargs)
    if name == "ConcatFromSequence" and len(args) == 1 and is_static:
        if set(kwargs) <= {"axis", "new_axis"} and "axis" in kwargs:
            return concatenated(b, args[0], int(kwargs["axis"]), bool(kwargs.get("new_axis", 0)))
    if name == "SequenceLength" and len(args) == 1 and not kwargs:
        return b.as_weak(length(b, args[0]), None)
    if name == "SequenceAt" and len(args) == 2 and not kwargs:
        return b.as_weak(item_at(b, args[0], args[1]), None)
    return None


def _input_value(low: Lowering, x: Any) -> GraphValue:
    tensor: GraphValue = as_value(low.b, x)
    return tensor


def _remember_constant(low: Lowering, op: Op, kwargs: dict[str, Any], result: Any) -> None:
    """`op.Constant(value_int=...)` and the like: the array is known."""
    if op.name != "Constant" or op.domain or not isinstance(result, GraphValue):
        return
    for key, dtype in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        value = kwargs.get(key)
        if value is not None and not is_dynamic(value):
            low.b.recorder.info(result.value).const_value = np.array(value, dtype=dtype)


def _check_wanted(op: Op, outputs: int, span: Span) -> int:
    """The number of outputs a target takes, if the operator can have that many."""
    signature = op.signature
    assert signature is not None
    least = sum(1 for p in signature.outputs if p.option == "single")
    if outputs > signature.max_output or outputs < min(least, signature.max_output):
        if least == 1 and signature.max_output == 1:
            return 1  # one tensor, taken apart along its first axis
        least = max(1, least)
        most = signature.max_output
        got = f"{least} outputs" if least == most else f"{least} to {most} outputs"
        names = f"{outputs} name{'' if outputs == 1 else 's'}"
        fail(ops.WrongOutputCount(what=f"`op.{op.name}`", got=got, expected=names, span=span))
    return outputs


def _graph_outputs(op: Op, kwargs: dict[str, Any], inputs: Sequence[Any]) -> int | None:
    """How many outputs a control-flow op has, by its graphs."""
    if op.domain:
        return None
    if op.name == "If":
        return len(kwargs["then_branch"].outputs)
    if op.name == "Loop":
        return len(kwargs["body"].outputs) - 1
    if op.name in ("Scan", "SequenceMap"):
        return len(kwargs["body"].outputs)
    return None


# -- functions of Python ---------------------------------------------------------------------------


def _call_python(
    low: Lowering, function: Any, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """A plain Python function on tensors: its body is converted where it is called."""
    if isinstance(function, MethodType):
        args, function = [function.__self__, *args], function.__func__
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    target: Any = function
    if isinstance(function, CACHES):
        target = function.__wrapped__
    if not isinstance(target, FunctionType):
        call = type(target).__dict__.get("__call__")
        if isinstance(call, FunctionType) and not isinstance(target, type):
            return _call_python(low, call, [target, *args], kwargs, span)
        _refuse_call(target, span)
    if (target.__module__ or "").split(".")[0] in ("numpy", "math", "torch", "onnx"):
        _refuse_call(target, span)
    return inline_python(low, target, args, kwargs, span)


def _refuse_call(function: Any, span: Span) -> None:
    name = getattr(function, "__name__", type(function).__name__)
    near = _OP_FOR.get(name)
    advice = (
        f"use `op.{near}` instead" if near else "use an operator (`op....`), or compute it outside"
    )
    fail(messages.NotCallable(what=f"`{name}`", advice=advice, span=span))


# -- containers ------------------------------------------------------------------------------------


def _container_method(low: Lowering, node: hir.Call) -> Any:
    """`xs.append(v)` as a statement: the changed container."""
    assert isinstance(node.func, hir.Attribute)
    assert isinstance(node.func.value, hir.Name)
    name, method = node.func.value.id, node.func.name[1:]
    container = low.evaluate(node.func.value)
    if isinstance(container, RunTimeList):
        return _changed_list(low, container, method, node)
    if not isinstance(container, (list, dict, set, deque)):
        plain = hir.Attribute(node.func.span, node.func.value, method)
        call = hir.Call(node.span, plain, node.args, node.keywords)
        low.evaluate(call)
        return container
    args = expand_items(low, node.args)
    named = {key or "": low.evaluate(value) for key, value in node.keywords}
    for used in filter(is_iterator, args):
        low.regions.change(used, f"`{method}`", node.span)
    if method == "sort":
        named = {key: as_python(low, value, node.span) for key, value in named.items()}

    def change(held: Any) -> Any:
        low.python(node.span, getattr(held, method), *args, **named)
        return held

    return change_container(low, name, container, node.span, change)


def _changed_list(low: Lowering, x: RunTimeList, method: str, node: hir.Call) -> Any:
    """`xs.append(v)` as a statement, for a list whose length the model decides."""
    not_shared(low, x, node.span)
    args = expand_items(low, node.args)
    items = args
    if method == "extend" and len(args) == 1:
        items = items_of(low, args[0], node.span)
    result = None
    if not node.keywords and (method != "append" or len(args) == 1):
        result = changed(low.at(node.span), x, method, args, items)
    if result is None:
        advice = f"these are there: {', '.join(METHODS)}"
        what = f"does not have `{method}` with these arguments"
        fail(control_flow.RunTimeListUse(name=x.name, what=what, advice=advice, span=node.span))
    return result


# Methods of containers that only insert or return values, tensors too.
_KEEPING = frozenset(
    ("append", "appendleft", "extend", "get", "insert", "pop", "setdefault", "update")
)


def _keeps_values(function: Any) -> bool:
    """Whether a bound method of a container takes any objects as they are."""
    holder = getattr(function, "__self__", None)
    return (
        isinstance(holder, (list, dict, deque))
        and getattr(function, "__name__", "") in _KEEPING
        and isinstance(function, BuiltinMethodType)
    )


_OP_FOR = {
    "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "tanh": "Tanh", "floor": "Floor", "ceil": "Ceil", "where": "Where", "concatenate": "Concat",
    "matmul": "MatMul", "maximum": "Max", "minimum": "Min", "mean": "ReduceMean", "erf": "Erf",
    "reshape": "Reshape", "transpose": "Transpose", "argmax": "ArgMax", "clip": "Clip",
    "stack": "Concat", "sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax",
    "einsum": "Einsum", "cumsum": "CumSum", "sign": "Sign", "isnan": "IsNaN", "isinf": "IsInf",
}  # fmt: skip


def _holds_functions(items: Sequence[Any]) -> bool:
    return any(isinstance(leaf, Closure) for item in items for leaf in leaves(item))
