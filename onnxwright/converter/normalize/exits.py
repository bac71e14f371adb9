"""Threading of exits: the code after an `if` moves into the branches that get there.

Shared by the passes for loops and for `return`.  A branch that always leaves takes nothing; where
both branches may go on, the code after is repeated in each, or, when it would be repeated too
often, guarded by a flag.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxwright.converter.frontend import hir
from onnxwright.diagnostics.span import Span

# How many statements of repeated code are accepted before a flag is used instead.
_REPEAT_LIMIT = 24

OnExit = Callable[[hir.Statement], hir.Block]


class FlagNames:
    """Fresh names of flags, which Python cannot spell."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self, what: str) -> str:
        """A new internal name."""
        self._count += 1
        return f"{hir.INTERNAL}{what}{self._count}"


def set_flag(name: str, value: bool, span: Span) -> hir.Assign:
    """`name = True` or `False`."""
    return hir.Assign(span, (hir.NameTarget(span, name),), hir.Literal(span, value))


def unless(flag: str, block: hir.Block, span: Span) -> hir.If:
    """`if not flag: block`."""
    return hir.If(span, hir.Unary(span, "not_", hir.Name(span, flag)), block, ())


def contains(block: hir.Block, kinds: tuple[type, ...]) -> bool:
    """Whether the block contains an exit of these kinds, outside inner loops and functions."""
    for s in block:
        if isinstance(s, kinds):
            return True
        if isinstance(s, hir.If) and (contains(s.then, kinds) or contains(s.orelse, kinds)):
            return True
    return False


def may_pass(block: hir.Block, kinds: tuple[type, ...]) -> bool:
    """Whether control may reach the end of the block."""
    for s in block:
        if isinstance(s, (*kinds, hir.Raise)):
            return False
        if isinstance(s, hir.If) and not may_pass(s.then, kinds) and not may_pass(s.orelse, kinds):
            return False
    return True


def _size(block: hir.Block) -> int:
    total = 0
    for s in block:
        total += 1
        if isinstance(s, hir.If):
            total += _size(s.then) + _size(s.orelse)
        elif isinstance(s, (hir.For, hir.While)):
            total += _size(s.body)
    return total


def thread(
    block: hir.Block, kinds: tuple[type, ...], on_exit: OnExit, flags: FlagNames, copies: int = 1
) -> hir.Block:
    """The block without exits of `kinds`: each becomes `on_exit` of it, and its path ends there."""
    out: list[hir.Statement] = []
    for n, s in enumerate(block):
        if isinstance(s, kinds):
            return (*out, *on_exit(s))
        if not isinstance(s, hir.If) or not contains((s,), kinds):
            out.append(s)
            continue
        tail = block[n + 1 :]
        both = may_pass(s.then, kinds) and may_pass(s.orelse, kinds)
        if both and tail and copies * 2 * _size(tail) > _REPEAT_LIMIT:
            return (*out, *_guarded(s, tail, kinds, on_exit, flags))
        more = copies * 2 if both else copies
        then = thread((*s.then, *tail), kinds, on_exit, flags, more)
        orelse = thread((*s.orelse, *tail), kinds, on_exit, flags, more)
        return (*out, replace(s, then=then, orelse=orelse))
    return tuple(out)


def _guarded(
    s: hir.If, tail: hir.Block, kinds: tuple[type, ...], on_exit: OnExit, flags: FlagNames
) -> hir.Block:
    """The branch, setting a flag where it leaves, and the rest under that flag."""
    flag, value = flags.fresh("left"), flags.fresh("value")

    def leave(exit_: hir.Statement) -> hir.Block:
        left = set_flag(flag, True, exit_.span)
        if isinstance(exit_, hir.Return):
            # The result is only bound where every path has one: keep it under a name of its own.
            result = exit_.value or hir.Literal(exit_.span, None)
            return (hir.Assign(exit_.span, (hir.NameTarget(exit_.span, value),), result), left)
        return (*on_exit(exit_), left)

    then = thread(s.then, kinds, leave, flags)
    orelse = thread(s.orelse, kinds, leave, flags)
    rest = thread(tail, kinds, on_exit, flags)
    gone: hir.Block = ()
    if hir.Return in kinds:
        gone = on_exit(hir.Return(s.span, hir.Name(s.span, value)))
    return (
        set_flag(flag, False, s.span),
        replace(s, then=then, orelse=orelse),
        hir.If(s.span, hir.Name(s.span, flag), gone, rest),
    )
