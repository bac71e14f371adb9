"""Pass for verbatim lowering: the test that ends a `for` becomes the condition of its Loop.

A decompiled script writes the condition of a Loop as `if not go_on: break` first in the body, or
as `if test: break` last.  In both places it is the loop's own condition: no flag is made of it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.normalize.exits import contains


def verbatim_exits(node: Any) -> Any:
    """The same tree, with `keep` or `until` set on each `for` that has such a test."""
    if isinstance(node, tuple):
        rewritten = tuple(verbatim_exits(item) for item in node)
        return rewritten if any(a is not b for a, b in zip(rewritten, node)) else node
    if type(node) not in hir.NODE_TYPES:
        return node
    changed: dict[str, Any] = {}
    for f in fields(node):
        before = getattr(node, f.name)
        if isinstance(before, tuple) or type(before) in hir.NODE_TYPES:
            after = verbatim_exits(before)
            if after is not before:
                changed[f.name] = after
    rewritten = replace(node, **changed) if changed else node
    return _with_condition(rewritten) if isinstance(rewritten, hir.For) else rewritten


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
