"""Lowering of calls: operators, other scripts, nested functions, Python's own functions."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import bound_in
from onnxwright.converter.bodies import Bodies, is_body
from onnxwright.converter.builtin_calls import BUILTINS
from onnxwright.converter.context import is_script
from onnxwright.converter.depth import room_for
from onnxwright.converter.effects import is_iterator
from onnxwright.converter.frame import Frame, OuterNames
from onnxwright.converter.pipeline import front
from onnxwright.converter.values import Closure, Poison, is_dynamic, leaves
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.catalogue import ops
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.op import Op
from onnxwright.semantics import calls
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import as_value, describe
from onnxwright.types.kinds import AttrKind

# A Python helper may call itself this deep, as long as it ends when compiling.
_HELPER_DEPTH = 64
_NEEDS_GRAPH = (AttrKind.GRAPH,)


class Calls(Bodies):
    """Lowers calls."""

    def call(self, node: hir.Call, wanted: int | None) -> Any:
        """Evaluate a call; `wanted` is the number of results its target takes, if known."""
        if isinstance(node.func, hir.Attribute) and node.func.name.startswith(hir.INTERNAL):
            return self._container_method(node)
        function = self.evaluate(node.func)
        if function is print:
            return None
        args = self.expand(node.args)
        kwargs: dict[str, Any] = {}
        for key, value_node in node.keywords:
            value = self.evaluate(value_node)
            if key is not None:
                kwargs[key] = value
            elif isinstance(value, dict):
                kwargs.update(value)
            else:
                self.needed_now("the mapping after `**`", value_node.span)
        return self.apply(function, args, kwargs, node.span, wanted)

    def apply(
        self,
        function: Any,
        args: list[Any],
        kwargs: dict[str, Any],
        span: Span,
        wanted: int | None = None,
    ) -> Any:
        """Call an evaluated function with evaluated arguments."""
        self.b.span = span
        while isinstance(function, functools.partial):
            args = [*function.args, *args]
            kwargs = {**function.keywords, **kwargs}
            function = function.func
        if isinstance(function, Op):
            return self.call_op(function, args, kwargs, span, wanted)
        if is_script(function):
            return self.call_script(function, args, kwargs, span)
        if isinstance(function, Closure):
            return self.call_closure(function, args, kwargs, span)
        if isinstance(function, GraphValue):
            advice = "a tensor is not a function; index it with `x[i]`"
            fail(messages.NotCallable(what="a tensor", advice=advice, span=span))
        handler = BUILTINS.get(function) if _hashable(function) else None
        dynamic = is_dynamic(args) or is_dynamic(kwargs)
        if handler is not None and dynamic:
            made = handler(self, args, kwargs, span)
            return self.regions.own(made) if type(made) in (list, dict) else made
        if not dynamic and not _holds_functions((*args, *kwargs.values())):
            if not callable(function):
                advice = "call an operator, a script or a Python function"
                fail(messages.NotCallable(what=describe(function), advice=advice, span=span))
            if not self._makes_ops(function):
                self.regions.before_call(function, args, kwargs, span)
                result = self.python(span, function, *args, **kwargs)
                return self.regions.own_result(function, args, result)
        elif _keeps_values(function):
            self.regions.before_call(function, [], {}, span)
            return self.python(span, function, *args, **kwargs)
        return self._call_python(function, args, kwargs, span)

    def _makes_ops(self, function: Any) -> bool:
        """Whether a Python function names an opset or a script: then it builds, it computes not."""
        if not isinstance(function, FunctionType):
            return False
        outer = OuterNames(function)
        for name in function.__code__.co_names:
            found = outer.function.__globals__.get(name)
            if type(found).__name__ == "Opset" or is_script(found):
                return True
        cells = (outer[n] for n in outer.cells if n in outer)
        return any(type(c).__name__ == "Opset" or is_script(c) for c in cells)

    # -- operators ---------------------------------------------------------------------------------

    def call_op(
        self, op: Op, args: list[Any], kwargs: dict[str, Any], span: Span, wanted: int | None
    ) -> Any:
        """An operator call: subgraphs from callables, then the semantics of calls."""
        if self.context.exact:
            made = self.exact_op(op, args, kwargs, span, wanted)
            if made is not None:
                return made
        if op.name == "OptionalHasElement" and not op.domain:
            if not any(a is not None for a in (*args, kwargs.get("input"))):
                return False  # decided now, so that an `if` on it is, too
        signature = op.signature
        graphs = (
            {n for n, p in signature.attributes.items() if p.kind in _NEEDS_GRAPH}
            if signature is not None
            else {n for n, v in kwargs.items() if is_body(v)}
        )
        kwargs = dict(kwargs)
        pending = {n: kwargs[n] for n in graphs if is_body(kwargs.get(n))}
        if pending:
            inputs = [None if a is None else self._input_value(a) for a in args]
            for name, body in pending.items():
                kwargs[name] = self.body_graph(op, name, body, inputs, kwargs, span)
            args = inputs
            wanted = self._graph_outputs(op, kwargs, inputs) or wanted
        b = self.at(span)
        if wanted is not None and signature is not None:
            wanted = self._check_wanted(op, wanted, span)
        result = calls.call(b, op, args, kwargs, wanted)
        self._note_constant(op, kwargs, result)
        return result

    def _input_value(self, x: Any) -> GraphValue:
        made: GraphValue = as_value(self.b, x)
        return made

    def _note_constant(self, op: Op, kwargs: dict[str, Any], result: Any) -> None:
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
                self.b.recorder.info(result.value).const_value = np.array(value, dtype=dtype)

    def _check_wanted(self, op: Op, wanted: int, span: Span) -> int:
        """The number of outputs a target takes, if the operator can give so many."""
        signature = op.signature
        assert signature is not None
        least = sum(1 for p in signature.outputs if p.option == "single")
        if wanted > signature.max_output or wanted < min(least, signature.max_output):
            if least == 1 and signature.max_output == 1:
                return 1  # one tensor, taken apart along its first axis
            least = max(1, least)
            most = signature.max_output
            got = f"{least} outputs" if least == most else f"{least} to {most} outputs"
            names = f"{wanted} name{'' if wanted == 1 else 's'}"
            fail(ops.WrongOutputCount(what=f"`op.{op.name}`", got=got, wanted=names, span=span))
        return wanted

    def _graph_outputs(self, op: Op, kwargs: dict[str, Any], inputs: Sequence[Any]) -> int | None:
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

    # -- functions of Python -----------------------------------------------------------------------

    def _call_python(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """A plain Python function on tensors: its body is converted where it is called."""
        if isinstance(function, MethodType):
            args, function = [function.__self__, *args], function.__func__
        if isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        target = inspect.unwrap(function) if callable(function) else function
        if not isinstance(target, FunctionType):
            call = type(target).__dict__.get("__call__")
            if isinstance(call, FunctionType) and not isinstance(target, type):
                return self._call_python(call, [target, *args], kwargs, span)
            self._refuse_call(target, span)
        if (target.__module__ or "").split(".")[0] in ("numpy", "math", "torch", "onnx"):
            self._refuse_call(target, span)
        return self.inline_python(target, args, kwargs, span)

    def _refuse_call(self, function: Any, span: Span) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        near = _OP_FOR.get(name)
        advice = (
            f"use `op.{near}` instead"
            if near
            else "use an operator (`op....`), or compute it outside"
        )
        fail(messages.NotCallable(what=f"`{name}`", advice=advice, span=span))

    def inline_python(
        self, function: FunctionType, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """Convert the body of a Python function with these arguments, in place."""
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            self.bad_call(function.__name__, str(error), str(inspect.signature(function)), span)
        bound.apply_defaults()
        made = front(function)
        with self.context.entering(function, function.__name__, span, _HELPER_DEPTH):
            frame = Frame(
                function.__name__, made.own_names, OuterNames(function), dict(bound.arguments)
            )
            with room_for(len(self.callers) * 4 + made.parsed.depth):
                return self.run_body(frame, made.body, span)

    def bad_call(self, name: str, reason: str, signature: str, span: Span) -> Any:
        """Refuse a call whose arguments do not fit."""
        reason = reason.replace("{", "(").replace("}", ")")
        fail(messages.BadCall(name=name, reason=reason, signature=signature, span=span))

    def call_closure(
        self, closure: Closure, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """A nested function or lambda, its body in place of the call."""
        function = closure.function
        env = self._bind_closure(closure, args, dict(kwargs), span)
        with self.context.entering(function, function.name, span, _HELPER_DEPTH):
            local = frozenset((*(p.name for p in function.params), *bound_in(function.body)))
            frame = Frame(function.name, local, closure.frame, env)
            return self.run_body(frame, function.body, span)

    def _bind_closure(
        self, closure: Closure, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> dict[str, Any]:
        function = closure.function
        shown = "(" + ", ".join(p.name for p in function.params) + ")"
        env: dict[str, Any] = {}
        given = list(args)
        for p in function.params:
            if p.kind == "star":
                env[p.name], given = tuple(given), []
            elif p.kind == "positional" and given:
                env[p.name] = given.pop(0)
            elif p.name in kwargs:
                env[p.name] = kwargs.pop(p.name)
            elif p.name in closure.defaults:
                env[p.name] = closure.defaults[p.name]
            else:
                self.bad_call(function.name, f"lacks its argument `{p.name}`", shown, span)
        if given:
            self.bad_call(function.name, f"takes {len(function.params)} arguments", shown, span)
        if kwargs:
            self.bad_call(function.name, f"has no parameter `{next(iter(kwargs))}`", shown, span)
        return env

    def run_body(self, frame: Frame, body: hir.Block, span: Span) -> Any:
        """Lower a body in its own frame and take its result."""
        outer, self.frame = self.frame, frame
        depth = self.dynamic_depth
        self.callers.append(outer)
        try:
            self.block(body)
            result = self.frame.env.get(hir.RESULT)
            if isinstance(result, Poison):
                fail(result.diagnostic.at(span))
            return result
        finally:
            self.callers.pop()
            self.frame = outer
            self.dynamic_depth = depth
            self.b.span = span

    # -- containers --------------------------------------------------------------------------------

    def _container_method(self, node: hir.Call) -> Any:
        """`xs.append(v)` as a statement: the changed container."""
        assert isinstance(node.func, hir.Attribute)
        assert isinstance(node.func.value, hir.Name)
        name, method = node.func.value.id, node.func.name[1:]
        container = self.evaluate(node.func.value)
        if not isinstance(container, (list, dict, set, deque)):
            plain = hir.Attribute(node.func.span, node.func.value, method)
            call = hir.Call(node.span, plain, node.args, node.keywords)
            self.evaluate(call)
            return container
        args = self.expand(node.args)
        named = {key or "": self.evaluate(value) for key, value in node.keywords}
        for used in filter(is_iterator, args):
            self.regions.change(used, f"`{method}`", node.span)

        def change(held: Any) -> Any:
            self.python(node.span, getattr(held, method), *args, **named)
            return held

        return self.change_container(name, container, node.span, change)


# Methods of containers that only put values in or hand them out, tensors too.
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


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _holds_functions(items: Sequence[Any]) -> bool:
    return any(isinstance(leaf, Closure) for item in items for leaf in leaves(item))
