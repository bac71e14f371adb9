"""Lowering of statements: bindings, branches, loops, nested functions, and what is decided now."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.names import walrus_names
from onnxwright.converter.lower.expressions.logic import (
    CHAIN_LIMIT,
    may_fail,
    reached_arms,
    run_time_condition,
)
from onnxwright.converter.lower.expressions.lowering import make_closure
from onnxwright.converter.lower.regions import NESTING_LIMIT
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.annotations import annotated_type
from onnxwright.converter.lower.statements.binding import bind_target
from onnxwright.converter.lower.statements.branches import choose
from onnxwright.converter.lower.values import is_dynamic
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.opset.history import is_known_domain
from onnxwright.semantics.graph_value import GraphValue


def execute_assign(low: Lowering, s: hir.Assign) -> None:
    """`a = b = value`, with an annotation or without."""
    target = s.targets[0]
    count = None
    if isinstance(target, hir.TupleTarget) and target.star is None:
        count = len(target.items)
    value = low.evaluate(s.value, count)
    if count == 1 and isinstance(s.value, hir.Call) and isinstance(value, GraphValue):
        value = (value,)
    if s.annotation is not None and isinstance(target, hir.NameTarget):
        _check_annotation(low, target.id, s.annotation, value, s.value.span)
    for target in s.targets:
        if isinstance(target, hir.NameTarget) and target.id == hir.RESULT:
            low.result_span = s.value.span
        bind_target(low, target, value)
    for name, annotation in s.declared:
        _check_annotation(low, name, annotation, low.frame.env.get(name), s.value.span)


def _check_annotation(low: Lowering, name: str, annotation: str, value: Any, span: Span) -> None:
    """`y: FLOAT[2] = ...`: the value must fit; what is not a type is left alone."""
    if not isinstance(value, GraphValue):
        return
    kind = annotated_type(low, name, annotation, value.kind, span)
    if kind is None:
        return
    low.b.recorder.info(value.value).annotated = kind
    if value.kind is None and _is_custom(value):
        value.kind = kind
        low.b.recorder.set_type(value.value, kind)


def _is_custom(value: GraphValue) -> bool:
    """Whether a value comes from a custom operator, whose results only the user knows."""
    node = value.value.producer()
    return node is not None and not is_known_domain(node.domain)


def execute_if(low: Lowering, s: hir.If) -> None:
    """An `if`: decided when compiling, or an If."""
    tests, blocks = _chain(s)
    long = _chain_with_statements(s)
    deep = len(tests) <= CHAIN_LIMIT and len(long.tests) + len(low.regions.stack) > NESTING_LIMIT
    if len(tests) > CHAIN_LIMIT or deep:
        if deep:
            speculative_chain(low, long, s)
        else:
            flat_chain(low, tests, blocks, s)
        return
    test = low.evaluate(s.test)
    if not is_dynamic(test):
        with_truth = low.python(s.test.span, bool, test)
        low.execute(s.then if with_truth else s.orelse)
        return
    if isinstance(test, (list, tuple, dict)):
        low.execute(s.then if test else s.orelse)
        return
    cond = run_time_condition(low, test, s.test.span)
    depth = low.dynamic_depth
    low.dynamic_depth = depth + 1
    try:
        choose(
            low,
            cond,
            lambda: low.execute(s.then),
            lambda: low.execute(s.orelse),
            list(s.live_out),
            s.span,
        )
    finally:
        low.dynamic_depth = depth


@dataclass
class _Chain:
    """An `elif` chain that has statements before some of its tests.

    Attributes:
        before: the statements before each test.
        tests: the tests.
        blocks: the blocks, the last one that of `else`.
    """

    before: list[hir.Block] = field(default_factory=list)
    tests: list[hir.Expr] = field(default_factory=list)
    blocks: list[hir.Block] = field(default_factory=list)


def _chain_with_statements(s: hir.If) -> _Chain:
    """The longest chain whose statements and tests may run although an earlier test is true."""
    chain = _Chain([()], [s.test], [s.then])
    while s.orelse and isinstance(s.orelse[-1], hir.If):
        *statements, inner = s.orelse
        assert isinstance(inner, hir.If)
        plain = all(
            isinstance(x, hir.Assign)
            and not may_fail(x.value)
            and all(isinstance(t, hir.NameTarget) for t in x.targets)
            for x in statements
        )
        if not plain or may_fail(inner.test):
            break
        s = inner
        chain.before.append(tuple(statements))
        chain.tests.append(s.test)
        chain.blocks.append(s.then)
    chain.blocks.append(s.orelse)
    return chain


def speculative_chain(low: Lowering, chain: _Chain, s: hir.If) -> None:
    """A chain too deep for a file as a balanced tree: what comes before a test always runs.

    Each block sees the names as they are at its own test.
    """
    outer = low.frame.env
    seen: list[dict[str, Any]] = []
    low.frame.env = dict(outer)
    try:
        decided, bounds = reached_arms(
            low,
            chain.tests,
            lambda n: low.execute(chain.before[n]),
            lambda: seen.append(dict(low.frame.env)),
        )
        seen.append(low.frame.env)
    finally:
        low.frame.env = outer

    def block(n: int) -> None:
        low.frame.env = dict(seen[n])
        low.execute(chain.blocks[n])

    balanced(low, bounds, [functools.partial(block, n) for n in decided], s)


def flat_chain(low: Lowering, tests: list[hir.Expr], blocks: list[hir.Block], s: hir.If) -> None:
    """A long `elif` chain as a balanced tree: the depth of a model file is limited."""
    decided, bounds = reached_arms(low, tests)
    balanced(low, bounds, [functools.partial(low.execute, blocks[n]) for n in decided], s)


def balanced(
    low: Lowering, bounds: list[GraphValue], blocks: list[Callable[[], None]], s: hir.If
) -> None:
    """One of several blocks: the first whose bound is true, else the last."""

    def one_of(first: int, last: int) -> None:
        if first == last:
            blocks[first]()
            return
        middle = (first + last) // 2
        choose(
            low,
            bounds[middle],
            lambda: one_of(first, middle),
            lambda: one_of(middle + 1, last),
            list(s.live_out),
            s.span,
        )

    depth = low.dynamic_depth
    low.dynamic_depth = depth + (len(blocks) > 1)
    try:
        one_of(0, len(blocks) - 1)
    finally:
        low.dynamic_depth = depth


def execute_expression(low: Lowering, s: hir.Evaluate) -> None:
    """An expression whose value nothing uses."""
    low.evaluate(s.value)


def execute_define(low: Lowering, s: hir.Define) -> None:
    """A nested `def`."""
    low.frame.env[s.function.name] = make_closure(low, s.function)


def execute_delete(low: Lowering, s: hir.Delete) -> None:
    """`del name`."""
    low.frame.lookup(s.id, s.span)
    del low.frame.env[s.id]


def execute_assert(low: Lowering, s: hir.Assert) -> None:
    """An `assert`, checked when compiling where its test is known."""
    test = low.evaluate(s.test)
    if is_dynamic(test):
        warn(messages.AssertIgnored(span=s.span))
        return
    if not low.python(s.test.span, bool, test):
        text = "the assertion fails"
        if s.message is not None:
            text = f"the assertion fails: {_text(low, s.message)}"
        _raise(low, text, s.span)


def execute_raise(low: Lowering, s: hir.Raise) -> None:
    """A `raise`, which is an error of compiling."""
    text = "this function raises an error"
    if isinstance(s.exception, hir.Call):
        name = getattr(s.exception.func, "id", "error")
        parts = [_text(low, a) for a in s.exception.args]
        text = f"{name}: {', '.join(parts)}" if parts else name
    elif isinstance(s.exception, hir.Name):
        text = s.exception.id
    _raise(low, text, s.span)


def _raise(low: Lowering, text: str, span: Span) -> None:
    if low.dynamic_depth:
        fail(messages.DynamicRaise(construct="raise", span=span))
    fail(messages.RaiseReached(what=text.replace("{", "(").replace("}", ")"), span=span))


def _text(low: Lowering, node: hir.Expr) -> str:
    try:
        return str(low.evaluate(node))
    except ScriptError:
        return "..."


def execute_unreachable(low: Lowering, s: Any) -> None:
    """A statement that normalizing removes."""
    raise AssertionError(f"{type(s).__name__} remains after normalizing")


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
