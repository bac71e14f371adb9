"""Runs written Python in a namespace of its own and takes the model it makes."""

from __future__ import annotations

import hashlib
import linecache
from types import CodeType
from typing import Any

import onnx

from onnxwright.converter.frontend.capture import known_module
from onnxwright.decompiler.guard import Contents, compile_pieces


def _name_of(source: str) -> str:
    """The name that stands for the file of a text that is in none."""
    return f"<written {hashlib.sha256(source.encode()).hexdigest()[:16]}>"


def rebuild(source: str, file: str | None = None) -> onnx.ModelProto | onnx.FunctionProto:
    """The model or function that the text of `to_script` makes.

    Args:
        source: the text.
        file: where the text is taken to be, for weights beside it.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.decompiler import to_script
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> rebuild(to_script(onnx.helper.make_model(g))).graph.node[0].op_type
        'Relu'
    """
    name = file or _name_of(source)
    return _execute(source, name, compile(source, name, "exec"), keep=file is not None)


def rebuild_pieces(
    head: str, functions: str
) -> tuple[onnx.ModelProto | onnx.FunctionProto, Contents]:
    """Check a text in two pieces, and what it makes.

    Args:
        head: the text before the functions.
        functions: the rest.

    Returns:
        The model or function, and what the functions need of another head.

    Raises:
        UnsafeTextError: it holds what no written text holds; nothing of it has run.
    """
    source = head + functions
    name = _name_of(source)
    compiled = compile_pieces(head, functions, name)
    with known_module(source, compiled.tree, compiled.functions):
        return _execute(source, name, compiled.head, compiled.functions), compiled.contents


def _execute(
    source: str, name: str, *codes: CodeType, keep: bool = False
) -> onnx.ModelProto | onnx.FunctionProto:
    """The model or function that the code of a text builds.

    The lines of the text are kept for messages where it has a file.
    """
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "written_module", "__file__": name}
    for code in codes:
        # exec: of text that `to_script` wrote, which holds nothing but quoted data and op calls.
        exec(code, space)  # noqa: S102
    factory = space.get("make_model") or space["make_function"]
    try:
        return factory()  # type: ignore[no-any-return]
    finally:
        close = getattr(space.get("weights"), "close", None)
        if close is not None:  # an .npz that the text opens
            close()
        space.clear()  # its functions hold it: they would wait for the collector with their trees
        if not keep:
            linecache.cache.pop(name, None)
