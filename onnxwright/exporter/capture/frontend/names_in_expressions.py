"""Names that an expression binds (`:=`): bound in statements of their own, where that is the same.

The parts of `and`, `or` and of chains of comparisons are functions of their own where they decide,
and a name that is bound in one would be a name of that function.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

_VALUES = {ast.If: "test", ast.Assert: "test", ast.Assign: "value", ast.Return: "value",
           ast.Expr: "value", ast.AugAssign: "value"}  # fmt: skip


def bound_first(statement: ast.stmt, fresh: Callable[[], str]) -> list[ast.stmt]:
    """A statement after assignments of names that its expression binds.

    Args:
        statement: is not changed.
        fresh: gives a name for a value.

    Example:
        >>> def shown(text):
        ...     for s in bound_first(ast.parse(text).body[0], lambda: "value"):
        ...         print(ast.unparse(s))
        >>> shown("y = 0 < (n := f(x)) < 3")
        n = f(x)
        y = 0 < n < 3
        >>> shown("return x > 0 and (n := f(x)) > 1")
        value = x > 0
        if value:
            value = (n := f(x)) > 1
        return value
    """
    field = _VALUES.get(type(statement), "")
    value = getattr(statement, field, None)
    if value is None or not _binds(value):
        return [statement]
    first = _First()
    value = first.visit(copy.deepcopy(value))
    before: list[ast.stmt] = list(first.assignments)
    if isinstance(value, ast.BoolOp) and _binds(*value.values[1:]):
        name = fresh()
        before.append(_assign(name, value.values[0]))
        for part in value.values[1:]:
            test: ast.expr = ast.Name(name, ast.Load())
            if isinstance(value.op, ast.Or):
                test = ast.UnaryOp(ast.Not(), test)
            before.append(ast.If(test, [_assign(name, part)], []))
        value = ast.Name(name, ast.Load())
    made = copy.copy(statement)
    setattr(made, field, value)
    for one in before:
        ast.copy_location(one, statement)
    return [ast.fix_missing_locations(one) for one in (*before, made)]


def _binds(*nodes: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in ast.walk(node))


def _assign(name: str, value: Any) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value)


class _First(ast.NodeTransformer):
    """Takes out the names that are bound before anything else is done."""

    def __init__(self) -> None:
        self.assignments: list[ast.stmt] = []
        self.goes_on = True

    def visit(self, node: Any) -> Any:
        """A part, with its names taken out."""
        if not self.goes_on or isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.NamedExpr):
            self.assignments.append(_assign(node.target.id, node.value))
            return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        if isinstance(node, ast.BoolOp):
            node.values[0] = self.visit(node.values[0])
        elif isinstance(node, ast.IfExp):
            node.test = self.visit(node.test)
        elif isinstance(node, ast.Compare):
            node.left = self.visit(node.left)
            node.comparators[0] = self.visit(node.comparators[0])
        elif isinstance(node, ast.UnaryOp):
            node.operand = self.visit(node.operand)
        elif isinstance(node, ast.BinOp):
            node.left = self.visit(node.left)
            node.right = self.visit(node.right)
        self.goes_on = False
        return node
