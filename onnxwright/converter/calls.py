"""Lowering of calls: operators, other scripts, nested functions, Python's own functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import bound_in
from onnxwright.converter.context import is_script
from onnxwright.converter.exact_calls import ExactCalls
from onnxwright.converter.frame import Frame, OuterNames
from onnxwright.converter.pipeline import front
from onnxwright.converter.values import AttributeRef, Closure, Poison, is_dynamic, leaves
from onnxwright.diagnostics.catalogue import control_flow, ops
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.op import Op
from onnxwright.semantics import arithmetic, calls
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import as_value, cast, describe, emit1, shape_of
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, OnnxType, SequenceType, TensorType

# A Python helper may call itself this deep, as long as it ends when compiling.
_HELPER_DEPTH = 64
_NEEDS_GRAPH = (AttrKind.GRAPH,)


class Calls(ExactCalls):
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
            advice = "a tensor is no function; index it with `x[i]`"
            fail(messages.NotCallable(what="a tensor", advice=advice, span=span))
        handler = _BUILTINS.get(function) if _hashable(function) else None
        dynamic = is_dynamic(args) or is_dynamic(kwargs)
        if handler is not None and (dynamic or function in _ALWAYS):
            return handler(self, args, kwargs, span)
        if not dynamic and not _holds_functions((*args, *kwargs.values())):
            if not callable(function):
                advice = "call an operator, a script or a Python function"
                fail(messages.NotCallable(what=describe(function), advice=advice, span=span))
            if not self._makes_ops(function):
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
        signature = op.signature
        graphs = (
            {n for n, p in signature.attributes.items() if p.kind in _NEEDS_GRAPH}
            if signature is not None
            else {n for n, v in kwargs.items() if _is_body(v)}
        )
        kwargs = dict(kwargs)
        pending = {n: kwargs[n] for n in graphs if _is_body(kwargs.get(n))}
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
                self.b.recorder.known[result.value] = np.array(value, dtype=dtype)

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

    def body_graph(
        self,
        op: Op,
        name: str,
        body: Any,
        inputs: Sequence[GraphValue | None],
        kwargs: dict[str, Any],
        span: Span,
    ) -> Any:
        """A graph attribute from a Python callable: its parameters become the graph's inputs."""
        recorder = self.b.recorder
        kinds = self._body_inputs(op, body, inputs, kwargs)
        names = _parameter_names(body)
        if kinds is None or len(kinds) != len(names):
            loose = kinds is None or self.context.exact
            kinds = [None] * len(names) if loose or kinds is None else kinds
            if len(kinds) != len(names):
                reason = f"takes {len(names)} parameters, where `op.{op.name}` gives {len(kinds)}"
                fail(
                    messages.BadCall(
                        name=_name_of(body), reason=reason, signature=_signature_of(body), span=span
                    )
                )
        before = self.frame.env
        recorder.push()
        try:
            self.frame.env = dict(before)
            values = []
            for param, kind in zip(names, kinds, strict=True):
                values.append(self.b.wrap(recorder.input(param, kind), kind))
            result = self.apply(body, list(values), {}, span)
            outputs = self._body_outputs(op, result, inputs, span)
            own = _name_of(body) if recorder.exact else name
            return recorder.pop([v.value for v in outputs], own)
        except BaseException:
            if recorder.scopes and len(recorder.scopes) > 1:
                recorder.drop()
            raise
        finally:
            self.frame.env = before

    def _body_inputs(
        self,
        op: Op,
        body: Any,
        inputs: Sequence[GraphValue | None],
        kwargs: dict[str, Any],
    ) -> list[OnnxType | None] | None:
        """The types of a body's inputs, as the operator gives them."""
        kinds = [None if v is None else v.kind for v in inputs]
        if op.name == "If" and not op.domain:
            return []
        if op.name == "Loop" and not op.domain:
            carried = [_any_shape(k) for k in kinds[2:]]
            return [TensorType(DType.INT64, ()), TensorType(DType.BOOL, ()), *carried]
        if op.name == "Scan" and not op.domain:
            count = int(kwargs.get("num_scan_inputs", 1))
            states = len(kinds) - count
            axes = list(kwargs.get("scan_input_axes") or [0] * count)
            scanned = [_without_axis(k, a) for k, a in zip(kinds[states:], axes, strict=False)]
            return [*kinds[:states], *scanned]
        if op.name == "SequenceMap" and not op.domain:
            return [k.elem if isinstance(k, SequenceType) else k for k in kinds]
        return None

    def _body_outputs(
        self, op: Op, result: Any, inputs: Sequence[GraphValue | None], span: Span
    ) -> list[GraphValue]:
        items = list(result) if isinstance(result, (list, tuple)) else [result]
        outputs = []
        for n, item in enumerate(items):
            like = None
            if op.name == "Loop" and n > 0 and n + 1 < len(inputs):
                like = inputs[n + 1]
            elif op.name == "Scan" and n < len(inputs):
                like = inputs[n]
            dtype = DType.BOOL if op.name == "Loop" and n == 0 else None
            b = self.at(span)
            value = self.value(item)
            if not isinstance(value, GraphValue) or value.weak is not None:
                known = like.dtype if like is not None else dtype
                value = as_value(b, value, dtype=known)
            outputs.append(value)
        return outputs

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
            local = frozenset((*made.parsed.params, *bound_in(made.body)))
            frame = Frame(function.__name__, local, OuterNames(function), dict(bound.arguments))
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
            elif p.default is not None:
                env[p.name] = self.evaluate(p.default)
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
        try:
            self.block(body)
            result = self.frame.env.get(hir.RESULT)
            if isinstance(result, Poison):
                fail(result.diagnostic.at(span))
            return result
        finally:
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
        if not isinstance(container, (list, dict, set)):
            plain = hir.Attribute(node.func.span, node.func.value, method)
            call = hir.Call(node.span, plain, node.args, node.keywords)
            self.evaluate(call)
            return container
        if name not in self.frame.env:
            advice = f"copy it first: `{name} = list({name})`"
            what = f"changing `{name}`, which is outside this function,"
            self.needed_now(what, node.span, advice)
        args = self.expand(node.args)
        changed = container.copy()
        self.python(node.span, getattr(changed, method), *args)
        return changed


