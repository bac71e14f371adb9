"""Pass: `break`, `continue` and `return` inside loops, and the `else` of loops, become flags.

Afterwards a loop has one exit: its `broken` flag, tested before the next iteration.  A `return`
inside a loop is a value and a flag set inside, and a `return` after the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Union

from onnxwright.converter.frontend import hir
from onnxwright.converter.normalize.exits import FlagNames, contains, set_flag, thread, unless

_Loop = Union[hir.For, hir.While]
_EXITS = (hir.Break, hir.Continue)
# What the names begin with of the values that loops return.
VALUE = "value"


def loop_exits(block: hir.Block, flags: FlagNames) -> hir.Block:
    """The block with every loop in it rewritten, inner loops first."""
    out: list[hir.Statement] = []
    for s in block:
        if isinstance(s, hir.If):
            then, orelse = loop_exits(s.then, flags), loop_exits(s.orelse, flags)
            out.append(replace(s, then=then, orelse=orelse))
        elif isinstance(s, (hir.For, hir.While)):
            out.extend(_loop(s, flags))
        else:
            out.append(s)
    return tuple(out)


def _loop(s: _Loop, flags: FlagNames) -> list[hir.Statement]:
    body = loop_exits(s.body, flags)
    orelse = loop_exits(s.orelse, flags)
    breaks = contains(body, (hir.Break,))
    before: list[hir.Statement] = []
    after: list[hir.Statement] = []
    if contains(body, (hir.Return,)):
        flag, value = flags.fresh("returned"), flags.fresh(VALUE)
        # `while True` without `break` ends by a return only.
        sure = _is_endless(s) and not breaks
        body = _returns_to_breaks(body, flag, value)
        before.append(set_flag(flag, False, s.span))
        returned = hir.Return(s.span, hir.Name(s.span, value))
        after.append(returned if sure else hir.If(s.span, hir.Name(s.span, flag), (returned,), ()))
    # A loop in a `with` block comes here twice, and keeps the flag of the first time.
    broken = s.broken
    if contains(body, (hir.Break,)):
        broken = flags.fresh("broken")
        before.append(set_flag(broken, False, s.span))
    if contains(body, _EXITS):

        def leave(exit_: hir.Statement) -> hir.Block:
            if isinstance(exit_, hir.Break):
                assert broken is not None
                return (set_flag(broken, True, exit_.span),)
            return ()

        body = thread(body, _EXITS, leave, flags)
    if orelse:
        # Without `break` it runs whenever the loop did not return, which was tested before.
        after.extend([unless(broken, orelse, s.span)] if breaks and broken else orelse)
    loop: hir.Statement = replace(s, body=body, orelse=(), broken=broken)
    return [*before, loop, *after]


def _is_endless(s: _Loop) -> bool:
    return isinstance(s, hir.While) and isinstance(s.test, hir.Literal) and bool(s.test.value)


def _returns_to_breaks(block: hir.Block, flag: str, value: str) -> hir.Block:
    out: list[hir.Statement] = []
    for s in block:
        if isinstance(s, hir.Return):
            result = s.value if s.value is not None else hir.Literal(s.span, None)
            target = hir.NameTarget(s.span, value)
            out.append(hir.Assign(s.span, (target,), result))
            out.append(set_flag(flag, True, s.span))
            out.append(hir.Break(s.span))
        elif isinstance(s, hir.If):
            then = _returns_to_breaks(s.then, flag, value)
            orelse = _returns_to_breaks(s.orelse, flag, value)
            out.append(replace(s, then=then, orelse=orelse))
        else:
            out.append(s)
    return tuple(out)
