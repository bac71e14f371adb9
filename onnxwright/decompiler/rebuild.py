"""Runs written Python in a namespace of its own and takes the model it makes."""

from __future__ import annotations

import ast
import hashlib
import linecache
from types import CodeType
from typing import Any

import onnx

from onnxwright.converter.frontend.capture import known_module


def _name_of(source: str) -> str:
    """The name that stands for the file of a text that is in none."""
    return f"<written {hashlib.sha256(source.encode()).hexdigest()[:16]}>"


def rebuild(
    source: str, file: str | None = None, tree: ast.Module | None = None
) -> onnx.ModelProto | onnx.FunctionProto:
    """The model or function that the text of `to_script` makes.

    Args:
        source: the text.
        file: where the text is taken to be, for weights beside it.
        tree: its syntax tree, if it is parsed already; its scripts alone are left in it.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.decompiler import to_script
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> rebuild(to_script(onnx.helper.make_model(g))).graph.node[0].op_type
        'Relu'
    """
    name = file or _name_of(source)
    if tree is None:
        return _made_by(source, name, compile(source, name, "exec"), keep=file is not None)
    code = compile(tree, name, "exec")
    # Only scripts are looked up in it; all that the text says beside them takes as much memory.
    tree.body = [d for d in tree.body if isinstance(d, ast.FunctionDef) and d.decorator_list]
    with known_module(source, tree, code):
        return _made_by(source, name, code, keep=file is not None)


def _made_by(
    source: str, name: str, code: CodeType, *, keep: bool
) -> onnx.ModelProto | onnx.FunctionProto:
    """What the code of a text makes; its lines are kept for messages where it has a file."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "written_module", "__file__": name}
    # exec: of text that `to_script` wrote, which holds nothing but quoted data and op calls.
    exec(code, space)  # noqa: S102
    made = space.get("make_model") or space["make_function"]
    try:
        return made()  # type: ignore[no-any-return]
    finally:
        close = getattr(space.get("weights"), "close", None)
        if close is not None:  # an .npz that the text opens
            close()
        if not keep:
            linecache.cache.pop(name, None)