# -- built-in functions on tensors -----------------------------------------------------------------


def _one_or_many(name: str, reduce_name: str) -> Callable[..., Any]:
    def handle(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        b = self.at(span)
        if kwargs:
            self.needed_now(f"`{name.lower()}` with keywords", span, "use `op.Min` or `op.Max`")
        items = args if len(args) > 1 else None
        if items is None:
            only = self.value(args[0])
            if isinstance(only, GraphValue):
                made = arithmetic.reduce_all(b, reduce_name, only)
                return b.as_weak(made, only.weak)
            items = list(only)
        items = [self.value(i) for i in items]
        if len(items) == 1:
            return items[0]
        if not any(isinstance(i, GraphValue) for i in items):
            items = [as_value(b, i) if is_dynamic(i) else i for i in items]
        return arithmetic.minimum_maximum(b, name, items)

    return handle


def _sum(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    only = self.value(args[0])
    if isinstance(only, GraphValue):
        b = self.at(span)
        total: Any = b.as_weak(arithmetic.reduce_all(b, "ReduceSum", only), only.weak)
        if start == 0 and not is_dynamic(start):
            return total
        return self.apply_binary("add", start, total, span)
    total = start
    for item in only:
        total = (
            item
            if total is start and not is_dynamic(start) and start == 0 and is_dynamic(item)
            else self.apply_binary("add", total, item, span)
        )
    return total


def _number(kind: str) -> Callable[..., Any]:
    def handle(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        value = self.value(args[0])
        b = self.at(span)
        if not isinstance(value, GraphValue):
            value = as_value(b, value)
        shape = shape_of(b, value)
        if shape is not None and any(isinstance(d, int) and d != 1 for d in shape):
            fail(control_flow.NotACondition(what=f"a tensor of shape {list(shape)}", span=span))
        return arithmetic.to_python_number(b, kind, value)

    return handle


def _len(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value = self.value(args[0])
    if not isinstance(value, GraphValue):
        return len(value)
    return self._turns_of(value, span).count


def _abs(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value = self.value(args[0])
    b = self.at(span)
    return arithmetic.unary(
        b, "abs", value if isinstance(value, GraphValue) else as_value(b, value)
    )


def _round(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    digits = args[1] if len(args) > 1 else kwargs.get("ndigits")
    if is_dynamic(digits):
        self.needed_now("the number of digits of `round`", span)
    return arithmetic.round_half_even(self.at(span), self.value(args[0]), digits)


def _pow(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    if len(args) != 2:
        self.needed_now("`pow` with a modulus", span, "use `x ** y % z`")
    return self.apply_binary("pow", args[0], args[1], span)


def _divmod(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    x, y = args
    return (self.apply_binary("floordiv", x, y, span), self.apply_binary("mod", x, y, span))


def _as_container(make: Callable[[Any], Any]) -> Callable[..., Any]:
    def handle(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        return make(self.items_of(args[0], span))

    return handle


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value


def _any_all(op: str) -> Callable[..., Any]:
    def handle(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
        value = self.value(args[0])
        b = self.at(span)
        if isinstance(value, GraphValue):
            flags = cast(b, arithmetic.truth(b, value), DType.INT32)
            name = "ReduceMax" if op == "or" else "ReduceMin"
            made = emit1(b, name, (flags,), keepdims=0)
            return b.as_weak(cast(b, made, DType.BOOL), "bool")
        result: Any = op == "and"
        for item in value:
            result = self.both(op, result, _always(item), span)
        return result

    return handle


def _isinstance(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    value, types = args
    kinds = types if isinstance(types, tuple) else (types,)
    if isinstance(value, GraphValue):
        plain = {"bool": bool, "int": int, "float": float}.get(value.weak or "")
        if plain is not None:
            return any(isinstance(k, type) and issubclass(plain, k) for k in kinds)
        return any(getattr(k, "__name__", "") == "Tensor" for k in kinds)
    if isinstance(value, AttributeRef):
        self.needed_now(f"the type of attribute `{value.name}`", span)
    return isinstance(value, types)


def _range(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    self.needed_now(
        "a `range` outside a `for`", span, "loop over it directly: `for i in range(n):`"
    )


def _dict(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    return dict(*args, **kwargs)


def _zip(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    return list(zip(*(self.items_of(a, span) for a in args), strict=False))


def _enumerate(self: Calls, args: list[Any], kwargs: dict[str, Any], span: Span) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return list(enumerate(self.items_of(args[0], span), start))


_BUILTINS: dict[Any, Callable[..., Any]] = {
    min: _one_or_many("Min", "ReduceMin"),
    max: _one_or_many("Max", "ReduceMax"),
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
}
_ALWAYS: tuple[Any, ...] = ()

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


def _is_body(x: Any) -> bool:
    """Whether an attribute value is a callable that becomes a graph."""
    return isinstance(x, (Closure, FunctionType, MethodType)) or is_script(x)


def _holds_functions(items: Sequence[Any]) -> bool:
    return any(isinstance(leaf, Closure) for item in items for leaf in leaves(item))


def _parameter_names(body: Any) -> list[str]:
    if isinstance(body, Closure):
        return [p.name for p in body.function.params if p.default is None]
    function = body.function if is_script(body) else body
    params = inspect.signature(function).parameters.values()
    return [p.name for p in params if p.default is inspect.Parameter.empty]


def _name_of(body: Any) -> str:
    return body.function.name if isinstance(body, Closure) else getattr(body, "__name__", "body")


def _signature_of(body: Any) -> str:
    return "(" + ", ".join(_parameter_names(body)) + ")"


def _any_shape(kind: OnnxType | None) -> OnnxType | None:
    """A carried value may change its shape from turn to turn, but hardly its rank."""
    if isinstance(kind, TensorType) and kind.shape is not None:
        return TensorType(kind.dtype)
    return kind


def _without_axis(kind: OnnxType | None, axis: int) -> OnnxType | None:
    if isinstance(kind, TensorType) and kind.shape:
        dims = list(kind.shape)
        del dims[axis]
        return TensorType(kind.dtype, tuple(dims))
    return kind
