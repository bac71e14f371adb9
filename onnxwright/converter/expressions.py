"""Lowering of expressions: Python computes what is known now, the semantics build the rest."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.context import Context
from onnxwright.converter.frame import Frame
from onnxwright.converter.values import (
    AttributeRef,
    Closure,
    ShapeTuple,
    is_dynamic,
    same_static,
    shape_of_value,
)
from onnxwright.diagnostics.catalogue import control_flow, ops, syntax
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail, located
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.semantics import arithmetic
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_backend import GraphBackend, GraphValue
from onnxwright.semantics.indexing import subscript
from onnxwright.semantics.literals import (
    as_value,
    cast,
    describe,
    emit1,
    gather,
    int_constant,
    is_number_like,
    own_array,
    plain_kind,
    rank_of,
    shape_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import SequenceType, TensorType

_TENSOR_ADVICE = {
    "reshape": "use `op.Reshape(x, shape)`",
    "transpose": "use `op.Transpose(x, perm=[...])`, or `x.T`",
    "sum": "use `op.ReduceSum(x, axes)`",
    "mean": "use `op.ReduceMean(x, axes)`",
    "max": "use `op.ReduceMax(x, axes)`",
    "min": "use `op.ReduceMin(x, axes)`",
    "astype": "use `op.Cast(x, to=...)`",
    "flatten": "use `op.Flatten(x)` or `op.Reshape(x, [-1])`",
    "squeeze": "use `op.Squeeze(x, axes)`",
    "item": "use `x` itself, or `int(x)`, `float(x)`",
    "value": "the value is known only when the model runs; use `x` itself",
}


class Expressions(ABC):
    """Evaluates HIR expressions in a frame."""

    b: GraphBackend
    frame: Frame
    context: Context

    @abstractmethod
    def call(self, node: hir.Call, wanted: int | None) -> Any:
        """Evaluate a call; `wanted` is the number of results its target takes, if known."""

    @abstractmethod
    def branch(
        self,
        test: GraphValue,
        then: Callable[[], Any],
        orelse: Callable[[], Any],
        span: Span,
    ) -> Any:
        """The value of one of two computations, chosen when the model runs."""

    # -- entry -------------------------------------------------------------------------------------

    def evaluate(self, node: hir.Expr, wanted: int | None = None) -> Any:
        """The value of an expression: a Python object, a graph value, or a container of both."""
        self.b.span = node.span
        if isinstance(node, hir.Call):
            return self.call(node, wanted)
        try:
            return _EVALUATE[type(node)](self, node)
        except OnnxwrightError as error:
            if all(d.span is not None for d in error.diagnostics):
                raise
            with located(node.span):
                raise

    def at(self, span: Span) -> GraphBackend:
        """The backend, building for `span`."""
        self.b.span = span
        return self.b

    def python(self, span: Span, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Python's own result of an operation without tensors; its errors become ours."""
        try:
            return self.import_value(function(*args, **kwargs), outermost=False)
        except OnnxwrightError:
            with located(span):
                raise
        except Exception as error:
            reason = str(error).replace("{", "(").replace("}", ")")
            name = type(error).__name__
            diagnostic = messages.StaticFailure(exception=name, reason=reason, span=span)
            raise diagnostic.error(diagnostic) from error

    def import_value(self, x: Any, *, outermost: bool = True) -> Any:
        """An object from outside: a value of another backend becomes its array."""
        if is_value(x) and not isinstance(x, GraphValue):
            return x.value
        if isinstance(x, Initializer):
            return self.initializer(x, outermost=outermost)
        return x

    def initializer(self, x: Initializer, *, outermost: bool, hint: str = "initializer") -> Any:
        """A marked array as a value of the graph; where there is no graph, as an array."""
        recorder = self.b.recorder
        if not recorder.keeps_initializers:
            return np.asarray(x)
        dtype = DType.STRING if x.dtype == object else DType.from_numpy(x.dtype)
        kind = TensorType(dtype, tuple(x.shape))
        return self.b.wrap(recorder.initializer(x, kind, hint, outermost=outermost), kind)

    def value(self, x: Any) -> Any:
        """An attribute parameter as a (weak) value; everything else unchanged."""
        if isinstance(x, AttributeRef):
            if not x.can_promote:
                advice = "it can only be passed on as an attribute"
                what = f"a value for the tensor made from attribute `{x.name}`"
                fail(ops.ValueNeededNow(what=what, advice=advice, span=self.b.here()))
            return x.__ow_as_value__(self.b)
        return x

    def needed_now(self, what: str, span: Span, advice: str = "") -> Any:
        """Refuse a run-time value where Python needs to know it."""
        advice = advice or "use a number known when compiling, or give the attribute a value"
        fail(ops.ValueNeededNow(what=what, advice=advice, span=span))

    # -- simple expressions ------------------------------------------------------------------------

    def name(self, node: hir.Name) -> Any:
        found = self.frame.lookup(node.id, node.span)
        if isinstance(found, Initializer):
            return self.initializer(found, outermost=True, hint=node.id)
        return self.import_value(found)

    def literal(self, node: hir.Literal) -> Any:
        return node.value

    def attribute(self, node: hir.Attribute) -> Any:
        value = self.evaluate(node.value)
        b = self.at(node.span)
        if isinstance(value, GraphValue):
            return self.tensor_attribute(value, node)
        if isinstance(value, AttributeRef):
            self.needed_now(f"`.{node.name}` of attribute `{value.name}`", node.span)
        if isinstance(value, Closure):
            advice = "a nested function has no attributes here"
            what = f"`{value.function.name}`"
            fail(messages.NoSuchAttribute(what=what, name=node.name, advice=advice, span=node.span))
        if isinstance(value, ShapeTuple) and not hasattr(tuple, node.name):
            return self.tensor_attribute(emit1(b, "Shape", (value.of,)), node)
        try:
            return self.import_value(getattr(value, node.name))
        except OnnxwrightError:
            with located(node.span):
                raise
        except AttributeError:
            from difflib import get_close_matches

            near = get_close_matches(node.name, dir(value), 1)
            advice = f"did you mean `{near[0]}`?" if near else "look at what it is where it is made"
            fail(
                messages.NoSuchAttribute(
                    what=_what(value), name=node.name, advice=advice, span=node.span
                )
            )

    def tensor_attribute(self, x: GraphValue, node: hir.Attribute) -> Any:
        """`x.shape`, `x.T`, `x.ndim`, `x.dtype`, `x.size` of a tensor."""
        b = self.b
        if node.name == "shape":
            return shape_of_value(b, x)
        if node.name == "T":
            return (
                emit1(b, "Transpose", (b.as_weak(x, None),)) if rank_of(b, x) not in (0, 1) else x
            )
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
                return self.needed_now("the element type", node.span, "annotate the parameter")
            return dtype if node.name == "onnx_dtype" else dtype.numpy
        advice = _TENSOR_ADVICE.get(node.name, "use an operator: `op....`")
        fail(messages.MethodOfTensor(name=node.name, advice=advice, span=node.span))

    def slice(self, node: hir.SliceExpr) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else self.evaluate(p) for p in parts))

    def display(self, node: hir.Display) -> Any:
        items = self.expand(node.items)
        if node.kind == "tuple":
            return tuple(items)
        if node.kind == "set":
            if is_dynamic(items):
                self.needed_now("the members of a set", node.span)
            return self.python(node.span, set, items)
        return items

    def expand(self, nodes: Iterable[hir.Expr]) -> list[Any]:
        """The values of several expressions, `*xs` taken apart."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, hir.Star):
                values.extend(self.items_of(self.evaluate(node.value), node.span))
            else:
                values.append(self.evaluate(node))
        return values

    def dict_display(self, node: hir.DictDisplay) -> Any:
        made: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item)
            if key is None:
                made.update(value)
                continue
            name = self.evaluate(key)
            if is_dynamic(name):
                self.needed_now("a key of a dict", key.span)
            made[name] = value
        return made

    def format(self, node: hir.Format) -> str:
        text = ""
        for part in node.parts:
            if isinstance(part, str):
                text += part
                continue
            value, spec = self.evaluate(part[0]), part[2]
            if is_dynamic(value):
                self.needed_now("a value in an f-string", part[0].span)
            convert = _CONVERSIONS.get(part[1])
            value = value if convert is None else convert(value)
            form = "" if spec is None else self.evaluate(spec)
            text += self.python(node.span, format, value, form)
        return text

    def walrus(self, node: hir.Walrus) -> Any:
        value = self.evaluate(node.value)
        self.bind_name(node.name, value)
        return value

    def bind_name(self, name: str, value: Any) -> None:
        """Bind a name, and name a new graph value after it."""
        if isinstance(value, GraphValue) and not name.startswith(hir.INTERNAL):
            self.name_value(value, name)
            if self.b.recorder.exact:
                self.b.recorder.held.setdefault(name, value.value)
        self.frame.env[name] = value

    def name_value(self, value: GraphValue, name: str) -> None:
        """Name a value after the first variable that holds it."""
        made = value.value
        producer = made.producer()
        if producer is None or made in self.named or producer.op_type == "Constant":
            return
        if made in self.b.recorder.scope.made:
            self.named.add(made)
            self.b.recorder.rename(made, name)

    named: set[Any]

    def local_function(self, node: hir.LocalFunction) -> Closure:
        return Closure(node, self.frame)

    # -- operators ---------------------------------------------------------------------------------

    def unary(self, node: hir.Unary) -> Any:
        x = self.value(self.evaluate(node.operand))
        b = self.at(node.span)
        if isinstance(x, GraphValue):
            return arithmetic.unary(b, node.op, x)
        if node.op == "not_" and isinstance(x, (list, tuple, dict)):
            return not x
        if is_dynamic(x):
            return arithmetic.unary(b, node.op, as_value(b, x))
        return self.python(node.span, arithmetic.static_operator(node.op), x)

    def binary(self, node: hir.Binary) -> Any:
        x, y = self.evaluate(node.left), self.evaluate(node.right)
        return self.apply_binary(node.op, x, y, node.span)

    def apply_binary(self, op: str, x: Any, y: Any, span: Span) -> Any:
        """A Python operator on two evaluated operands."""
        b = self.at(span)
        x, y = self.value(x), self.value(y)
        if isinstance(x, GraphValue) or isinstance(y, GraphValue):
            return arithmetic.binary(b, op, x, y)
        x, y = (_array_of_proto(v) for v in (x, y))
        return self.python(span, arithmetic.static_operator(op), x, y)

    def comparison(self, node: hir.Comparison) -> Any:
        left = self.evaluate(node.first)
        result: Any = True
        for n, (op, right_node) in enumerate(zip(node.ops, node.rest, strict=True)):
            right = self.evaluate(right_node)
            one = self.compare(op, left, right, node.span)
            result = one if n == 0 else self.both("and", result, _always(one), node.span)
            if not is_dynamic(result) and not _truth(result):
                return result
            left = right
        return result

    def compare(self, op: str, x: Any, y: Any, span: Span) -> Any:
        """One comparison of two evaluated operands."""
        b = self.at(span)
        if op in ("is", "is_not"):
            same = self.identical(x, y, span)
            return same if op == "is" else not same
        if op in ("in", "not_in"):
            found = self.member(x, y, span)
            return found if op == "in" else self.negate(found)
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            if is_dynamic(x) or is_dynamic(y):
                return self.compare_items(op, x, y, span)
        if x is None or y is None:
            return op == "ne"
        x, y = self.value(x), self.value(y)
        if isinstance(x, GraphValue) or isinstance(y, GraphValue):
            return arithmetic.binary(b, op, x, y)
        if is_dynamic(x) or is_dynamic(y):
            x, y = (as_value(b, v) if is_dynamic(v) else v for v in (x, y))
            return arithmetic.binary(b, op, x, y)
        return self.python(span, arithmetic.static_operator(op), x, y)

    def compare_items(self, op: str, x: Any, y: Any, span: Span) -> Any:
        """Equality of two containers that hold run-time numbers."""
        if op not in ("eq", "ne"):
            self.needed_now("the order of two lists", span)
        result: Any = len(x) == len(y)
        if result:
            for left, right in zip(x, y, strict=True):
                one = self.compare("eq", left, right, span)
                result = self.both("and", result, _always(one), span)
        return result if op == "eq" else self.negate(result)

    def negate(self, x: Any) -> Any:
        """`not x`."""
        return arithmetic.unary(self.b, "not_", x) if isinstance(x, GraphValue) else not x

    def identical(self, x: Any, y: Any, span: Span) -> bool:
        for side, other in ((x, y), (y, x)):
            if isinstance(side, AttributeRef) and other is None:
                if side.optional:
                    advice = (
                        "give the attribute a value (`to_model_proto(attributes=...)`), "
                        "or let the call be inlined"
                    )
                    self.needed_now(f"whether `{side.name}` is None", span, advice)
                return False
        return x is y if not isinstance(x, GraphValue) else same_static(x, y)

    def member(self, x: Any, container: Any, span: Span) -> Any:
        """`x in container`, where x may be known only at run time."""
        if isinstance(container, GraphValue):
            equal = arithmetic.binary(self.b, "eq", container, x)
            flat = emit1(
                self.b, "Reshape", (cast(self.b, equal, DType.INT64), int_constant(self.b, [-1]))
            )
            most = emit1(self.b, "ReduceMax", (flat,), keepdims=0)
            return self.b.as_weak(cast(self.b, most, DType.BOOL), "bool")
        if not is_dynamic(x):
            if any(same_static(x, item) for item in _items(container)):
                return True
            if not is_dynamic(container):
                return self.python(span, lambda: x in container)
        result: Any = False
        for item in _items(container):
            one = self.compare("eq", x, item, span)
            result = self.both("or", result, _always(one), span)
        return result

    def logic(self, node: hir.Logic) -> Any:
        result = self.evaluate(node.operands[0])
        for operand in node.operands[1:]:
            result = self.both(
                node.op,
                result,
                functools.partial(self.evaluate, operand),
                node.span,
                may_fail=_may_fail(operand),
            )
        return result

    def both(
        self,
        op: str,
        left: Any,
        right: Callable[[], Any],
        span: Span,
        *,
        may_fail: bool = False,
    ) -> Any:
        """`left and right()` or `left or right()`, with Python's short circuit.

        What can fail at run time (indexing, calls) stands in a branch, so that it does not run
        where Python would not run it.
        """
        if not is_dynamic(left):
            stops = not _truth(left) if op == "and" else _truth(left)
            return left if stops else right()
        left = self.value(left)
        if isinstance(left, (list, tuple, dict)):
            return right() if bool(left) == (op == "and") else left
        b = self.at(span)
        if may_fail and rank_of(b, left) == 0:
            test = arithmetic.truth(b, left)
            if op == "and":
                return self.branch(test, right, lambda: left, span)
            return self.branch(test, lambda: left, right, span)
        other = self.value(right())
        b = self.at(span)
        if other is True and op == "and" and left.dtype is DType.BOOL:
            return left
        if other is False and op == "or" and left.dtype is DType.BOOL:
            return left
        return arithmetic.logical(b, op, left, other)

    def conditional(self, node: hir.Conditional) -> Any:
        test = self.evaluate(node.test)
        if not is_dynamic(test):
            return self.evaluate(node.then if _truth(test) else node.orelse)
        if isinstance(test, (list, tuple, dict)):
            return self.evaluate(node.then if test else node.orelse)
        cond = self.condition(test, node.test.span)
        return self.branch(
            cond, lambda: self.evaluate(node.then), lambda: self.evaluate(node.orelse), node.span
        )

    def condition(self, test: Any, span: Span, *, scalar: bool = False) -> GraphValue:
        """A run-time test as one BOOL (of rank 0 if `scalar`, else of one element)."""
        b = self.at(span)
        value = self.value(test)
        shape = shape_of(b, value)
        if isinstance(b.type_of(value), SequenceType):
            size = b.as_weak(emit1(b, "SequenceLength", (value,)), "int")
            longer: GraphValue = arithmetic.truth(b, size)
            return longer
        if shape is not None and any(isinstance(d, int) and d != 1 for d in shape):
            what = f"a tensor of shape {list(shape)}"
            fail(control_flow.NotACondition(what=what, span=span))
        made: GraphValue = arithmetic.truth(b, value)
        if shape if scalar else shape and None in shape:
            made = emit1(b, "Reshape", (made, int_constant(b, [])))
        return made

    # -- indexing and iteration --------------------------------------------------------------------

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
            made = subscript(b, b.as_weak(value, None), _map_index(index, self.value))
            return b.as_weak(made, weak)
        if not is_dynamic(index):
            return self.python(span, lambda: value[index])
        if isinstance(value, np.ndarray):
            return subscript(b, b.constant(value), _map_index(index, self.value))
        if isinstance(value, (list, tuple)) and is_number_like(value) and len(value):
            weak = plain_kind(value)
            table = b.constant(np.array(list(value)))
            made = subscript(b, table, _map_index(index, self.value))
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
        try:
            return [self.import_value(v) for v in value]
        except TypeError:
            fail(control_flow.NotIterable(what=describe(value), span=span))

    def comprehension(self, node: hir.Comprehension) -> Any:
        pairs: list[tuple[Any, Any]] = []
        bound = [n for clause in node.clauses for n in target_names(clause.target)]
        saved = {n: self.frame.env[n] for n in bound if n in self.frame.env}
        self._clauses(node, 0, pairs)
        for n in bound:
            self.frame.env.pop(n, None)
        self.frame.env.update(saved)
        if node.kind == "dict":
            return dict(pairs)
        items = [element for element, _ in pairs]
        return self.python(node.span, set, items) if node.kind == "set" else items

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
                keep = keep and _truth(value)
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
                    what=_what(value),
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

    def bind_item(self, target: hir.ItemTarget, value: Any) -> None:
        """`container[index] = value` on a static list or dict: the name gets a changed copy."""
        container = self.frame.lookup(target.id, target.span)
        index = self.evaluate(target.index)
        if isinstance(container, (list, dict)) and not is_dynamic(index):
            changed = container.copy()
            self.python(target.span, changed.__setitem__, index, value)
            self.frame.env[target.id] = changed
            return
        advice = "`op.ScatterElements`, `op.ScatterND` or `op.Where` make a changed copy"
        construct = f"a part of `{target.id}`"
        fail(syntax.UnsupportedTarget(construct=construct, advice=advice, span=target.span))


def _array_of_proto(x: Any) -> Any:
    """A TensorProto as the array it holds, for Python to compute with."""
    return own_array(x) if type(x).__name__ == "TensorProto" else x


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value


def _map_index(index: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(index, tuple) and not isinstance(index, ShapeTuple):
        return tuple(_map_index(item, function) for item in index)
    if isinstance(index, slice):
        return slice(*(function(p) for p in (index.start, index.stop, index.step)))
    return function(index)


def _items(container: Any) -> list[Any]:
    if isinstance(container, (list, tuple, set, frozenset, dict)):
        return list(container)
    return []


def _truth(x: Any) -> bool:
    try:
        return bool(x)
    except ValueError:
        what = f"an array of {getattr(x, 'size', 'several')} elements"
        fail(control_flow.NotACondition(what=what))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _what(x: Any) -> str:
    if isinstance(x, GraphValue):
        return "this tensor"
    name = getattr(x, "__name__", None)
    if type(x).__name__ == "module":
        return f"module `{name}`"
    return describe(x)


def _may_fail(node: object) -> bool:
    """Whether an expression can fail at run time: it indexes or calls something."""
    if isinstance(node, (hir.Subscript, hir.Call)):
        return True
    if isinstance(node, hir.Binary) and node.op in ("floordiv", "mod", "truediv"):
        return True
    return any(_may_fail(child) for child in hir.children(node))


_EVALUATE: dict[type, Callable[[Any, Any], Any]] = {
    hir.Name: Expressions.name,
    hir.Literal: Expressions.literal,
    hir.Attribute: Expressions.attribute,
    hir.Subscript: Expressions.subscript,
    hir.SliceExpr: Expressions.slice,
    hir.Display: Expressions.display,
    hir.DictDisplay: Expressions.dict_display,
    hir.Unary: Expressions.unary,
    hir.Binary: Expressions.binary,
    hir.Comparison: Expressions.comparison,
    hir.Logic: Expressions.logic,
    hir.Conditional: Expressions.conditional,
    hir.Walrus: Expressions.walrus,
    hir.Format: Expressions.format,
    hir.Comprehension: Expressions.comprehension,
    hir.LocalFunction: Expressions.local_function,
}
