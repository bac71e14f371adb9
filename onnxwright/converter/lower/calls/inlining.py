"""Bodies in place of a call: those of Python functions, nested functions and lambdas."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.depth import room_for
from onnxwright.converter.frontend.names import bound_in
from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.frame import Closure, Frame
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import Poison
from onnxwright.converter.pipeline import front
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span

# A Python helper may call itself this deep, as long as it ends when compiling.
_HELPER_DEPTH = 64


def inline_python(
    low: Lowering, function: FunctionType, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """Convert the body of a Python function with these arguments, in place."""
    signature = _own_signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        bad_call(function.__name__, str(error), str(signature), span)
    arguments = set(bound.arguments)
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name not in arguments:
            low.regions.from_outside(value)
    stages = front(function)
    with low.context.entering(function, function.__name__, span, _HELPER_DEPTH):
        frame = Frame(
            function.__name__, stages.own_names, OuterNames(function), dict(bound.arguments)
        )
        with room_for(len(low.callers) * 4 + stages.parsed.depth):
            return run_body(low, frame, stages.body, span)


def _own_signature(function: FunctionType) -> inspect.Signature:
    """The parameters of the function itself, whatever `functools.wraps` says that it wraps."""
    plain = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    plain.__annotations__ = function.__annotations__
    return inspect.signature(plain)


def bad_call(name: str, reason: str, signature: str, span: Span) -> Any:
    """Refuse a call whose arguments do not fit."""
    reason = reason.replace("{", "(").replace("}", ")")
    fail(messages.BadCall(name=name, reason=reason, signature=signature, span=span))


def call_closure(
    low: Lowering, closure: Closure, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """A nested function or lambda, its body in place of the call."""
    function = closure.function
    env = _bind_closure(closure, args, dict(kwargs), span)
    with low.context.entering(function, function.name, span, _HELPER_DEPTH):
        local = frozenset((*(p.name for p in function.params), *bound_in(function.body)))
        frame = Frame(function.name, local, closure.frame, env)
        return run_body(low, frame, function.body, span)


def _bind_closure(
    closure: Closure, args: list[Any], kwargs: dict[str, Any], span: Span
) -> dict[str, Any]:
    function = closure.function
    shown = "(" + ", ".join(p.name for p in function.params) + ")"
    env: dict[str, Any] = {}
    arguments = list(args)
    for p in function.params:
        if p.kind == "star":
            env[p.name], arguments = tuple(arguments), []
        elif p.kind == "keywords":
            env[p.name], kwargs = kwargs, {}
        elif p.kind == "positional" and arguments:
            env[p.name] = arguments.pop(0)
        elif p.name in kwargs:
            env[p.name] = kwargs.pop(p.name)
        elif p.name in closure.defaults:
            env[p.name] = closure.defaults[p.name]
        else:
            bad_call(function.name, f"lacks its argument `{p.name}`", shown, span)
    if arguments:
        bad_call(function.name, f"takes {len(function.params)} arguments", shown, span)
    if kwargs:
        bad_call(function.name, f"has no parameter `{next(iter(kwargs))}`", shown, span)
    return env


def run_body(low: Lowering, frame: Frame, body: hir.Block, span: Span) -> Any:
    """Lower a body in its own frame and take its result."""
    outer, low.frame = low.frame, frame
    depth = low.dynamic_depth
    low.callers.append(outer)
    try:
        low.execute(body)
        result = low.frame.env.get(hir.RESULT)
        if isinstance(result, Poison):
            fail(result.diagnostic.at(span))
        return result
    finally:
        low.callers.pop()
        low.frame = outer
        low.dynamic_depth = depth
        low.b.span = span
