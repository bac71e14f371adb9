"""What is demanded of sizes: by operators, and by lines that refuse other sizes."""

from __future__ import annotations

import ast
import functools
import linecache
import re

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.places import line_of

_USER_LOC = re.compile(r"# (?P<tail>.*):(?P<line>\d+) in \S+\s*$")


def user_line(text: str, files: list[str]) -> Span | None:
    """The line that torch names by the end of its path.

    Args:
        text: what torch says of it.
        files: the files that it may be in.
    """
    found = _USER_LOC.search(text)
    if found is None:
        return None
    file = next((f for f in files if f.endswith(found["tail"])), None)
    return None if file is None else line_of(file, int(found["line"]))


def refuses_others(span: Span | None) -> bool:
    """Whether a line refuses what does not fulfil its condition.

    Args:
        span: the line; None where it is not known.
    """
    if span is None:
        return False
    inner = statement_at(span.file, span.line)
    if isinstance(inner, ast.Assert):
        return True
    if isinstance(inner, ast.If):
        return isinstance(inner.body[-1], ast.Raise)
    if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
        return ast.unparse(inner.value.func).startswith(("torch._check", "torch._assert"))
    return False


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement whose head has a line; None where the file has no source.

    Args:
        file, line: of Python.
    """
    inner: ast.stmt | None = None
    for node in _statements("".join(linecache.getlines(file))):
        if _head_covers(node, line) and (inner is None or node.lineno >= inner.lineno):
            inner = node
    return inner


@functools.lru_cache(maxsize=32)
def _statements(text: str) -> tuple[ast.stmt, ...]:
    """The statements of a file; none where it is not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _head_covers(node: ast.stmt, line: int) -> bool:
    """Whether a line is of a statement itself, not of its body."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body and not isinstance(node, ast.Expr):
        last = max(node.lineno, body[0].lineno - 1)
    return node.lineno <= line <= last
