"""The sides of a decision in the source: which of them does more, and the lines that it has."""

from __future__ import annotations

import ast
import functools
import linecache
from typing import TypeGuard, Union

# The file and the line of a decision.
Place = tuple[str, int]
Lines = list[tuple[int, int]]

# Sides that are right together never: masks are as long as the cache, longer or shorter.
_NOT_TRIED = ("transformers/masking_utils.py",)

_Decision = Union[ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Call]
_EXITS = (ast.Return, ast.Break, ast.Continue)


def preferred(place: Place) -> bool | None:
    """The answer to a condition that leads to the side that does more.

    Args:
        place: the line of the decision.

    Returns:
        The answer; None where both sides do something, or the line does not decide between two.

    Example:
        >>> lines = ["if not n % 4 == 0:" + chr(10), "    pad()" + chr(10)]
        >>> linecache.cache["pad.py"] = (0, None, lines, "pad.py")
        >>> preferred(("pad.py", 1))
        False
    """
    found = _decision(place)
    if not isinstance(found, ast.If) or found.orelse:
        return None
    body = not isinstance(found.body[-1], _EXITS)
    return body != _is_negated(found.test)


def is_decision(place: Place) -> bool:
    """Whether both sides of a line may be tried: of `if`, `a if test else b`, `a or b`, `not a`."""
    return not place[0].endswith(_NOT_TRIED) and _decision(place) is not None


def lines_of(place: Place, answer: bool) -> Lines:
    """The lines of the side of a decision.

    Args:
        place: the line of the decision.
        answer: what the condition is answered.

    Returns:
        The first and the last line of each part of it.
    """
    return _lines_of(place, answer, tuple(linecache.getlines(place[0])))


@functools.lru_cache(maxsize=256)
def _lines_of(place: Place, answer: bool, text: tuple[str, ...]) -> Lines:
    found = _decision(place)
    if found is None:
        return []
    if not isinstance(found, (ast.If, ast.IfExp)):
        return []
    side = answer != _is_negated(found.test)
    if isinstance(found, ast.IfExp):
        return [(found.lineno, found.end_lineno or found.lineno)]
    lines = [(b.lineno, b.end_lineno or b.lineno) for b in (found.body if side else found.orelse)]
    if not side and isinstance(found.body[-1], _EXITS):
        around = _around(_tree(text), found)
        lines.append(((found.end_lineno or found.lineno) + 1, around))
    return lines


def _decision(place: Place) -> _Decision | None:
    """The innermost decision whose condition is on a line; a truth value if there is none."""
    tree = _tree(tuple(linecache.getlines(place[0])))
    found: _Decision | None = None
    value: _Decision | None = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.If, ast.IfExp)):
            if _is_on(node.test, place[1]):
                found = node
        elif isinstance(node, ast.expr) and _is_on(node, place[1]) and _is_truth(node):
            value = node
        elif isinstance(node, (ast.Assert, ast.While)) and _is_on(node.test, place[1]):
            return None
    return found or value


def _is_on(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_truth(node: ast.expr) -> TypeGuard[ast.BoolOp | ast.UnaryOp | ast.Compare | ast.Call]:
    """Whether an expression asks for the truth of its parts."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, ast.BoolOp)


@functools.lru_cache(maxsize=32)
def _tree(text: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("".join(text))
    except SyntaxError:
        return None


def _around(tree: ast.Module | None, node: ast.AST) -> int:
    """The last line of the innermost function in which a statement stands."""
    last = 1 << 30
    for function in ast.walk(tree) if tree is not None else ():
        if isinstance(function, ast.FunctionDef) and any(x is node for x in ast.walk(function)):
            last = function.end_lineno or last
    return last


def _is_negated(test: ast.expr) -> bool:
    """Whether the conditions in a test are under `not`."""
    negated = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        negated, test = not negated, test.operand
    return negated
