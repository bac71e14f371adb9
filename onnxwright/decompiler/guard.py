"""A second look at written Python: only imports, definitions, data and op calls may stand in it.

The writer quotes everything that comes from a model; this check does not trust it.
"""

from __future__ import annotations

import ast

_IMPORTS = {"numpy": "np", "onnx": None, "ml_dtypes": None}
_FROM = frozenset({"onnxwright", "pathlib", "collections.abc"})
_BUILTINS = frozenset(
    {"object", "bool", "complex", "int", "float", "str", "list", "tuple", "range", "__file__"}
)
_NODES = (
    ast.Module, ast.Expr, ast.Assign, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Pass,
    ast.Import, ast.ImportFrom, ast.alias, ast.If, ast.For, ast.While, ast.Break, ast.Constant,
    ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple,
    ast.Dict, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.Slice,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
# What may be called by an attribute that is not an operator of an opset.
_METHODS = frozenset(
    {"array", "zeros", "frombuffer", "load", "view", "reshape", "with_name", "to_model_proto",
     "to_function_proto"}
)  # fmt: skip


class UnsafeTextError(Exception):
    """The written Python holds something that no model should be able to put there."""


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
    tree = ast.parse(source)
    known = set(_BUILTINS)
    opsets: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            name = node.asname or node.name
            known.add(name)
            if node.name.startswith("opset"):
                opsets.add(name)
        elif isinstance(node, ast.FunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = node.value.func
            if isinstance(made, ast.Name) and made.id == "Opset":
                opsets.update(t.id for t in node.targets if isinstance(t, ast.Name))
    for node in ast.walk(tree):
        _check(node, known, opsets)


def _check(node: ast.AST, known: set[str], opsets: set[str]) -> None:
    line = getattr(node, "lineno", 0)
    if not isinstance(node, _NODES):
        raise UnsafeTextError(f"line {line}: {type(node).__name__}")
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name not in _IMPORTS or alias.asname != _IMPORTS[alias.name]:
                raise UnsafeTextError(f"line {line}: an import of {alias.name}")
    elif isinstance(node, ast.ImportFrom):
        if node.module not in _FROM or node.level or any(a.name == "*" for a in node.names):
            raise UnsafeTextError(f"line {line}: an import from {node.module}")
    elif isinstance(node, ast.Name):
        if node.id not in known:
            raise UnsafeTextError(f"line {line}: the name {node.id}")
    elif isinstance(node, ast.Attribute):
        if node.attr.startswith("__"):
            raise UnsafeTextError(f"line {line}: the attribute {node.attr}")
    elif isinstance(node, ast.Call):
        _check_call(node, opsets)


def _check_call(node: ast.Call, opsets: set[str]) -> None:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr not in _METHODS:
        owner = function.value
        if not (isinstance(owner, ast.Name) and owner.id in opsets):
            raise UnsafeTextError(f"line {node.lineno}: a call of {ast.unparse(function)[:60]}")
    elif isinstance(function, ast.Call):
        inner = function.func
        if not (isinstance(inner, ast.Name) and inner.id == "Op"):
            raise UnsafeTextError(f"line {node.lineno}: a call of a call")
    elif not isinstance(function, (ast.Attribute, ast.Name)):
        raise UnsafeTextError(f"line {node.lineno}: a call of {type(function).__name__}")


__all__ = ["UnsafeTextError", "check_text"]
