"""Runs written Python in a namespace of its own and takes the model it makes."""

from __future__ import annotations

import ast
import hashlib
import linecache
from types import CodeType
from typing import Any

import onnx


def code_of(source: str, tree: ast.Module | None = None, file: str | None = None) -> CodeType:
    """The code of a text of `to_script`.

    Args:
        source: the text.
        tree: its syntax tree, if it is parsed already.
        file: where the text is taken to be.

    Example:
        >>> code_of("x = 1").co_names
        ('x',)
    """
    made: CodeType = compile(source if tree is None else tree, file or _name_of(source), "exec")
    return made


def _name_of(source: str) -> str:
    return f"<written {hashlib.sha256(source.encode()).hexdigest()[:16]}>"


def rebuild(
    source: str, file: str | None = None, code: CodeType | None = None
) -> onnx.ModelProto | onnx.FunctionProto:
    """The model or function that the text of `to_script` makes.

    Args:
        source: the text.
        file: where the text is taken to be, for weights beside it.
        code: what `code_of` gave for it, if it is compiled already.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.decompiler import to_script
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> rebuild(to_script(onnx.helper.make_model(g))).graph.node[0].op_type
        'Relu'
    """
    name = file or _name_of(source)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "written_module", "__file__": name}
    # exec: of text that `to_script` wrote, which holds nothing but quoted data and op calls.
    exec(code or code_of(source, file=file), space)  # noqa: S102
    made = space.get("make_model") or space["make_function"]
    try:
        return made()  # type: ignore[no-any-return]
    finally:
        close = getattr(space.get("weights"), "close", None)
        if close is not None:  # an .npz that the text opens
            close()
        if file is None:
            linecache.cache.pop(name, None)
