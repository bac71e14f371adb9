"""Where a node comes from: the module of a network, the Python line, rules of the optimizer."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

import onnx

_SCOPES = "pkg.torch.onnx.name_scopes"
_ORIGIN = "onnxwright.origin"
_RULES = "onnxwright.rules"
# `file:line:col`, perhaps with the end.
_PLACE = re.compile(r"(.+?):(\d+):\d+(?:-\d+:\d+)?")


def module_of(node: onnx.NodeProto) -> str:
    """The module of a network that a node belongs to, such as `layers.0.attention`.

    Args:
        node: the node; exporters write it into the metadata, or into the name.

    Returns:
        The module's path; empty if none is recorded.

    Example:
        >>> module_of(onnx.NodeProto(name="/layers.0/mlp/MatMul"))
        'layers.0/mlp'
    """
    for entry in node.metadata_props:
        if entry.key == _SCOPES:
            return _scope(entry.value)
    return node.name.rpartition("/")[0].strip("/") if "/" in node.name else ""


def _scope(text: str) -> str:
    """The innermost module of a list of scopes, whose last is the operation itself."""
    try:
        scopes = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    if not isinstance(scopes, list) or not all(isinstance(s, str) for s in scopes):
        return ""
    return next((s for s in reversed(scopes[:-1]) if s and not s.startswith("_empty_nn_")), "")


def place_of(node: onnx.NodeProto) -> str:
    """Where a node was written, in short: `model.py:12`, or the module.

    Returns:
        The place; empty if none is recorded.
    """
    for entry in node.metadata_props:
        match = _PLACE.fullmatch(entry.value) if entry.key == _ORIGIN else None
        if match is not None:
            return f"{PurePosixPath(match[1].replace(chr(92), '/')).name}:{match[2]}"
    return module_of(node)


def rules_of(node: onnx.NodeProto) -> tuple[str, ...]:
    """The rules of the optimizer that made a node, in the order of their use.

    Returns:
        Their names; none where nothing is recorded.
    """
    texts = [entry.value for entry in node.metadata_props if entry.key == _RULES]
    return tuple(texts[0].split(", ")) if texts and texts[0] else ()
