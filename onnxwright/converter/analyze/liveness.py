"""Liveness: fills `live_out` of branches and loops and `carried` of loops.

For a loop, a name is live at its start if it is read by the test or in the body before it is bound
there, or if it is read after the loop (the body may run zero times); the equations are solved to a
fixpoint.  Order is that of first binding, so that output never depends on hashing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Union

from onnxwright.converter.frontend import hir, names

_Loop = Union[hir.For, hir.While]


def liveness(
    block: hir.Block, outer: Iterable[str] = (), *, has_functions: bool = True
) -> hir.Block:
    """The body of a function with liveness filled in; only the result is live at its end.

    Args:
        outer: names of functions around it that it binds: they are live everywhere.
        has_functions: whether there may be functions in it, which take names from it.
    """
    captured = names.captured_names(block) if has_functions else ()
    always = frozenset((*captured, *outer))
    annotated, _ = _Liveness(always).block(block, {hir.RESULT} | always)
    return annotated


def live_before(block: hir.Block, live: Iterable[str], always: Iterable[str]) -> set[str]:
    """The names that are live before a block of a function.

    Args:
        live: the names that are live after it.
        always: the names that functions inside take from around them: they are live everywhere.
    """
    return _Liveness(frozenset(always)).block(block, set(live))[1]


class _Liveness:
    def __init__(self, always: frozenset[str]) -> None:
        self.always = always

    def block(self, block: hir.Block, live: set[str]) -> tuple[hir.Block, set[str]]:
        """The statements with facts, and what is live before them."""
        live = set(live)
        out: list[hir.Statement] = []
        for s in reversed(block):
            statement, live = self.statement(s, live)
            out.append(statement)
        return tuple(reversed(out)), live

    def statement(self, s: hir.Statement, live: set[str]) -> tuple[hir.Statement, set[str]]:
        """A statement with facts, and what is live before it: `live` itself, changed, or another.

        A long function reads many names, so that a new set for each statement would take time in
        proportion to the square of its length.
        """
        if isinstance(s, hir.If):
            then, live_then = self.block(s.then, live)
            orelse, live_else = self.block(s.orelse, live)
            outputs = [n for n in names.bound_in((*s.then, *s.orelse)) if n in live]
            annotated = replace(s, then=then, orelse=orelse, live_out=tuple(outputs))
            return annotated, self.before(live_then | live_else, s.test)
        if isinstance(s, (hir.For, hir.While)):
            return self.loop(s, live)
        if isinstance(s, hir.Assign):
            read: list[str] = []
            for target in s.targets:
                self.kill(live, names.target_names(target))
                read += names.target_reads(target)
            live.update(read)
            return s, self.before(live, s.value)
        if isinstance(s, hir.Define):
            # Its body is a function of its own: only its result is live at its end.
            function = replace(s.function, body=liveness(s.function.body))
            before = self.kill(live, [s.function.name]) | set(names.free_names(s.function))
            return replace(s, function=function), before
        if isinstance(s, hir.Delete):
            return s, self.kill(live, [s.id]) | {s.id}
        for child in reversed(list(hir.children(s))):
            live = self.before(live, child)
        return s, live

    def kill(self, live: set[str], bound: Iterable[str]) -> set[str]:
        """`live`, without the names that are bound."""
        live.difference_update(name for name in bound if name not in self.always)
        return live

    def before(self, live: set[str], node: object) -> set[str]:
        """`live`, changed to what is live before an expression."""
        bound: set[str] = set()
        read = names.reads(node, bound)
        if bound:
            self.kill(live, bound)
        live.update(read)
        return live

    def loop(self, s: _Loop, live: set[str]) -> tuple[hir.Statement, set[str]]:
        test = s.test if isinstance(s, hir.While) else s.until
        target = names.target_names(s.target) if isinstance(s, hir.For) else []
        bound = [*target, *names.bound_in(s.body)]
        if test is not None:
            bound += names.walrus_names(test)
        flag = {s.broken} if s.broken else set()
        at_end = self.before(set(live) | flag, test)
        while True:
            body, live_body = self.block(s.body, at_end)
            at_start = self.kill(live_body, target)
            again = at_end | self.before(at_start | live | flag, test)
            if again == at_end:
                break
            at_end = again
        # The test is lowered inside the loop too, so what it binds goes round, what it reads not.
        needed = at_start | live | flag
        kept = tuple(n for n in dict.fromkeys(bound) if n in needed)
        outputs = tuple(n for n in kept if n in live)
        annotated: hir.Statement = replace(s, body=body, carried=kept, live_out=outputs)
        after = self.before(at_start | live | flag, test)
        if isinstance(s, hir.For):
            after = self.before(after, s.iterable)
        return annotated, after
