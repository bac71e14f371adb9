"""What an expression of Python is: a question of the rewriting, about its tree alone."""

from __future__ import annotations

import ast
import math

# Parts that cannot move into a function of their own.
_FIXED = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def is_static(node: ast.AST) -> bool:
    """Whether a test is known where it is written: a variable may be None at run time only.

    Example:
        >>> is_static(ast.parse("not False", mode="eval").body)
        True
        >>> is_static(ast.parse("x is None", mode="eval").body)
        False
    """
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_static(node.operand)
    return isinstance(node, ast.BoolOp) and all(map(is_static, node.values))


def is_math(node: ast.Call, local: set[str]) -> bool:
    """Whether a call may be one of a function of `math`."""
    if node.keywords or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        return isinstance(owner, ast.Name) and owner.id == "math" and "math" not in local
    return isinstance(function, ast.Name) and function.id not in local and function.id in vars(math)


def may_be_number(index: ast.expr) -> bool:
    """Whether an index may be a number that is not written out."""
    others = (ast.Slice, ast.Tuple, ast.List)
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return not isinstance(index, others) and not isinstance(index, ast.Constant)


def is_length(node: ast.expr) -> bool:
    """Whether an expression is `len(items)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    one = len(node.args) == 1 and not node.keywords and not is_starred(node.args[0])
    return one and node.func.id == "len"


def asks_empty(node: ast.Compare) -> bool | None:
    """Whether a comparison holds for an empty container; None if it does not ask that."""
    number = node.comparators[0]
    if len(node.ops) > 1 or not is_length(node.left) or not isinstance(number, ast.Constant):
        return None
    asked = {(ast.Eq, 0): True, (ast.LtE, 0): True, (ast.Lt, 1): True}
    asked |= {(ast.NotEq, 0): False, (ast.Gt, 0): False, (ast.GtE, 1): False}
    return asked.get((type(node.ops[0]), number.value)) if type(number.value) is int else None


def is_bound(node: ast.expr) -> bool:
    """Whether the start or the end of a slice may be known at run time only."""
    return may_be_number(node) and not is_fixed(node)


def is_open(index: ast.expr) -> bool:
    """Whether an index is a slice of which a bound may be known at run time only."""
    if not isinstance(index, ast.Slice) or index.step is not None:
        return False
    return any(end is not None and is_bound(end) for end in (index.lower, index.upper))


def is_starred(node: ast.expr) -> bool:
    """Whether an expression is `*items`."""
    return isinstance(node, ast.Starred)


def is_place(node: ast.expr) -> bool:
    """Whether an expression is an item at a place that may be known at run time only."""
    return isinstance(node, ast.Subscript) and may_be_number(node.slice)


def is_fixed(node: ast.AST) -> bool:
    """Whether an expression has parts that cannot move into a function of their own."""
    return any(isinstance(inner, _FIXED) for inner in ast.walk(node))
