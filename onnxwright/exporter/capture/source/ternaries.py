"""`(a if test else b).append(x)` as an `if` of two statements: what is changed is one of two."""

from __future__ import annotations

import ast
import copy

# What is evaluated for some values only.
_LAZY = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp)


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
