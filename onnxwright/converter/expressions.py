"""Lowering of expressions: Python computes what is known now, the semantics build the rest."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.base import what_it_is
from onnxwright.converter.frame import COMPREHENSION, Frame
from onnxwright.converter.items import Items
from onnxwright.converter.logic import Logic
from onnxwright.converter.values import (
    AttributeRef,
    Closure,
    ShapeTuple,
    is_dynamic,
    shape_of_value,
)
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.catalogue import types
from onnxwright.diagnostics.diagnostic import fail, located, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    as_value,
    emit1,
    own_array,
    rank_of,
    shape_of,
)
from onnxwright.types.initializers import Initializer

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


class Expressions(Logic, Items):
    """Evaluates HIR expressions in a frame."""

    def evaluate(self, node: hir.Expr, wanted: int | None = None) -> Any:
        """The value of an expression: a Python object, a graph value, or a container of both."""
        self.b.span = node.span
        if isinstance(node, hir.Call):
            return self.call(node, wanted)
        return _EVALUATE[type(node)](self, node)

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
                    what=what_it_is(value), name=node.name, advice=advice, span=node.span
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
            return self.regions.own(self.python(node.span, set, items))
        return self.regions.own(items)

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
        return self.regions.own(made)

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
        inner = self.frame
        while self.frame.name == COMPREHENSION and isinstance(self.frame.outer, Frame):
            self.frame = self.frame.outer
        self.bind_name(node.name, value)
        self.frame = inner
        return value

    def bind_name(self, name: str, value: Any) -> None:
        """Bind a name, and name a new graph value after it."""
        if isinstance(value, GraphValue) and not name.startswith(hir.INTERNAL):
            self.name_value(value, name)
            if self.b.recorder.exact:
                self.b.recorder.name_owner.setdefault(name, value.value)
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
        return self.closure(node)

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
        if node.inplace and isinstance(x, (list, dict, set, deque)):
            return self.changed_in_place(node, x, y)
        return self.apply_binary(node.op, x, y, node.span)

    def changed_in_place(self, node: hir.Binary, x: Any, y: Any) -> Any:
        """`xs += ys` on a Python container, which changes the container itself."""
        name = node.left.id if isinstance(node.left, hir.Name) else ""
        y = self.items_of(y, node.span) if isinstance(x, (list, deque)) else y
        change = getattr(operator, f"i{node.op.rstrip('_')}")
        return self.change_container(name, x, node.span, lambda held: change(held, y))

    def apply_binary(self, op: str, x: Any, y: Any, span: Span) -> Any:
        """A Python operator on two evaluated operands."""
        b = self.at(span)
        x, y = self.value(x), self.value(y)
        if isinstance(x, GraphValue) or isinstance(y, GraphValue):
            if op == "mod" and any(_is_floating(v) for v in (x, y)):
                warn(types.RemainderSign(span=span))
            return arithmetic.binary(b, op, x, y)
        x, y = (array_of_proto(v) for v in (x, y))
        return self.python(span, arithmetic.static_operator(op), x, y)


def _is_floating(x: Any) -> bool:
    dtype = x.dtype if isinstance(x, GraphValue) else None
    return dtype is not None and dtype.is_float


def array_of_proto(x: Any) -> Any:
    """A TensorProto as the array it holds, for Python to compute with."""
    return own_array(x) if type(x).__name__ == "TensorProto" else x


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


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
