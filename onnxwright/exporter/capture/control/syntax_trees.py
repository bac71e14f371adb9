"""Copies and places of syntax trees.

Only nodes are copied and placed; a context (`ast.Load`) or an operator (`ast.Add`) has nothing to
change.  A tree that was placed is not walked again.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple, TypeVar

from onnxwright.diagnostics.span import Span

_Node = TypeVar("_Node", bound=ast.AST)

_BARE = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
# The classes of what is in nodes and is no node with parts.
_PLAIN: frozenset[type] = frozenset(
    [
        int,
        str,
        bool,
        float,
        bytes,
        type(None),
        *(k for kind in _BARE for k in kind.__subclasses__()),
    ]
)
# A node on which it is noted has no part without a place. Passes may still add some, until all of
# the tree is placed.
_PLACED = "_ow_placed"
_SOME, _ALL = "some", "all"


class Place(NamedTuple):
    """Where a node stands in its file, in the fields of `ast`."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None

    @classmethod
    def of(cls, node: Any) -> Place:
        """The place of a node."""
        return cls(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    @classmethod
    def start(cls, span: Span) -> Place:
        """The start of a span, on one line: Python counts a call of several as its last."""
        return cls(span.line, span.col, span.line, span.col)

    def on_one_line(self) -> Place:
        """The start of this place."""
        return Place(self.lineno, self.col_offset, self.lineno, self.col_offset)


def copied(node: _Node) -> _Node:
    """A copy of a tree, with what the passes noted on its nodes.

    Example:
        >>> tree = ast.parse("x + 1", mode="eval")
        >>> copy = copied(tree)
        >>> ast.unparse(copy), copy.body is tree.body
        ('x + 1', False)
    """
    new_node = type(node).__new__(type(node))
    values = new_node.__dict__
    for name, value in node.__dict__.items():
        values[name] = _copied_value(value)
    values.pop(_PLACED, None)
    return new_node


def _copied_value(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return value if isinstance(value, _BARE) else copied(value)
    return list(map(_copied_value, value)) if isinstance(value, list) else value


def placed(node: _Node, place: Place) -> _Node:
    """A tree, with a place for each node that has none.

    Args:
        node: the tree; is changed.
        place: for those nodes.

    Returns:
        The tree.
    """
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        values = one.__dict__
        if _PLACED in values:
            continue
        if one._attributes and "lineno" not in values:
            values.update(zip(Place._fields, place))
        waiting += children(values)
    node.__dict__[_PLACED] = _SOME
    return node


def placed_by_parents(node: _Node, place: Place, *, one_line: bool) -> _Node:
    """A tree whose nodes without a place get that of the node around.

    Args:
        node: the tree; is changed.
        place: of what is around it.
        one_line: whether they get the first line alone.

    Returns:
        The tree.
    """
    waiting = [(node.__dict__, bool(node._attributes), place)]
    while waiting:
        values, has_place, around = waiting.pop()
        if values.get(_PLACED) is _ALL:
            continue
        if has_place:
            if "lineno" not in values:
                values.update(zip(Place._fields, around.on_one_line() if one_line else around))
            around = Place(
                values["lineno"],
                values["col_offset"],
                values.get("end_lineno"),
                values.get("end_col_offset"),
            )
        waiting += [(c.__dict__, bool(c._attributes), around) for c in children(values)]
    node.__dict__[_PLACED] = _ALL
    return node


def children(values: dict[str, Any]) -> list[ast.AST]:
    """The nodes with parts that are in the fields of a node, as its `__dict__` has them."""
    nodes: list[ast.AST] = []
    for value in values.values():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, list):
            nodes += [v for v in value if type(v) not in _PLAIN]
        elif isinstance(value, ast.AST):
            nodes.append(value)
    return nodes


class Transformer(ast.NodeTransformer):
    """A transformer of trees of functions, which are large: it visits only nodes with parts."""

    def visit(self, node: ast.AST) -> Any:
        """Visit a node by the method for its class."""
        method = _method(type(self), type(node))
        return self.generic_visit(node) if method is None else method(self, node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the parts of a node, and put what is made of them in their place."""
        for name, value in [*node.__dict__.items()]:
            if type(value) in _PLAIN:
                continue
            if isinstance(value, list):
                value[:] = self.visited(value)
            elif isinstance(value, ast.AST):
                replacement = self.visit(value)
                if replacement is None:
                    delattr(node, name)
                else:
                    setattr(node, name, replacement)
        return node

    def visited(self, parts: list[Any]) -> list[Any]:
        """What is made of a list of nodes."""
        new_parts: list[Any] = []
        for part in parts:
            replacement = part if type(part) in _PLAIN else self.visit(part)
            if isinstance(replacement, list):
                new_parts += replacement
            elif replacement is not None or part is None:
                new_parts.append(replacement)
        return new_parts


_METHODS: dict[tuple[type, type], Any] = {}


def _method(kind: type, node: type) -> Any:
    """The method of a transformer for a class of nodes; None where it has none of its own."""
    if (kind, node) not in _METHODS:
        name = f"visit_{node.__name__}"
        method = getattr(kind, name, None)
        _METHODS[kind, node] = None if method is getattr(ast.NodeVisitor, name, None) else method
    return _METHODS[kind, node]
