"""Makes failing source text small: drops statements and replaces expressions by their parts.

The caller says what failing means; a smaller text counts only where it fails in the same way.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator

Failure = Callable[[str], "str | None"]


def shrink_source(source: str, failure: Failure, seconds: float = 60.0) -> str:
    r"""A smaller text with the same failure.

    Args:
        source: Python text for which `failure(source)` is not None.
        failure: the kind of failure of a text, or None where it does not fail.
        seconds: when to stop looking.

    Returns:
        The smallest text found, printed by `ast.unparse`.

    Example:
        >>> shrink_source("a = 1\nc = b + (1 + d)\n", lambda s: "x" if "d" in s else None)
        'c = d\n'
    """
    wanted = failure(source)
    end = time.monotonic() + seconds
    if wanted is None:
        return source
    current = source
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in _smaller(current):
            if time.monotonic() > end:
                break
            if len(candidate) < len(current) and failure(candidate) == wanted:
                current, progress = candidate, True
                break
    return current


def _smaller(source: str) -> Iterator[str]:
    """Texts with one thing less; the large things first."""
    count = len(list(_places(ast.parse(source))))
    order = sorted(range(count), key=lambda k: -len(_text(list(_places(ast.parse(source)))[k][2])))
    for k in order:
        tree = ast.parse(source)
        holder, name, node, index = list(_places(tree))[k]
        if isinstance(holder, ast.FunctionDef) and name == "body" and node is holder.body[-1]:
            continue  # a function that stops returning fails for a reason of its own
        for replacement in _replacements(node):
            _put(holder, name, index, replacement)
            yield _text(tree) + "\n"
            tree = ast.parse(source)
            holder, name, node, index = list(_places(tree))[k]


Place = tuple[ast.AST, str, ast.AST, "int | None"]


def _places(tree: ast.AST) -> Iterator[Place]:
    """Every statement and expression with where it hangs."""
    for holder in ast.walk(tree):
        for name, value in ast.iter_fields(holder):
            if isinstance(value, (ast.stmt, ast.expr)):
                yield holder, name, value, None
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, (ast.stmt, ast.expr)):
                        yield holder, name, item, index


def _replacements(node: ast.AST) -> Iterator[list[ast.AST]]:
    """What may stand in place of a node: nothing, its body, or one of its parts."""
    if isinstance(node, ast.stmt):
        yield []
        for field in ("body", "orelse"):
            inner = getattr(node, field, None)
            if inner and not isinstance(node, ast.FunctionDef):
                yield list(inner)
        return
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield [part]
        elif isinstance(part, ast.Slice):
            continue


def _put(holder: ast.AST, name: str, index: int | None, new: list[ast.AST]) -> None:
    if index is None:
        setattr(holder, name, new[0] if new else None)
        return
    items = getattr(holder, name)
    items[index : index + 1] = new
    if not items and name == "body":
        items.append(ast.Pass())


def _text(tree: ast.AST) -> str:
    try:
        return ast.unparse(tree)
    except (AttributeError, ValueError, TypeError, IndexError):
        return "pass"
