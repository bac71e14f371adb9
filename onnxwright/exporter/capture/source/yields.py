"""Generators as functions that give the list of what they yield.

The list is complete before the first item is used.  That is the same where the generator changes
nothing but its own variables, and ends.
"""

from __future__ import annotations

import ast
from typing import Any

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.iterators import LazyIterator
from onnxwright.exporter.capture.source.names import names_of

_YIELDS = (ast.Yield, ast.YieldFrom)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LIST = "_ow_yielded"


def is_generator(body: list[ast.stmt]) -> bool:
    """Whether a function with this body is a generator."""
    return any(isinstance(n, _YIELDS) for s in body for n in _own_nodes(s))


def is_context_manager(node: ast.AST) -> bool:
    """Whether a function is a generator for `contextlib.contextmanager`.

    What follows its `yield` runs after the block of `with`: it is not rewritten.
    """
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(d).endswith("contextmanager") for d in decorators)


def without_yields(body: list[ast.stmt], span: Span) -> list[ast.stmt]:
    """The statements of a function, with a list in place of `yield`.

    Args:
        body: of the function; it is changed.
        span: of the function.

    Returns:
        The same statements for functions that are not generators.

    Raises:
        CannotRewriteError: the generator takes values, changes what is not its own, or has no end.
    """
    if not is_generator(body):
        return body
    nodes = [n for s in body for n in _own_nodes(s)]
    own = set(names_of(*body).bound)
    if any(_is_visible(n) or _is_effect(n, own) for n in nodes):
        raise CannotRewriteError("a generator that changes what is not its own", span)
    if any(isinstance(n, ast.While) and _is_endless(n) for n in nodes):
        raise CannotRewriteError("a generator that does not end", span)
    last = ast.copy_location(ast.Return(None), body[-1])
    made = [_Yields().visit(s) for s in [*body, last]]
    if is_generator(made):
        raise CannotRewriteError("a generator that takes values", span)
    first = ast.Assign([ast.Name(_LIST, ast.Store())], ast.List([], ast.Load()))
    return [ast.fix_missing_locations(ast.copy_location(s, body[0])) if s is first else s
            for s in (first, *made)]  # fmt: skip


def yielded(items: Any) -> Any:
    """What a generator gives: an iterator, or rows whose number is known at run time only."""
    return iter(items) if kind_of(items) is list else LazyIterator("generator", lambda: items)


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a statement outside the functions defined in it."""
    if isinstance(node, _SCOPES):
        return [node]
    return [node, *(n for child in ast.iter_child_nodes(node) for n in _own_nodes(child))]


def _is_visible(node: ast.AST) -> bool:
    """Whether a statement changes what others may read while the generator runs."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return isinstance(node.ctx, (ast.Store, ast.Del))
    return isinstance(node, (ast.Global, ast.Nonlocal))


def _is_effect(node: ast.AST, own: set[str]) -> bool:
    """Whether a statement calls a method of what is not the generator's: `log.append(x)`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    owner: ast.AST = node.value.func
    if not isinstance(owner, ast.Attribute):
        return False
    while isinstance(owner, (ast.Attribute, ast.Subscript)):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id not in own


def _is_endless(loop: ast.While) -> bool:
    """Whether a loop has no end of its own."""
    exits = (ast.Return, ast.Break, ast.Raise)
    inner = [n for s in loop.body for n in _own_nodes(s)]
    constant = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return constant and not any(isinstance(n, exits) for n in inner)


class _Yields(ast.NodeTransformer):
    """`yield x` as `items.append(x)`, `yield from x` as `items.extend(x)`, `return` as the list."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        value = node.value
        if isinstance(value, ast.Yield):
            name, item = "append", value.value or ast.Constant(None)
        elif isinstance(value, ast.YieldFrom):
            name, item = "extend", value.value
        else:
            return node
        method = ast.Attribute(ast.Name(_LIST, ast.Load()), name, ast.Load())
        made = ast.Expr(ast.Call(method, [item], []))
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        made = ast.Return(ast.Name(_LIST, ast.Load()))
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815
