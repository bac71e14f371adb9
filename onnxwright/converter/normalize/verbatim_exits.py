"""Pass for verbatim lowering: the test that ends a `for` becomes the condition of its Loop.

A decompiled script writes the condition of a Loop as `if not go_on: break` first in the body, or
as `if test: break` last.  In both places it is the loop's own condition: no flag is made of it.
"""

from __future__ import annotations

from dataclasses import replace

from onnxwright.converter.frontend import hir
from onnxwright.converter.normalize.exits import contains


def verbatim_exits(block: hir.Block) -> hir.Block:
    """The same statements, with `keep` or `until` set on each `for` that has such a test."""
    return tuple([_statement(s) for s in block])


def _statement(s: hir.Statement) -> hir.Statement:
    if isinstance(s, hir.If):
        return replace(s, then=verbatim_exits(s.then), orelse=verbatim_exits(s.orelse))
    if isinstance(s, (hir.For, hir.While)):
        loop = replace(s, body=verbatim_exits(s.body), orelse=verbatim_exits(s.orelse))
        return _with_condition(loop) if isinstance(loop, hir.For) else loop
    if isinstance(s, hir.Define):
        return replace(s, function=replace(s.function, body=verbatim_exits(s.function.body)))
    return s


def _with_condition(s: hir.For) -> hir.For:
    if s.orelse or not s.body:
        return s
    first, last = _test(s.body[0]), _test(s.body[-1])
    if isinstance(first, hir.Unary) and isinstance(first.operand, hir.Name) and first.op == "not_":
        if not contains(s.body[1:], _EXITS):
            return replace(s, body=s.body[1:], broken=first.operand.id, keep=True)
    if last is not None and not contains(s.body[:-1], _EXITS):
        return replace(s, body=s.body[:-1], until=last)
    return s


def _test(s: hir.Statement) -> hir.Expr | None:
    """The test of `if test: break`."""
    if isinstance(s, hir.If) and not s.orelse and len(s.then) == 1:
        return s.test if isinstance(s.then[0], hir.Break) else None
    return None


_EXITS = (hir.Break, hir.Continue, hir.Return)
