"""Deeply nested source: stack space for it, and the depth at which it is rejected."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Sums of as many terms compile; deeper source is refused, because older Pythons would crash.
DEPTH_LIMIT = 1500
# Levels that Python's usual limit allows, and frames that a level may take.
_USUAL = 40
_FRAMES = 16

_lock = threading.Lock()
_users: list[int] = []  # what the limit was, once for each use that is not done


@contextmanager
def room_for(depth: int) -> Iterator[None]:
    """Raise Python's recursion limit while source of a depth is worked on.

    The limit belongs to the process: it goes back to what it was when the last thread is done.
    """
    if depth <= _USUAL:
        yield
        return
    with _lock:
        _users.append(_users[0] if _users else sys.getrecursionlimit())
        limit = _users[0] + (min(depth, DEPTH_LIMIT) + _USUAL) * _FRAMES
        sys.setrecursionlimit(max(sys.getrecursionlimit(), limit))
    try:
        yield
    finally:
        with _lock:
            before = _users.pop()
            if not _users:
                sys.setrecursionlimit(before)


def depth_of(tree: ast.AST) -> int:
    """How deep a syntax tree is, found without recursion."""
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest
