"""Lowering of comparisons, `and`, `or`, ternaries and conditions, with Python's short circuit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import walrus_names
from onnxwright.converter.base import Base, always, static_truth
from onnxwright.converter.regions import Region
from onnxwright.converter.values import (
    AttributeRef,
    is_dynamic,
    same_static,
)
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import (
    as_value,
    cast,
    emit1,
    int_constant,
    rank_of,
    shape_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType

# Longer chains of `elif` and of ternaries become balanced trees.
CHAIN_LIMIT = 12


class Logic(Base):
    """Evaluates what is true or false."""

    def comparison(self, node: hir.Comparison) -> Any:
        left = self.evaluate(node.first)
        result: Any = True
        for n, (op, right_node) in enumerate(zip(node.ops, node.rest, strict=True)):
            right = self.evaluate(right_node)
            one = self.compare(op, left, right, node.span)
            result = one if n == 0 else self.both("and", result, always(one), node.span)
            if not is_dynamic(result) and not static_truth(result):
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
                result = self.both("and", result, always(one), span)
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
            result = self.both("or", result, always(one), span)
        return result

    def logic(self, node: hir.Logic) -> Any:
        result = self.evaluate(node.operands[0])
        for operand in node.operands[1:]:
            result = self.both(
                node.op,
                result,
                functools.partial(self.evaluate, operand),
                node.span,
                may_fail=may_fail(operand),
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
            stops = not static_truth(left) if op == "and" else static_truth(left)
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
        with self.regions.inside(Region("this condition", span)):
            other = self.value(right())
        b = self.at(span)
        if other is True and op == "and" and left.dtype is DType.BOOL:
            return left
        if other is False and op == "or" and left.dtype is DType.BOOL:
            return left
        self.warn_elementwise(op, (left, other), span)
        return arithmetic.logical(b, op, left, other)

    def reached(self, tests: list[hir.Expr]) -> tuple[list[int], list[GraphValue]]:
        """Which arms of a chain can be reached, and for each whether it or one before it is.

        Tests run in order and, where they can fail, only if none before them was true.

        Returns:
            The numbers of the arms, the last one without a test of its own; and for the others
            one BOOL each: some test up to this one is true.
        """
        known: list[int] = []
        bounds: list[GraphValue] = []
        for n, test in enumerate(tests):
            span = test.span

            def truth(test: hir.Expr = test) -> Any:
                value = self.evaluate(test)
                if not is_dynamic(value) or isinstance(value, (list, tuple, dict)):
                    return self.python(test.span, bool, value)
                return self.condition(value, test.span, scalar=True)

            if not bounds:
                found = truth()
            elif may_fail(test):
                found = self.both("or", bounds[-1], truth, span, may_fail=True)
            else:
                with self.regions.inside(Region("this condition", span)):
                    found = truth()
                if isinstance(found, GraphValue):
                    found = emit1(self.at(span), "Or", (bounds[-1], found))
            if isinstance(found, GraphValue):
                known.append(n)
                bounds.append(self.b.as_weak(found, None))
            elif found:
                return [*known, n], bounds
        return [*known, len(tests)], bounds

    def flat_conditional(self, tests: list[hir.Expr], results: list[hir.Expr], span: Span) -> Any:
        """A long chain of ternaries as a balanced tree."""
        known, bounds = self.reached(tests)

        def one_of(low: int, high: int) -> Any:
            if low == high:
                return self.evaluate(results[known[low]])
            middle = (low + high) // 2
            first = functools.partial(one_of, low, middle)
            return self.branch(bounds[middle], first, lambda: one_of(middle + 1, high), span)

        return one_of(0, len(known) - 1)

    def conditional(self, node: hir.Conditional) -> Any:
        tests, results = [node.test], [node.then]
        last: hir.Expr = node.orelse
        while isinstance(last, hir.Conditional) and not walrus_names(last.test):
            tests.append(last.test)
            results.append(last.then)
            last = last.orelse
        if len(tests) > CHAIN_LIMIT:
            return self.flat_conditional(tests, [*results, last], node.span)
        test = self.evaluate(node.test)
        if not is_dynamic(test):
            return self.evaluate(node.then if static_truth(test) else node.orelse)
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


def _items(container: Any) -> list[Any]:
    if isinstance(container, (list, tuple, set, frozenset, dict)):
        return list(container)
    return []


def may_fail(node: object) -> bool:
    """Whether an expression can fail at run time: it indexes or calls something."""
    if isinstance(node, (hir.Subscript, hir.Call)):
        return True
    if isinstance(node, hir.Binary) and node.op in ("floordiv", "mod", "truediv"):
        return True
    return any(may_fail(child) for child in hir.children(node))
