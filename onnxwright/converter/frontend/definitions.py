"""The definition of a function in the syntax tree of its file, by its code object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType
from typing import Any, Union

FunctionNode = Union[ast.FunctionDef, ast.Lambda]
# Where a tree keeps the functions that were found in it: a file of many scripts is walked once.
_INDEX = "_ow_definitions"
_LAMBDAS = "_ow_lambdas"


def definition_of(tree: ast.AST, code: CodeType, first_line: int | None) -> FunctionNode | None:
    """The definition that made a code object: same name, first line and parameters.

    Args:
        first_line: where the definition or its first decorator begins; None if not known.

    Returns:
        The node; None if the tree has none.

    Example:
        >>> tree = ast.parse("def f(x): return x")
        >>> code = compile(tree, "f.py", "exec").co_consts[0]
        >>> definition_of(tree, code, 1).name
        'f'
    """
    nodes: list[FunctionNode] = []
    is_lambda = code.co_name == "<lambda>"
    for line, node in _lambdas(tree) if is_lambda else _definitions(tree).get(code.co_name, ()):
        if first_line in (None, line) and _same_parameters(node, code):
            nodes.append(node)
    if len(nodes) > 1 and is_lambda:
        nodes = [n for n in nodes if isinstance(n, ast.Lambda) and _same_position(n, code)] or nodes
    return nodes[0] if nodes else None


def _definitions(tree: ast.AST) -> dict[str, list[tuple[int, FunctionNode]]]:
    """The functions of a file by name, with their first lines; found once for each tree."""
    index: dict[str, list[tuple[int, FunctionNode]]] | None = getattr(tree, _INDEX, None)
    if index is not None:
        return index
    index = {}
    for node in _statements(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            index.setdefault(node.name, []).append((line, node))  # type: ignore[arg-type]
    setattr(tree, _INDEX, index)
    return index


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, in the order of the text; expressions hold no definition but lambdas."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        inner = [
            child
            for field in ("body", "handlers", "cases", "orelse", "finalbody")
            for child in _children(node, field)
        ]
        waiting += reversed(inner)


def _children(node: ast.AST, field: str) -> list[ast.AST]:
    child = getattr(node, field, None)
    return child if isinstance(child, list) else []


def _lambdas(tree: ast.AST) -> list[tuple[int, FunctionNode]]:
    """The lambdas of a file with their lines; found once for each tree."""
    index: list[tuple[int, FunctionNode]] | None = getattr(tree, _LAMBDAS, None)
    if index is None:
        index = [(n.lineno, n) for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
        setattr(tree, _LAMBDAS, index)
    return index


def _same_parameters(node: Any, code: CodeType) -> bool:
    a = node.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    count = code.co_argcount + code.co_kwonlyargcount
    return len(positional) == count and [_unmangled(p) for p in code.co_varnames[:count]] == [
        _unmangled(p) for p in positional
    ]


def _unmangled(name: str) -> str:
    """A private name of a class without the class in front."""
    if name.startswith("_") and "__" in name[1:]:
        return name[name.index("__", 1) :]
    return name


def _same_position(node: ast.Lambda, code: CodeType) -> bool:
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return True
    columns = [p[2] for p in positions() if p[2] is not None and p[0] == node.body.lineno]
    low, high = node.body.col_offset, node.body.end_col_offset or 0
    return any(low <= c <= high for c in columns if c)
