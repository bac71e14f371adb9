"""Whether a program does something with a text, or only shows it."""

from __future__ import annotations

import ast
import linecache


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
    return not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
