"""`if` statements whose sides each have a copy of what follows them in their block.

`if test: y = None` and `else: y = x` cannot be one value afterwards. Where both sides go on by
themselves, nothing has to be one value but what the block gives in the end.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from onnxwright.exporter.capture.source.lines import places_of

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# What is evaluated for some values only.
_LAZY = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp)
_EXITS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def split(function: ast.FunctionDef | ast.Lambda, lines: frozenset[int]) -> None:
    """Move what follows `if` statements into both of their sides.

    Args:
        function: the function; it is changed.
        lines: of the statements.

    Example:
        >>> made = ast.parse("def f(x): y = None if x else 1; return y").body[0]
        >>> split(made, frozenset([1]))
        >>> print(ast.unparse(made))
        def f(x):
            if x:
                y = None
                return y
            else:
                y = 1
                return y
    """
    if isinstance(function, ast.FunctionDef):
        function.body = _split(function.body, lines)


def decide(
    function: ast.FunctionDef | ast.Lambda, line: int, name: str, values: Sequence[int]
) -> None:
    r"""Let a line, and what follows it, have a copy for each value of a variable.

    Args:
        function: the function; it is changed.
        line: of the statement.
        name: the variable.
        values: all values that it may have.

    Example:
        >>> made = ast.parse("def f(x, n):\n    return x.sum(n)").body[0]
        >>> decide(made, 2, "n", [0, 1])
        >>> print(ast.unparse(made))
        def f(x, n):
            if n == 0:
                n = 0
                return x.sum(n)
            else:
                n = 1
                return x.sum(n)
    """
    for block, first in places_of(function, line):
        n = first
        while n + 1 < len(block) and block[n + 1].lineno == line and _binds(block[n], name):
            n += 1  # `n = int(x); return f(n)`
        block[n:] = _decided(block[n:], name, values)


def _binds(statement: ast.stmt, name: str) -> bool:
    stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
    return any(n.id == name and isinstance(n.ctx, ast.Store) for n in stored)


def _decided(rest: list[ast.stmt], name: str, values: Sequence[int]) -> list[ast.stmt]:
    sides: list[list[ast.stmt]] = []
    for value in values:
        known = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
        sides.append([known, *copy.deepcopy(rest)])
    made = sides.pop()
    for value, side in zip(reversed(values[:-1]), reversed(sides)):
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(value)])
        made = [ast.If(test, side, made)]
    for statement in made:
        for node in ast.walk(statement):
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                ast.copy_location(node, rest[0])
    return made


def _split(body: list[ast.stmt], lines: frozenset[int]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for n, statement in enumerate(body):
        statement = as_statement(statement) if statement.lineno in lines else statement
        if isinstance(statement, ast.If) and statement.lineno in lines:
            rest = body[n + 1 :]
            statement.body = _joined(statement.body, rest)
            statement.orelse = _joined(statement.orelse, rest)
            body = [*body[: n + 1]]
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(statement, ast.ClassDef):
                setattr(statement, name, _split(inner, lines))
        made.append(statement)
        if len(body) == n + 1:
            break
    return made


def _joined(side: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
    if side and isinstance(side[-1], _EXITS):
        return side
    return [*side, *copy.deepcopy(rest)]


def as_statement(s: ast.stmt) -> ast.stmt:
    """A statement with `a if test else b` as an `if` of two; any other statement as it is.

    Example:
        >>> print(ast.unparse(as_statement(ast.parse("(a if t else b).append(x)").body[0])))
        if t:
            a.append(x)
        else:
            b.append(x)
    """
    choice = _ternary(s)
    if choice is None:
        return s
    sides: list[list[ast.stmt]] = []
    for value in (choice.body, choice.orelse):
        side = copy.deepcopy(s)
        mine = _ternary(side)
        assert mine is not None
        sides.append([_Replaces(mine, value).visit(side)])
    return ast.copy_location(ast.If(choice.test, *sides), s)


def _ternary(s: ast.AST) -> ast.IfExp | None:
    """The first `a if test else b` of a statement without a block that is always evaluated."""
    if hasattr(s, "body"):
        return None
    for child in ast.iter_child_nodes(s):
        if isinstance(child, ast.IfExp):
            return child
        found = None if isinstance(child, _LAZY) else _ternary(child)
        if found is not None:
            return found
    return None


class _Replaces(ast.NodeTransformer):
    """Puts an expression in the place of another."""

    def __init__(self, old: ast.IfExp, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """The other expression for the one; what stands inside of others stays."""
        return copy.deepcopy(self.new) if node is self.old else node


def around(function: ast.AST, line: int) -> list[int]:
    """The lines of the decisions that a line stands in, innermost first.

    Args:
        function: the function.
        line: a line.

    Returns:
        Those up to the innermost loop or function around the line.

    Example:
        >>> around(ast.parse("y = 1 if a else 2"), 1)
        [1]
    """
    found: list[int] = []
    for node in _path(function, line):
        if isinstance(node, (*_SCOPES, ast.For, ast.While)):
            found = []
        elif isinstance(node, ast.If) or _ternary(node) is not None:
            found.append(node.lineno)
    return found[::-1]


def _path(node: ast.AST, line: int) -> list[Any]:
    """The statements around a line, outermost first."""
    for child in ast.iter_child_nodes(node):
        inside = isinstance(child, (ast.stmt, ast.Lambda, ast.ExceptHandler, ast.match_case))
        if inside and _first(child) <= line <= _last(child):
            return [child, *_path(child, line)]
    return []


def _first(node: Any) -> int:
    return int(getattr(node, "lineno", None) or min(_first(c) for c in node.body))


def _last(node: Any) -> int:
    return int(getattr(node, "end_lineno", None) or max(_last(c) for c in node.body))
