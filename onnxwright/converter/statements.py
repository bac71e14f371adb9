"""Lowering of statements: bindings, branches, loops, nested functions, and what is decided now."""

from __future__ import annotations

from typing import Any

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import walrus_names
from onnxwright.converter.exact_loops import ExactLoops
from onnxwright.converter.logic import CHAIN_LIMIT
from onnxwright.converter.values import is_dynamic
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.semantics.graph_backend import GraphValue


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
        kind = self.annotated_type(target.id, s.annotation, value.kind, s.value.span)
        if kind is not None:
            self.b.recorder.info(value.value).annotated = kind

    def if_(self, s: hir.If) -> None:
        tests, blocks = _chain(s)
        if len(tests) > CHAIN_LIMIT:
            depth = self.dynamic_depth
            self.dynamic_depth = depth + 1
            try:
                self.flat_chain(tests, blocks, list(s.live_out), s.span)
            finally:
                self.dynamic_depth = depth
            return
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

    def flat_chain(
        self, tests: list[hir.Expr], blocks: list[hir.Block], live: list[str], span: Span
    ) -> None:
        """A long `elif` chain as a balanced tree: the depth of a model file is limited."""
        known, bounds = self.reached(tests)

        def one_of(low: int, high: int) -> None:
            if low == high:
                self.block(blocks[known[low]])
                return
            middle = (low + high) // 2
            self.choose(
                bounds[middle],
                lambda: one_of(low, middle),
                lambda: one_of(middle + 1, high),
                live,
                span,
            )

        one_of(0, len(known) - 1)

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


def _chain(s: hir.If) -> tuple[list[hir.Expr], list[hir.Block]]:
    """The tests and blocks of an `elif` chain; the last block is that of `else`."""
    tests, blocks = [s.test], [s.then]
    while len(s.orelse) == 1 and isinstance(s.orelse[0], hir.If):
        s = s.orelse[0]
        if walrus_names(s.test):
            return tests, blocks
        tests.append(s.test)
        blocks.append(s.then)
    return tests, [*blocks, s.orelse]


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
