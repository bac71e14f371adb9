"""`try` whose `except` or `else` decides, as one that records what it caught, with these after it.

For the passes a decision is a statement of the function, not of what stands in a `try`.
"""

from __future__ import annotations

import ast
from typing import Any

_DECIDES = (
    ast.If, ast.For, ast.While, ast.IfExp, ast.BoolOp, ast.Match, ast.Return, ast.Break,
    ast.Continue, ast.comprehension,
)  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def decides_outside_body(s: ast.Try) -> bool:
    """Whether an `except` or the `else` of a `try` decides or is left."""
    bodies = [x for handler in s.handlers for x in handler.body]
    return _decides([*bodies, *s.orelse])


def without_decisions(s: ast.Try, name: str) -> list[ast.stmt]:
    r"""The same with `except` and `else` after it.

    Args:
        name: of a new variable, which holds the error that was caught.

    Returns:
        Statements.

    Example:
        >>> tree = ast.parse("try:\n    f()\nexcept OSError as e:\n    g(e)\nelse:\n    h()")
        >>> print(ast.unparse(without_decisions(tree.body[0], "c")))
        _ow_c = (0, None)
        try:
            f()
        except OSError as e:
            _ow_c = (1, e)
        if _ow_c[0] == 1:
            e = _ow_c[1]
            g(e)
        else:
            h()
    """
    name = f"_ow_{name.lstrip('%')}"
    catching: list[ast.ExceptHandler] = []
    after: list[ast.stmt] = list(s.orelse)
    for n, handler in reversed(list(enumerate(s.handlers, 1))):
        error = handler.name or f"{name}_error"
        held = ast.Tuple([ast.Constant(n), ast.Name(error, ast.Load())], ast.Load())
        made = ast.ExceptHandler(handler.type or _name("BaseException"), error, [_set(name, held)])
        made.last = handler.body[-1]  # type: ignore[attr-defined] # whether it raises again
        catching.insert(0, ast.copy_location(made, handler))
        body: list[ast.stmt] = [_Raises(name).visit(x) for x in handler.body]
        if handler.name:
            body.insert(0, _set(handler.name, _item(name, 1)))
        test = ast.Compare(_item(name, 0), [ast.Eq()], [ast.Constant(n)])
        after = [ast.If(test, body, after)]
    nothing = ast.Tuple([ast.Constant(0), ast.Constant(None)], ast.Load())
    bare = ast.Try(s.body, catching, [], [])
    out: list[ast.stmt] = [_set(name, nothing), *([bare] if catching else s.body), *after]
    if s.finalbody:
        out = [ast.Try(out, [], [], s.finalbody)]
    for made_statement in out:
        for x in ast.walk(made_statement):
            if "lineno" in x._attributes and not hasattr(x, "lineno"):
                ast.copy_location(x, s)
    return out


class _Raises(ast.NodeTransformer):
    """`raise` alone raises what was caught."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        if node.exc is None:
            node.exc = _item(self.name, 1)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """What a function raises is its own."""
        return node


def _decides(nodes: list[Any]) -> bool:
    return any(
        isinstance(x, _DECIDES)
        or (not isinstance(x, _FUNCTIONS) and _decides(list(ast.iter_child_nodes(x))))
        for x in nodes
    )


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _item(name: str, place: int) -> ast.expr:
    return ast.Subscript(_name(name), ast.Constant(place), ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
