"""Lowering of comparisons, `and`, `or`, ternaries and conditions, with Python's short circuit."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.names import walrus_names
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.run_time_lists import RunTimeList, has_items
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.branches import chosen_value
from onnxwright.converter.lower.values import AttributeRef, is_dynamic, same_static
from onnxwright.diagnostics.catalogue import control_flow, types
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.span import Span
from onnxwright.semantics import arithmetic
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, cast, emit1, int_constant, rank_of, shape_of
from onnxwright.semantics.operands import truth
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, SequenceType

# Longer chains of `elif` and of ternaries become balanced trees.
CHAIN_LIMIT = 12


def warn_elementwise(low: Lowering, operation: str, values: Iterable[Any], span: Span) -> None:
    """Say that what Python would refuse is done element by element in the model."""
    for value in values:
        shape = shape_of(low.b, value) if isinstance(value, GraphValue) else None
        if shape and any(d != 1 for d in shape):
            warn(types.ElementwiseChoice(operation=operation, span=span))
            return


def always(value: Any) -> Callable[[], Any]:
    """A function that gives `value`."""
    return lambda: value


def static_truth(x: Any) -> bool:
    """The truth value in Python of an object known now; an array of several elements has none."""
    try:
        return bool(x)
    except ValueError:
        what = f"an array of {getattr(x, 'size', 'several')} elements"
        fail(control_flow.NotACondition(what=what))


def evaluate_comparison(low: Lowering, node: hir.Comparison) -> Any:
    """`a < b < c`: each operand is evaluated once."""
    left = low.evaluate(node.first)
    result: Any = True
    for n, (op, right_node) in enumerate(zip(node.ops, node.rest, strict=True)):
        right = low.evaluate(right_node)
        one = compare(low, op, left, right, node.span)
        result = one if n == 0 else short_circuit(low, "and", result, always(one), node.span)
        if not is_dynamic(result) and not static_truth(result):
            return result
        left = right
    return result


def compare(low: Lowering, op: str, x: Any, y: Any, span: Span) -> Any:
    """One comparison of two evaluated operands."""
    b = low.at(span)
    if op in ("is", "is_not"):
        same = identical(low, x, y, span)
        return same if op == "is" else negate(low, same)
    if op in ("in", "not_in"):
        result = membership(low, x, y, span)
        return result if op == "in" else negate(low, result)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if is_dynamic(x) or is_dynamic(y):
            return compare_items(low, op, x, y, span)
    if (x is None or y is None) and op in ("eq", "ne"):
        same = identical(low, x, y, span)
        return same if op == "eq" else negate(low, same)
    x, y = low.value(x), low.value(y)
    if isinstance(x, GraphValue) or isinstance(y, GraphValue):
        return arithmetic.binary(b, op, x, y)
    if is_dynamic(x) or is_dynamic(y):
        x, y = (as_value(b, v) if is_dynamic(v) else v for v in (x, y))
        return arithmetic.binary(b, op, x, y)
    return low.python(span, arithmetic.static_operator(op), x, y)


def compare_items(low: Lowering, op: str, x: Any, y: Any, span: Span) -> Any:
    """Equality of two containers that hold run-time numbers."""
    if op not in ("eq", "ne"):
        low.needed_now("the order of two lists", span)
    result: Any = len(x) == len(y)
    if result:
        for left, right in zip(x, y, strict=True):
            one = compare(low, "eq", left, right, span)
            result = short_circuit(low, "and", result, always(one), span)
    return result if op == "eq" else negate(low, result)


def negate(low: Lowering, x: Any) -> Any:
    """`not x`."""
    return arithmetic.unary(low.b, "not_", x) if isinstance(x, GraphValue) else not x


def identical(low: Lowering, x: Any, y: Any, span: Span) -> Any:
    """`x is y`; whether an attribute parameter is None, or True.

    Raises:
        ScriptValueError: a value of the graph is compared with a number, `True` or text (OW320).
    """
    for side, other in ((x, y), (y, x)):
        if (
            isinstance(side, AttributeRef)
            and side.kind is AttrKind.BOOL
            and isinstance(other, bool)
        ):
            held = low.value(side)
            return held if other else negate(low, held)
        if isinstance(side, (GraphValue, AttributeRef)) and isinstance(other, _NUMBERS):
            _refuse_identity(side, other, span)
        if isinstance(side, AttributeRef) and other is None:
            if side.optional:
                advice = (
                    "give the attribute a value (`to_model_proto(attributes=...)`), "
                    "or let the call be inlined"
                )
                low.needed_now(f"whether `{side.name}` is None", span, advice)
            return False
    return x is y if not isinstance(x, GraphValue) else same_static(x, y)


_NUMBERS = (bool, int, float, complex, str, bytes)


def _refuse_identity(side: GraphValue | AttributeRef, constant: Any, span: Span) -> NoReturn:
    """Refuse `x is True`, which Python finds false for every tensor."""
    what = f"`{side.name}`" if isinstance(side, AttributeRef) else "a tensor"
    advice = f"compare values: `x == {constant!r}`"
    if isinstance(constant, bool):
        advice = f"test the value: `if {'x' if constant else 'not x'}:`"
    fail(
        control_flow.IdentityOfTensor(what=what, constant=repr(constant), advice=advice, span=span)
    )


def membership(low: Lowering, x: Any, container: Any, span: Span) -> Any:
    """`x in container`, where x may be known only at run time."""
    if isinstance(container, GraphValue):
        equal = arithmetic.binary(low.b, "eq", container, x)
        flat = emit1(low.b, "Reshape", (cast(low.b, equal, DType.INT64), int_constant(low.b, [-1])))
        most = emit1(low.b, "ReduceMax", (flat,), keepdims=0)
        return low.b.as_weak(cast(low.b, most, DType.BOOL), "bool")
    if not is_dynamic(x):
        if any(same_static(x, item) for item in _items(container)):
            return True
        if not is_dynamic(container):
            return low.python(span, operator.contains, container, x)
    result: Any = False
    for item in _items(container):
        one = compare(low, "eq", x, item, span)
        result = short_circuit(low, "or", result, always(one), span)
    return result


def evaluate_logic(low: Lowering, node: hir.Logic) -> Any:
    """`a and b and c` or `a or b or c`."""
    result = low.evaluate(node.operands[0])
    for operand in node.operands[1:]:
        result = short_circuit(
            low,
            node.op,
            result,
            functools.partial(low.evaluate, operand),
            node.span,
            may_fail=may_fail(operand),
        )
    return result


def short_circuit(
    low: Lowering,
    op: str,
    left: Any,
    right: Callable[[], Any],
    span: Span,
    *,
    may_fail: bool = False,
) -> Any:
    """`left and right()` or `left or right()`, with Python's short circuit.

    What can fail at run time (indexing, calls) goes into a branch, so that it does not run
    where Python would not run it.
    """
    if not is_dynamic(left):
        stops = not static_truth(left) if op == "and" else static_truth(left)
        return left if stops else right()
    left = has_items(low.at(span), left) if isinstance(left, RunTimeList) else low.value(left)
    if isinstance(left, (list, tuple, dict)):
        return right() if bool(left) == (op == "and") else left
    b = low.at(span)
    if may_fail and rank_of(b, left) == 0:
        test = truth(b, left)
        if op == "and":
            return chosen_value(low, test, right, lambda: left, span)
        return chosen_value(low, test, lambda: left, right, span)
    with low.regions.inside(Region("this condition", span)):
        other = low.value(right())
    b = low.at(span)
    if other is True and op == "and" and left.dtype is DType.BOOL:
        return left
    if other is False and op == "or" and left.dtype is DType.BOOL:
        return left
    warn_elementwise(low, op, (left, other), span)
    return arithmetic.logical(b, op, left, other)


def reached_arms(
    low: Lowering,
    tests: list[hir.Expr],
    before: Callable[[int], None] = lambda _: None,
    after: Callable[[], None] = lambda: None,
) -> tuple[list[int], list[GraphValue]]:
    """Which arms of a chain can be reached, and for each whether it or one before it is.

    Tests run in order and, where they can fail, only if none before them was true.

    Args:
        before: runs what is before a test, given its number.
        after: called when a test is evaluated.

    Returns:
        The numbers of the arms, the last one without a test of its own; and for the others
        one BOOL each: some test up to this one is true.
    """
    decided: list[int] = []
    bounds: list[GraphValue] = []
    for n, test in enumerate(tests):
        span = test.span

        def truth(test: hir.Expr = test, n: int = n) -> Any:
            before(n)
            value = low.evaluate(test)
            after()
            if not is_dynamic(value) or isinstance(value, (list, tuple, dict)):
                return low.python(test.span, bool, value)
            return run_time_condition(low, value, test.span, scalar=True)

        if not bounds:
            reached = truth()
        elif may_fail(test):
            reached = short_circuit(low, "or", bounds[-1], truth, span, may_fail=True)
        else:
            with low.regions.inside(Region("this condition", span)):
                reached = truth()
            if isinstance(reached, GraphValue):
                reached = emit1(low.at(span), "Or", (bounds[-1], reached))
        if isinstance(reached, GraphValue):
            decided.append(n)
            bounds.append(low.b.as_weak(reached, None))
        elif reached:
            return [*decided, n], bounds
    return [*decided, len(tests)], bounds


def flat_conditional(
    low: Lowering, tests: list[hir.Expr], results: list[hir.Expr], span: Span
) -> Any:
    """A long chain of ternaries as a balanced tree."""
    decided, bounds = reached_arms(low, tests)

    def one_of(first: int, last: int) -> Any:
        if first == last:
            return low.evaluate(results[decided[first]])
        middle = (first + last) // 2
        lower = functools.partial(one_of, first, middle)
        return chosen_value(low, bounds[middle], lower, lambda: one_of(middle + 1, last), span)

    return one_of(0, len(decided) - 1)


def evaluate_conditional(low: Lowering, node: hir.Conditional) -> Any:
    """`a if test else b`."""
    tests, results = [node.test], [node.then]
    last: hir.Expr = node.orelse
    while isinstance(last, hir.Conditional) and not walrus_names(last.test):
        tests.append(last.test)
        results.append(last.then)
        last = last.orelse
    if len(tests) > CHAIN_LIMIT:
        return flat_conditional(low, tests, [*results, last], node.span)
    test = low.evaluate(node.test)
    if not is_dynamic(test):
        return low.evaluate(node.then if static_truth(test) else node.orelse)
    if isinstance(test, (list, tuple, dict)):
        return low.evaluate(node.then if test else node.orelse)
    cond = run_time_condition(low, test, node.test.span)
    return chosen_value(
        low, cond, lambda: low.evaluate(node.then), lambda: low.evaluate(node.orelse), node.span
    )


def run_time_condition(low: Lowering, test: Any, span: Span, *, scalar: bool = False) -> GraphValue:
    """A run-time test as one BOOL (of rank 0 if `scalar`, else of one element)."""
    b = low.at(span)
    if isinstance(test, RunTimeList):
        return has_items(b, test)
    value = low.value(test)
    shape = shape_of(b, value)
    if isinstance(b.type_of(value), SequenceType):
        size = b.as_weak(emit1(b, "SequenceLength", (value,)), "int")
        longer: GraphValue = truth(b, size)
        return longer
    if shape is not None and any(d is not None and d != 1 for d in shape):
        sizes = ", ".join("?" if d is None else str(d) for d in shape)
        what = f"a tensor of shape [{sizes}]"
        fail(control_flow.NotACondition(what=what, span=span))
    flag: GraphValue = truth(b, value)
    if shape if scalar else shape and None in shape:
        flag = emit1(b, "Reshape", (flag, int_constant(b, [])))
    return flag


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
