"""Loops of decompiled scripts: one Loop node each, with what it carries as given.

Nothing is found out by lowering twice: the names a loop carries, their order, and how its
condition is made come from the statement, or else from the plan of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.names import target_names
from onnxwright.converter.lower.loops.carried import AnyLoop
from onnxwright.converter.lower.loops.lowering import for_loop, while_loop
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import bind_target
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

_USUAL = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT}
_CARRIED = (GraphValue, *_USUAL)
_FLAG = TensorType(DType.BOOL, ())
_NUMBER = TensorType(DType.INT64, ())


def execute_for(low: Lowering, s: hir.For) -> None:
    """A `for` as one Loop as it is written; as usual where it is not a `range` of a value."""
    if not _for(low, s):
        for_loop(low, s)


def execute_while(low: Lowering, s: hir.While) -> None:
    """A `while` as one Loop as it is written; as usual where its test is known when compiling."""
    if not _while(low, s):
        while_loop(low, s)


def _for(low: Lowering, s: hir.For) -> bool:
    """`for i in range(n)` as one Loop; False where the statement says something else."""
    trip = _trip_count(low, s.iterable)
    if trip is None:
        return False
    form = _form(low)
    first: GraphValue | None = None
    if s.keep:
        assert s.broken is not None
        first = low.frame.env.get(s.broken)
        if not isinstance(first, GraphValue):
            return False
    elif form.get("first", "true") not in ("true", "absent"):
        first = low.frame.lookup(form["first"], s.span)

    def go_on(flag: GraphValue) -> GraphValue | None:
        if s.until is not None:
            return _until(low, s.until)
        if s.broken is not None:
            broken: GraphValue = low.frame.env[s.broken]
            return broken
        return None

    def start(number: GraphValue, flag: GraphValue) -> None:
        bind_target(low, s.target, number)
        if s.keep:
            low.frame.env[s.broken or ""] = flag

    body = _body(low, s, form, start, go_on)
    if first is None and form.get("first", "true") == "true":
        first = low.at(s.span).constant(np.array(True))
    _emit_loop(low, s, trip, first, *body)
    return True


def _while(low: Lowering, s: hir.While) -> bool:
    """`while` as one Loop; a name alone is its condition, another test is computed twice."""
    named = s.test.id if isinstance(s.test, hir.Name) else None
    first = low.evaluate(s.test)
    if not isinstance(first, GraphValue):
        return False
    form = _form(low)

    def start(number: GraphValue, flag: GraphValue) -> None:
        if named is not None:
            low.frame.env[named] = flag

    def go_on(flag: GraphValue) -> GraphValue:
        condition: GraphValue = low.evaluate(s.test)
        return condition

    body = _body(low, s, form, start, go_on, named)
    _emit_loop(low, s, None, first, *body)
    return True


# -- parts -----------------------------------------------------------------------------------------


def _form(low: Lowering) -> dict[str, Any]:
    """What the plan says of the next loop."""
    n, low.loops_done = low.loops_done, low.loops_done + 1
    return dict(low.plan.loops[n]) if n < len(low.plan.loops) else {}


def _trip_count(low: Lowering, node: hir.Expr) -> GraphValue | None:
    """The argument of `range(n)`."""
    if not isinstance(node, hir.Call) or not isinstance(node.func, hir.Name):
        return None
    if len(node.args) != 1 or node.keywords:
        return None
    if low.frame.lookup(node.func.id, node.func.span) is not range:
        return None
    count = low.value(low.evaluate(node.args[0]))
    if isinstance(count, GraphValue):
        return count
    if type(count) is not int:
        return None
    count_value: GraphValue = as_value(low.at(node.span), count, dtype=DType.INT64)
    return count_value


def _until(low: Lowering, test: hir.Expr) -> GraphValue:
    """What is true as long as a test for the end is not."""
    if isinstance(test, hir.Unary) and test.op == "not_":
        condition: GraphValue = low.evaluate(test.operand)
        return condition
    done = low.evaluate(test)
    recorder = low.b.recorder
    (value,) = recorder.node("", "Not", [done.value], [], 1, sugar=False)
    recorder.set_type(value, _FLAG)
    return low.b.wrap(value, _FLAG)


def _unchanged(low: Lowering, flag: GraphValue, how: str) -> GraphValue:
    """The condition of the next iteration where nothing decides it."""
    b = low.b
    condition: GraphValue = flag
    if how == "true":
        condition = b.constant(np.array(True))
    elif how == "identity" and not b.recorder.copies:
        (copy,) = b.recorder.node("", "Identity", [flag.value], [], 1, sugar=False)
        b.recorder.set_type(copy, _FLAG)
        condition = b.wrap(copy, _FLAG)
    return condition


def _body(
    low: Lowering,
    s: AnyLoop,
    form: dict[str, Any],
    start: Callable[[GraphValue, GraphValue], None],
    go_on: Callable[[GraphValue], GraphValue | None],
    condition: str | None = None,
) -> tuple[ir.Graph, list[str], list[Any]]:
    """The body's graph, the names it carries, and the values they start with."""
    b, recorder, before = low.b, low.b.recorder, low.frame.env
    own = {*(target_names(s.target) if isinstance(s, hir.For) else ()), s.broken, condition}
    usual = [n for n in s.carried if n not in own and isinstance(before.get(n), _CARRIED)]
    names: list[str] = list(form.get("carried", usual))
    inits = [before[name] for name in names]
    recorder.push()
    try:
        low.frame.env = dict(before)
        number = b.wrap(recorder.input("iter_num", _NUMBER, held=False), _NUMBER)
        flag = b.wrap(recorder.input("cond_in", _FLAG, held=False), _FLAG)
        for name, init in zip(names, inits, strict=True):
            kind = _any_shape(init)
            low.frame.env[name] = b.wrap(recorder.input(name, kind, held=False), kind)
        start(number, flag)
        low.execute(s.body)
        again = go_on(flag)
        results = [_carried(low, low.frame.env[name]) for name in names]
        if again is None:
            again = _unchanged(low, flag, form.get("again", "identity"))
        graph = recorder.pop([again.value, *(v.value for v in results)], "body")
    except BaseException:
        recorder.drop()
        raise
    finally:
        low.frame.env = before
    recorder.branch_of[graph.name or ""] = "body"
    return graph, names, inits


def _carried(low: Lowering, x: Any) -> GraphValue:
    return x if isinstance(x, GraphValue) else as_value(low.b, x, dtype=_USUAL[type(x)])


def _emit_loop(
    low: Lowering,
    s: AnyLoop,
    trip: GraphValue | None,
    first: GraphValue | None,
    graph: ir.Graph,
    names: list[str],
    starts: list[Any],
) -> None:
    b = low.at(s.span)
    inits = [_carried(low, x) for x in starts]
    inputs = [None if v is None else v.value for v in (trip, first, *inits)]
    attribute = ir.Attr("body", ir.AttributeType.GRAPH, graph)
    outputs = b.recorder.node("", "Loop", inputs, [attribute], len(names), sugar=False)
    b.recorder.use_opset("", b.opset.version, s.span)
    for name, value, init in zip(names, outputs, inits, strict=True):
        kind = _any_shape(init)
        b.recorder.set_type(value, kind)
        low.frame.env[name] = b.wrap(value, kind)


def _any_shape(start: Any) -> OnnxType | None:
    """The type of a carried value, which may change its shape from one iteration to the next."""
    kind = start.kind if isinstance(start, GraphValue) else TensorType(_USUAL[type(start)], ())
    return TensorType(kind.dtype) if isinstance(kind, TensorType) else kind
