"""Checks generated Python: it may hold only imports, definitions, data and operator calls.

The writer quotes everything that comes from a model; this check does not trust it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NoReturn

_IMPORTS = {"numpy": "np", "onnx": None, "ml_dtypes": None}
_FROM = frozenset({"onnxwright", "pathlib", "collections.abc", "typing"})
_BUILTINS = frozenset(
    {
        "object",
        "bool",
        "complex",
        "int",
        "float",
        "str",
        "list",
        "tuple",
        "dict",
        "range",
        "__file__",
    }
)
_STATEMENTS = (
    ast.Module, ast.Expr, ast.Assign, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Pass,
    ast.Import, ast.ImportFrom, ast.alias, ast.If, ast.For, ast.While, ast.Break,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Dict,
    ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.Slice,
)  # fmt: skip
_SYMBOLS = [
    symbol
    for kind in (ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    for symbol in kind.__subclasses__()
]
_NODES = frozenset((*_STATEMENTS, *_EXPRESSIONS, ast.Load, ast.Store, *_SYMBOLS))
# These are allowed, and hold nothing that could be refused.
_LEAVES = frozenset((ast.Constant, ast.Load, ast.Store, *_SYMBOLS))
# Fields that hold only leaves, texts and numbers.
_PLAIN_FIELDS = frozenset(("ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "module",
                           "level", "type_comment", "type_ignores"))  # fmt: skip
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _PLAIN_FIELDS)
    for kind in (*_STATEMENTS, *_EXPRESSIONS)
}
# A list in brackets that holds numbers only.
_NUMBERS = re.compile(r"\[[-+0-9.e, \n\[\]]{40,}\]")
# What may be called by an attribute that is not an operator of an opset.
_METHODS = frozenset(
    {"array", "zeros", "frombuffer", "load", "view", "reshape", "with_name", "to_model_proto",
     "to_function_proto"}
)  # fmt: skip


class UnsafeTextError(Exception):
    """The written Python holds something that no model should be able to put there."""


@dataclass
class Contents:
    """What can be checked only when all pieces of a written text are known.

    Attributes:
        bound: names that it binds.
        opsets: those of them that are opsets.
        read: names that it reads, with the line where each is read first.
        calls: names of which it calls methods, with the first call.
    """

    bound: set[str] = field(default_factory=set)
    opsets: set[str] = field(default_factory=set)
    read: dict[str, int] = field(default_factory=dict)
    calls: dict[str, ast.Call] = field(default_factory=dict)


@dataclass
class Compiled:
    """A written text that was checked, as code.

    Attributes:
        head, functions: the code of the text before the functions, and of the functions.
        tree: the tree of the functions, with its scripts alone.
        contents: what the functions need of the text before them.
    """

    head: CodeType
    functions: CodeType
    tree: ast.Module
    contents: Contents


def check_text(source: str) -> None:
    r"""Parse written Python and refuse whatever is not an import of ours, data or an op call.

    Args:
        source: the text.

    Raises:
        UnsafeTextError: it holds something else.

    Example:
        >>> check_text("import numpy as np\nx = np.zeros((2,))")
        >>> check_text("import os")
        Traceback (most recent call last):
            ...
        onnxwright.decompiler.guard.UnsafeTextError: line 1: an import of os
    """
    check_names(contents_of(ast.parse(source)))


def check_pieces(head: str, functions: str) -> None:
    """Check a text given as two pieces.

    Args:
        head: the text before the functions.
        functions: the rest; it starts on a new line.

    Raises:
        UnsafeTextError: it holds what `check_text` refuses.
    """
    needed = contents_of(ast.parse(head))
    check_names(needed, contents_of(_parse_below(head, functions)))


def compile_pieces(head: str, functions: str, file: str) -> Compiled:
    """Check and compile a text given as two pieces, one after the other: a tree is large.

    Args:
        head: the text before the functions.
        functions: the rest; it starts on a new line.
        file: where the text is taken to be.

    Returns:
        The code of both, and of the functions what else is needed.

    Raises:
        UnsafeTextError: it holds what `check_text` refuses.
    """
    tree = ast.parse(head)
    needed, first = contents_of(tree), compile(tree, file, "exec")
    tree = _parse_below(head, functions)
    contents = contents_of(tree)
    check_names(needed, contents)
    code = compile(tree, file, "exec")
    # Only scripts are looked up in it; all that the text says beside them takes as much memory.
    tree.body = [d for d in tree.body if isinstance(d, ast.FunctionDef) and d.decorator_list]
    return Compiled(first, code, tree, contents)


def _parse_below(head: str, functions: str) -> ast.Module:
    """The tree of the functions, with the lines that they have in the whole text."""
    return ast.parse("\n" * head.count("\n") + functions)


def contents_of(tree: ast.Module) -> Contents:
    """Check each syntax node of one piece of generated Python.

    Args:
        tree: the piece.

    Returns:
        What `check_names` needs of it.

    Raises:
        UnsafeTextError: it holds a syntax node that generated Python never has.
    """
    contents = Contents()
    stack: list[ast.AST | None] = [tree]
    while stack:
        node = stack.pop()
        kind = type(node)
        if node is None or kind in _LEAVES:
            continue
        if kind not in _NODES:
            raise UnsafeTextError(f"line {getattr(node, 'lineno', 0)}: {kind.__name__}")
        check = _CHECKS.get(kind)
        if check is not None:
            check(node, contents)
        for name in _FIELDS[kind]:
            value = getattr(node, name)
            if type(value) is list:
                stack += value
            elif value is not None:
                stack.append(value)
    return contents


def parse_head(head: str) -> ast.Module:
    """The tree of the text before the functions, where lists of numbers are `[0]`.

    Numbers are most of such a text, and nothing in them could be refused.

    Args:
        head: the text.

    Example:
        >>> ast.unparse(parse_head("x = f([" + "1.5, " * 20 + "2], y)"))
        'x = f([0], y)'
    """
    return ast.parse(_NUMBERS.sub(_short_list, head))


def _short_list(match: re.Match[str]) -> str:
    return "[0" + "\n" * match[0].count("\n") + "]"


def check_names(*pieces: Contents) -> None:
    """Check what the pieces of a text need of each other.

    Args:
        pieces: what `contents_of` gave for each.

    Raises:
        UnsafeTextError: a name that none of them binds, or a call of a non-operator.
    """
    bound = _BUILTINS.union(*(p.bound for p in pieces))
    opsets: set[str] = set().union(*(p.opsets for p in pieces))
    for piece in pieces:
        for name, line in piece.read.items():
            if name not in bound:
                raise UnsafeTextError(f"line {line}: the name {name}")
        for name, call in piece.calls.items():
            if name not in opsets:
                _refuse_call(call)


def _import(node: ast.Import, _found: Contents) -> None:
    for alias in node.names:
        if alias.name not in _IMPORTS or alias.asname != _IMPORTS[alias.name]:
            raise UnsafeTextError(f"line {node.lineno}: an import of {alias.name}")


def _import_from(node: ast.ImportFrom, _found: Contents) -> None:
    if node.module not in _FROM or node.level or any(a.name == "*" for a in node.names):
        raise UnsafeTextError(f"line {node.lineno}: an import from {node.module}")


def _alias(node: ast.alias, contents: Contents) -> None:
    name = node.asname or node.name
    contents.bound.add(name)
    if node.name.startswith("opset"):
        contents.opsets.add(name)


def _function(node: ast.FunctionDef, contents: Contents) -> None:
    contents.bound.add(node.name)


def _parameter(node: ast.arg, contents: Contents) -> None:
    contents.bound.add(node.arg)


def _name(node: ast.Name, contents: Contents) -> None:
    if isinstance(node.ctx, ast.Store):
        contents.bound.add(node.id)
    else:
        contents.read.setdefault(node.id, node.lineno)


def _assign(node: ast.Assign, contents: Contents) -> None:
    callee = node.value.func if isinstance(node.value, ast.Call) else None
    if isinstance(callee, ast.Name) and callee.id == "Opset":
        contents.opsets.update(t.id for t in node.targets if isinstance(t, ast.Name))


def _attribute(node: ast.Attribute, _found: Contents) -> None:
    if node.attr.startswith("__"):
        raise UnsafeTextError(f"line {node.lineno}: the attribute {node.attr}")


def _call(node: ast.Call, contents: Contents) -> None:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr not in _METHODS:
            if not isinstance(function.value, ast.Name):
                _refuse_call(node)
            contents.calls.setdefault(function.value.id, node)
    elif isinstance(function, ast.Call):
        inner = function.func
        if not (isinstance(inner, ast.Name) and inner.id == "Op"):
            raise UnsafeTextError(f"line {node.lineno}: a call of a call")
    elif not isinstance(function, ast.Name):
        raise UnsafeTextError(f"line {node.lineno}: a call of {type(function).__name__}")


_CHECKS: dict[type[ast.AST], Callable[[Any, Contents], None]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.alias: _alias,
    ast.FunctionDef: _function,
    ast.arg: _parameter,
    ast.Name: _name,
    ast.Assign: _assign,
    ast.Attribute: _attribute,
    ast.Call: _call,
}


def _refuse_call(node: ast.Call) -> NoReturn:
    """Refuse a call of a method of what is not an opset."""
    raise UnsafeTextError(f"line {node.lineno}: a call of {ast.unparse(node.func)[:60]}")
