"""Runs written Python in a namespace of its own and takes the model it makes."""

from __future__ import annotations

import ast
import hashlib
import linecache
from typing import Any

import onnx


def rebuild(
    source: str, file: str | None = None, tree: ast.Module | None = None
) -> onnx.ModelProto | onnx.FunctionProto:
    """The model or function that the text of `to_script` makes.

    Args:
        source: the text.
        file: where the text is taken to be, for weights beside it.
        tree: its syntax tree, if it is parsed already.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.decompiler import to_script
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> rebuild(to_script(onnx.helper.make_model(g))).graph.node[0].op_type
        'Relu'
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    name = file or f"<written {digest}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": f"written_{digest}", "__file__": name}
    # exec: of text that `to_script` wrote, which holds nothing but quoted data and op calls.
    exec(compile(source if tree is None else tree, name, "exec"), space)  # noqa: S102
    made = space.get("make_model") or space["make_function"]
    try:
        return made()  # type: ignore[no-any-return]
    finally:
        close = getattr(space.get("weights"), "close", None)
        if close is not None:  # an .npz that the text opens
            close()
        if file is None:
            linecache.cache.pop(name, None)


__all__ = ["rebuild"]
