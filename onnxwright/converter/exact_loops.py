"""Loops of Python that stands for a given model: one Loop node each, with what it carries as given.

Nothing is found out by lowering twice: the names a loop carries, their order, and how its
condition is made come from the statement, or else from the plan of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.carried import AnyLoop
from onnxwright.converter.context import ExactPlan
from onnxwright.converter.loops import Loops
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

_USUAL = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT}
_CARRIED = (GraphValue, *_USUAL)
_FLAG = TensorType(DType.BOOL, ())
_NUMBER = TensorType(DType.INT64, ())


class ExactLoops(Loops):
    """Lowers the loops of an exact function."""

    plan = ExactPlan()
    loops_done = 0

    def exact_for(self, s: hir.For) -> bool:
        """`for i in range(n)` as one Loop; False where the statement says something else."""
        trip = self._trip_count(s.iterable)
        if trip is None:
            return False
        form = self._form()
        first: GraphValue | None = None
        if s.keep:
            assert s.broken is not None
            first = self.frame.env.get(s.broken)
            if not isinstance(first, GraphValue):
                return False
        elif form.get("first", "true") not in ("true", "absent"):
            first = self.frame.lookup(form["first"], s.span)

        def go_on(flag: GraphValue) -> GraphValue | None:
            if s.until is not None:
                return self._until(s.until)
            if s.broken is not None:
                made: GraphValue = self.frame.env[s.broken]
                return made
            return None

        def start(number: GraphValue, flag: GraphValue) -> None:
            self.bind(s.target, number)
            if s.keep:
                self.frame.env[s.broken or ""] = flag

        body = self._exact_body(s, form, start, go_on)
        if first is None and form.get("first", "true") == "true":
            first = self.at(s.span).constant(np.array(True))
        self._exact_node(s, trip, first, *body)
        return True

    def exact_while(self, s: hir.While) -> bool:
        """`while` as one Loop; a name alone is its condition, another test is computed twice."""
        named = s.test.id if isinstance(s.test, hir.Name) else None
        first = self.evaluate(s.test)
        if not isinstance(first, GraphValue):
            return False
        form = self._form()

        def start(number: GraphValue, flag: GraphValue) -> None:
            if named is not None:
                self.frame.env[named] = flag

        def go_on(flag: GraphValue) -> GraphValue:
            made: GraphValue = self.evaluate(s.test)
            return made

        body = self._exact_body(s, form, start, go_on, named)
        self._exact_node(s, None, first, *body)
        return True

    # -- parts -------------------------------------------------------------------------------------

    def _form(self) -> dict[str, Any]:
        """What the plan says of the next loop."""
        n, self.loops_done = self.loops_done, self.loops_done + 1
        return dict(self.plan.loops[n]) if n < len(self.plan.loops) else {}

    def _trip_count(self, node: hir.Expr) -> GraphValue | None:
        """The argument of `range(n)`."""
        if not isinstance(node, hir.Call) or not isinstance(node.func, hir.Name):
            return None
        if len(node.args) != 1 or node.keywords:
            return None
        if self.frame.lookup(node.func.id, node.func.span) is not range:
            return None
        count = self.value(self.evaluate(node.args[0]))
        if isinstance(count, GraphValue):
            return count
        if type(count) is not int:
            return None
        made: GraphValue = as_value(self.at(node.span), count, dtype=DType.INT64)
        return made

    def _until(self, test: hir.Expr) -> GraphValue:
        """What is true as long as a test for the end is not."""
        if isinstance(test, hir.Unary) and test.op == "not_":
            made: GraphValue = self.evaluate(test.operand)
            return made
        done = self.evaluate(test)
        recorder = self.b.recorder
        (value,) = recorder.node("", "Not", [done.value], [], 1, sugar=False)
        recorder.set_type(value, _FLAG)
        return self.b.wrap(value, _FLAG)

    def _unchanged(self, flag: GraphValue, how: str) -> GraphValue:
        """The condition of the next turn where nothing decides it."""
        b = self.b
        made: GraphValue = flag
        if how == "true":
            made = b.constant(np.array(True))
        elif how == "identity" and not b.recorder.copies:
            (copy,) = b.recorder.node("", "Identity", [flag.value], [], 1, sugar=False)
            b.recorder.set_type(copy, _FLAG)
            made = b.wrap(copy, _FLAG)
        return made

    def _exact_body(
        self,
        s: AnyLoop,
        form: dict[str, Any],
        start: Callable[[GraphValue, GraphValue], None],
        go_on: Callable[[GraphValue], GraphValue | None],
        condition: str | None = None,
    ) -> tuple[ir.Graph, list[str], list[Any]]:
        """The body's graph, the names it carries, and the values they start with."""
        b, recorder, before = self.b, self.b.recorder, self.frame.env
        own = {*(target_names(s.target) if isinstance(s, hir.For) else ()), s.broken, condition}
        usual = [n for n in s.carried if n not in own and isinstance(before.get(n), _CARRIED)]
        names: list[str] = list(form.get("carried", usual))
        inits = [before[name] for name in names]
        recorder.push()
        try:
            self.frame.env = dict(before)
            number = b.wrap(recorder.input("iter_num", _NUMBER, held=False), _NUMBER)
            flag = b.wrap(recorder.input("cond_in", _FLAG, held=False), _FLAG)
            for name, init in zip(names, inits, strict=True):
                kind = _any_shape(init)
                self.frame.env[name] = b.wrap(recorder.input(name, kind, held=False), kind)
            start(number, flag)
            self.block(s.body)
            again = go_on(flag)
            results = [self._carried(self.frame.env[name]) for name in names]
            if again is None:
                again = self._unchanged(flag, form.get("again", "identity"))
            graph = recorder.pop([again.value, *(v.value for v in results)], "body")
        except BaseException:
            recorder.drop()
            raise
        finally:
            self.frame.env = before
        recorder.branch_of[graph.name or ""] = "body"
        return graph, names, inits

    def _carried(self, x: Any) -> GraphValue:
        return x if isinstance(x, GraphValue) else as_value(self.b, x, dtype=_USUAL[type(x)])

    def _exact_node(
        self,
        s: AnyLoop,
        trip: GraphValue | None,
        first: GraphValue | None,
        graph: ir.Graph,
        names: list[str],
        starts: list[Any],
    ) -> None:
        b = self.at(s.span)
        inits = [self._carried(x) for x in starts]
        inputs = [None if v is None else v.value for v in (trip, first, *inits)]
        attribute = ir.Attr("body", ir.AttributeType.GRAPH, graph)
        made = b.recorder.node("", "Loop", inputs, [attribute], len(names), sugar=False)
        b.recorder.use_opset("", b.opset.version, s.span)
        for name, value, init in zip(names, made, inits, strict=True):
            kind = _any_shape(init)
            b.recorder.set_type(value, kind)
            self.frame.env[name] = b.wrap(value, kind)


def _any_shape(start: Any) -> OnnxType | None:
    """The type of a carried value, which may change its shape from turn to turn."""
    kind = start.kind if isinstance(start, GraphValue) else TensorType(_USUAL[type(start)], ())
    return TensorType(kind.dtype) if isinstance(kind, TensorType) else kind


__all__ = ["ExactLoops"]
