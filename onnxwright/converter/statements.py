"""Lowering of statements: bindings, branches, loops, nested functions, and what is decided now."""

from __future__ import annotations

from typing import Any

from onnxwright.converter import hir
from onnxwright.converter.exact_loops import ExactLoops
from onnxwright.converter.values import is_dynamic
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.kinds import fits


class Statements(ExactLoops):
    """Lowers blocks of statements."""

    def block(self, statements: hir.Block) -> None:
        """Lower statements in order."""
        for s in statements:
            self.b.span = s.span
            self.last_span = s.span
            _LOWER[type(s)](self, s)

    def assign(self, s: hir.Assign) -> None:
        target = s.targets[0]
        wanted = None
        if isinstance(target, hir.TupleTarget) and target.star is None:
            wanted = len(target.items)
        value = self.evaluate(s.value, wanted)
        if wanted == 1 and isinstance(s.value, hir.Call) and isinstance(value, GraphValue):
            value = (value,)
        if s.annotation is not None:
            self._check_annotation(s, value)
        for target in s.targets:
            if isinstance(target, hir.NameTarget) and target.id == hir.RESULT:
                self.result_span = s.value.span
            self.bind(target, value)

    result_span: Span | None = None

    def _check_annotation(self, s: hir.Assign, value: Any) -> None:
        """`y: FLOAT[2] = ...`: the value must fit; what is not a type is left alone."""
        target = s.targets[0]
        if not isinstance(target, hir.NameTarget) or not isinstance(value, GraphValue):
            return
        names = self.outer_names()
        try:
            spec = parse_annotation(eval(s.annotation or "", names))  # noqa: S307 - the user's own
        except Exception:  # noqa: BLE001 - an annotation that does not evaluate says nothing
            return
        if not isinstance(spec, ValueSpec) or not spec.types or value.kind is None:
            return
        if not any(fits(value.kind, wanted) for wanted in spec.types):
            fail(
                messages.AnnotationMismatch(
                    name=target.id, wanted=str(spec), got=str(value.kind), span=s.value.span
                )
            )

    def outer_names(self) -> dict[str, Any]:
        """The globals and closure of the function being lowered, for its own annotations."""
        outer: Any = self.frame
        while hasattr(outer, "outer"):
            outer = outer.outer
        return {
            **outer.function.__globals__,
            **{name: outer[name] for name in outer.cells if name in outer},
        }

    def if_(self, s: hir.If) -> None:
        test = self.evaluate(s.test)
        if not is_dynamic(test):
            with_truth = self.python(s.test.span, bool, test)
            self.block(s.then if with_truth else s.orelse)
            return
        if isinstance(test, (list, tuple, dict)):
            self.block(s.then if test else s.orelse)
            return
        cond = self.condition(test, s.test.span)
        depth = self.dynamic_depth
        self.dynamic_depth = depth + 1
        try:
            self.choose(
                cond,
                lambda: self.block(s.then),
                lambda: self.block(s.orelse),
                list(s.live_out),
                s.span,
            )
        finally:
            self.dynamic_depth = depth

    def while_(self, s: hir.While) -> None:
        if not (self.b.recorder.exact and self.exact_while(s)):
            self.while_loop(s)

    def for_(self, s: hir.For) -> None:
        if not (self.b.recorder.exact and self.exact_for(s)):
            self.for_loop(s)

    def expression(self, s: hir.Evaluate) -> None:
        self.evaluate(s.value)

    def define(self, s: hir.Define) -> None:
        self.frame.env[s.function.name] = self.closure(s.function)

    def delete(self, s: hir.Delete) -> None:
        self.frame.lookup(s.id, s.span)
        del self.frame.env[s.id]

    def assert_(self, s: hir.Assert) -> None:
        test = self.evaluate(s.test)
        if is_dynamic(test):
            warn(messages.AssertIgnored(span=s.span))
            return
        if not self.python(s.test.span, bool, test):
            text = "the assertion fails"
            if s.message is not None:
                text = f"the assertion fails: {self._text(s.message)}"
            self._raise(text, s.span)

    def raise_(self, s: hir.Raise) -> None:
        text = "this function raises an error"
        if isinstance(s.exception, hir.Call):
            name = getattr(s.exception.func, "id", "error")
            parts = [self._text(a) for a in s.exception.args]
            text = f"{name}: {', '.join(parts)}" if parts else name
        elif isinstance(s.exception, hir.Name):
            text = s.exception.id
        self._raise(text, s.span)

    def _raise(self, text: str, span: Span) -> None:
        if self.dynamic_depth:
            fail(messages.DynamicRaise(construct="raise", span=span))
        fail(messages.RaiseReached(what=text.replace("{", "(").replace("}", ")"), span=span))

    def _text(self, node: hir.Expr) -> str:
        try:
            return str(self.evaluate(node))
        except ScriptError:
            return "..."

    def unreachable(self, s: Any) -> None:
        raise AssertionError(f"{type(s).__name__} is gone after normalizing")


_LOWER: dict[type, Any] = {
    hir.Assign: Statements.assign,
    hir.If: Statements.if_,
    hir.For: Statements.for_,
    hir.While: Statements.while_,
    hir.Evaluate: Statements.expression,
    hir.Define: Statements.define,
    hir.Delete: Statements.delete,
    hir.Assert: Statements.assert_,
    hir.Raise: Statements.raise_,
    hir.Break: Statements.unreachable,
    hir.Continue: Statements.unreachable,
    hir.Return: Statements.unreachable,
}
