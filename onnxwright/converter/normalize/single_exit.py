"""Pass: `return` anywhere becomes a binding of the internal result name at the end of its path.

No `Return` is left.  A path that does not bind the result is found when lowering.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.normalize.exits import FlagNames, thread
from onnxwright.converter.normalize.loop_exits import loop_exits


def normalize(
    block: hir.Block, flags: FlagNames | None = None, *, has_functions: bool = True
) -> hir.Block:
    """Loop exits, then single exit, for a function body and the functions nested in it, if any."""
    flags = flags or FlagNames()
    if has_functions:
        block = tuple([_functions(s, flags) for s in block])
    return single_exit(loop_exits(block, flags), flags)


def single_exit(block: hir.Block, flags: FlagNames) -> hir.Block:
    """The block with each `return v` as `%result = v`, and nothing after it on its path."""

    def leave(exit_: hir.Statement) -> hir.Block:
        assert isinstance(exit_, hir.Return)
        value = exit_.value if exit_.value is not None else hir.Literal(exit_.span, None)
        return (hir.Assign(exit_.span, (hir.NameTarget(exit_.span, hir.RESULT),), value),)

    return thread(block, (hir.Return,), leave, flags)


def _functions(node: Any, flags: FlagNames) -> Any:
    """The same tree, with the bodies of nested functions normalized."""
    if type(node) is hir.Name or type(node) is hir.Literal:
        return node
    if isinstance(node, tuple):
        rewritten = tuple([_functions(item, flags) for item in node])
        return rewritten if any(a is not b for a, b in zip(rewritten, node)) else node
    if type(node) not in hir.NODE_TYPES:
        return node
    if isinstance(node, hir.LocalFunction):
        return replace(node, body=normalize(node.body, flags))
    changed: dict[str, Any] = {}
    for name in hir.node_fields(type(node)):
        before = getattr(node, name)
        after = _functions(before, flags)
        if after is not before:
            changed[name] = after
    return replace(node, **changed) if changed else node
