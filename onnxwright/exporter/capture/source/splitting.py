"""The rest of a function on both sides of a decision, where its sides cannot be one value.

After `mask = None if x.sum() > 0 else m` no tensor stands for `mask`.  With all that follows on
both sides of the decision it is plain Python on each; only the results of the function meet.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_LAZY = (
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp,
)  # fmt: skip


def split(node: ast.AST, line: int) -> bool:
    r"""Put what follows a decision on both sides of it.

    Args:
        node: a function; it is changed.
        line: of the decision: an `if`, or an `a if test else b` in a statement.

    Returns:
        Whether there is such a decision that something follows.

    Example:
        >>> text = "def f(x):\n    m = None if x > 0 else x\n    return x if m is None else m"
        >>> tree = ast.parse(text)
        >>> split(tree.body[0], 2)
        True
        >>> print(ast.unparse(tree))
        def f(x):
            if x > 0:
                m = None
                return x if m is None else m
            else:
                m = x
                return x if m is None else m
    """
    blocks = [b for b in (getattr(node, name, None) for name in _BLOCKS) if isinstance(b, list)]
    found = [_split(block, line) for block in blocks]
    return any(found)


_BLOCKS = ("body", "orelse", "finalbody")


def _split(block: list[ast.stmt], line: int) -> bool:
    """Split the statements of a block that have the decision in them."""
    for n, s in enumerate(block):
        if not (s.lineno <= line <= (s.end_lineno or s.lineno)):
            continue
        if isinstance(s, ast.If) and s.test.lineno <= line <= (s.test.end_lineno or line):
            return _with_rest(block, n, s)
        if isinstance(s, ast.If):
            # What follows this `if` follows the decision in it, too.
            _with_rest(block, n, s)
            return any([_split(s.body, line), _split(s.orelse, line)])
        if hasattr(s, "body"):
            return any(
                _split(b, line)
                for b in (getattr(s, name, None) for name in _BLOCKS)
                if isinstance(b, list)
            )
        made = _as_if(s, line)
        if made is not None:
            block[n] = made
            _with_rest(block, n, made)
            return True
    return False


def _with_rest(block: list[ast.stmt], n: int, s: ast.If) -> bool:
    """Move what follows an `if` into both of its sides; whether anything does."""
    rest = block[n + 1 :]
    del block[n + 1 :]
    for side in (s.body, s.orelse):
        if not side or not isinstance(side[-1], _ENDS):
            side += copy.deepcopy(rest)
    return bool(rest)


def _as_if(s: ast.stmt, line: int) -> ast.If | None:
    """A statement with `a if test else b` as an `if` of two statements."""
    found = _ternary(s, line)
    if found is None:
        return None
    sides = []
    for value in (found.body, found.orelse):
        side = copy.deepcopy(s)
        mine = _ternary(side, line)
        assert mine is not None
        sides.append(_Replaces(mine, value).visit(side))
    made = ast.If(copy.deepcopy(found.test), [sides[0]], [sides[1]])
    return ast.copy_location(made, s)


def _ternary(s: ast.AST, line: int) -> ast.IfExp | None:
    """The first `a if test else b` of a line that is always evaluated."""
    for child in ast.iter_child_nodes(s):
        if isinstance(child, ast.IfExp) and child.lineno <= line <= (child.end_lineno or line):
            return child
        if isinstance(child, _LAZY):
            continue
        found = _ternary(child, line)
        if found is not None:
            return found
    return None


class _Replaces(ast.NodeTransformer):
    """Puts an expression in the place of another."""

    def __init__(self, old: ast.IfExp, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return copy.deepcopy(self.new) if node is self.old else node


def split_all(node: ast.AST, file: str, places: Sequence[tuple[str, int]]) -> None:
    """Split a function at the decisions of its file, in order.

    Args:
        node: the function; it is changed.
        file: its file.
        places: files and lines.
    """
    for name, line in places:
        if name == file:
            split(node, line)
