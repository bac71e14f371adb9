"""`Scopes`: the modules that nodes are written in, as metadata that tools read from exports too."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from contextlib import contextmanager

import onnx_ir as ir

from onnxwright.diagnostics.catalogue.builder import BadName
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.builder import Recorder

CLASSES = "pkg.torch.onnx.class_hierarchy"
"""The key under which a node has the classes of the modules around it, as torch.onnx writes it."""

SCOPES = "pkg.torch.onnx.name_scopes"
"""The key under which a node has the paths of the modules around it, as torch.onnx writes it."""

_Path = tuple[tuple[str, str], ...]


class Scopes:
    """Remembers in which modules nodes are made, and writes it when the graph is finished.

    Args:
        recorder: whose nodes they are.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._open: _Path = ()
        self._of: dict[ir.Node, _Path] = {}

    @contextmanager
    def inside(self, name: object, kind: object) -> Iterator[None]:
        """Let nodes belong to a module while `with` lasts.

        Args:
            name: its name in the module around it, such as `layers.0`.
            kind: its class, or the name of that, or None.

        Raises:
            ScriptNameError: the name is not a text, or is empty (OW549).
        """
        if not isinstance(name, str) or not name:
            fail(BadName(given=repr(name)))
        before = self._open
        path = f"{before[-1][0]}.{name}" if before else name
        self._open = (*before, (path, _class_name(kind)))
        self.recorder.on_node = self._note
        try:
            yield
        finally:
            self._open = before
            if not before:
                self.recorder.on_node = None

    def _note(self, node: ir.Node) -> None:
        self._of[node] = self._open

    def named(self) -> set[ir.Node]:
        """The nodes that were given a name; the others get one when the graph is finished."""
        return {node for node in self._of if node.name}

    def write(self, named: Container[ir.Node]) -> None:
        """Write the modules into the metadata of the nodes.

        Args:
            named: the nodes that were given a name; others are called after what they make.
        """
        for node, path in self._of.items():
            first = node.outputs[0].name if node.outputs else None
            name = node.name if node in named else first
            _write(node, path, name or node.op_type)


def _class_name(kind: object) -> str:
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    return "" if kind is None else str(kind)


def _write(node: ir.Node, path: _Path, name: str) -> None:
    """The modules of one node; those that it has from another model are inside of these."""
    prefix = path[-1][0]
    inner, kinds = _texts(node, SCOPES), _texts(node, CLASSES)
    if len(inner) == len(kinds) and inner:
        inner = [f"{prefix}.{p}" if p else prefix for p in inner[:-1]]
        name = _texts(node, SCOPES)[-1]
    else:
        inner, kinds = [], [f"{node.domain}.{node.op_type}" if node.domain else node.op_type]
    pairs = [*path, *zip(inner, kinds[:-1], strict=True)]
    shown = [f"{p}: {k}" if k else p for p, k in pairs]
    node.metadata_props["namespace"] = "/".join([*shown, f"{name}: {kinds[-1]}"])
    node.metadata_props[CLASSES] = repr([*(k for _, k in pairs), kinds[-1]])
    node.metadata_props[SCOPES] = repr([*(p for p, _ in pairs), name])


def _texts(node: ir.Node, key: str) -> list[str]:
    """A list of texts in the metadata; empty where there is none."""
    try:
        found = ast.literal_eval(node.metadata_props.get(key, ""))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    if isinstance(found, list) and all(isinstance(text, str) for text in found):
        return found
    return []


__all__ = ["CLASSES", "SCOPES", "Scopes"]
