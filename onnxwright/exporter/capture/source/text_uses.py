"""Whether a program does something with a text, or only shows it."""

from __future__ import annotations

import ast
import linecache

# Methods that keep what they are given, and that are called for that.
_KEEPING = {"append", "appendleft", "add", "extend", "insert", "update", "setdefault"}


def is_used(file: str, line: int) -> bool:
    """Whether the statement of a line does something with a text.

    Args:
        file, line: the line.

    Returns:
        Not for errors, and calls whose result nobody reads, such as `print` and `warnings.warn`.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return True
    statement: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if statement is None or node.lineno >= statement.lineno:
                statement = node
    if isinstance(statement, (ast.Raise, ast.Assert)):
        return False
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return True
    called = statement.value.func
    if isinstance(called, ast.Attribute) and called.attr in _KEEPING:
        return True
    inside = (n for n in ast.walk(statement) if isinstance(n, ast.Lambda))
    return any(n.lineno <= line <= (n.end_lineno or 0) for n in inside)
