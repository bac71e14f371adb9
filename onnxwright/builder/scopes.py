"""`Scopes`: the modules that nodes are made in: their names and metadata, as exports have it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

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
        self._names: dict[ir.Node, str] = {}

    @property
    def path(self) -> str:
        """The path of the innermost module; empty outside of modules."""
        return self._open[-1][0] if self._open else ""

    @contextmanager
    def inside(self, name: object, kind: object) -> Iterator[None]:
        """Let nodes belong to a module while `with` lasts.

        Args:
            name: its name in the module around it, such as `layers.0`.
            kind: its class, or the name of that, or None.

        Raises:
            ScriptNameError: the name is not a text, or is empty (OW549).
        """
        before = self._open
        self.push(name, kind)
        try:
            yield
        finally:
            self._enter(before)

    @contextmanager
    def at(self, path: str, kind: object) -> Iterator[None]:
        """Let nodes belong to the module of a whole path while `with` lasts.

        Args:
            path: its path from the outermost module; an empty one changes nothing.
            kind: its class, or the name of that, or None.
        """
        before = self._open
        if path and path != self.path:
            self._enter((*before, (path, _class_name(kind))))
        try:
            yield
        finally:
            self._enter(before)

    def push(self, name: object, kind: object) -> None:
        """Let nodes belong to a module until `pop`; see `inside`."""
        if not isinstance(name, str) or not name:
            fail(BadName(value=repr(name)))
        path = f"{self.path}.{name}" if self._open else name
        self._enter((*self._open, (path, _class_name(kind))))

    def pop(self) -> None:
        """Leave the innermost module.

        Raises:
            RuntimeError: none is open.
        """
        if not self._open:
            raise RuntimeError("pop_module() without push_module()")
        self._enter(self._open[:-1])

    def _enter(self, modules: _Path) -> None:
        self._open = modules
        self.recorder.on_node = self._note if modules else None
        self.recorder.name_prefix = f"{self.path}." if modules else ""

    def _note(self, node: ir.Node) -> None:
        self._of[node] = self._open
        if not node.name:
            node.name = self.recorder.node_name(f"{self.path}/{node.op_type}")
            self._names[node] = node.name

    def named(self) -> set[ir.Node]:
        """The nodes that were given a name; the others get one when the graph is finished."""
        return {n for n in self._of if n.name and n.name != self._names.get(n)}

    def write(self, named: Container[ir.Node]) -> None:
        """Write the modules into the metadata of the nodes.

        Args:
            named: the nodes that were given a name; others are called after what they make.
        """
        for node, path in self._of.items():
            first = (node.outputs[0].name or "") if node.outputs else ""
            first = first.removeprefix(f"{path[-1][0]}.")
            name = node.name if node in named else first
            _write(node, path, name or node.op_type)


class Scoped:
    """The modules of a `GraphBuilder`."""

    _scopes: Scopes

    def scope(self, name: str, kind: Any = None) -> AbstractContextManager[None]:
        """A module: what is made inside `with` is named after it.

        Values and nodes without a name of their own have its path before their names, and nodes
        have the path in their metadata, as exported models have it.

        Args:
            name: its name in the module around it, such as `layers.0`.
            kind: its class, or the name of that.

        Returns:
            A context manager.

        Raises:
            ScriptNameError: the name is not a text, or is empty (OW549).

        Example:
            >>> from onnxwright import FLOAT, GraphBuilder
            >>> g = GraphBuilder()
            >>> x = g.input("x", FLOAT["N"])
            >>> with g.scope("encoder"), g.scope("layers.0", "Layer"):
            ...     y = g.op.Relu(g.op.Neg(x), name="act")
            >>> g.output(y, "y")
            >>> first, node = g.to_model_proto().graph.node
            >>> first.name, first.output[0], node.name
            ('encoder.layers.0/Neg', 'encoder.layers.0.neg', 'act')
            >>> {p.key.rsplit(".", 1)[-1]: p.value for p in node.metadata_props}["name_scopes"]
            "['encoder', 'encoder.layers.0', 'act']"
        """
        return self._scopes.inside(name, kind)

    def push_module(self, module: str, class_name: Any = "") -> None:
        """Enter a module: as `scope`, until `pop_module`.

        Args:
            module: its name in the module around it, such as `layers.0`.
            class_name: its class, or the name of that.

        Raises:
            ScriptNameError: the name is not a text, or is empty (OW549).
        """
        self._scopes.push(module, class_name)

    def pop_module(self) -> None:
        """Leave the module that was entered last.

        Raises:
            RuntimeError: none was entered.
        """
        self._scopes.pop()

    def inside_module(self, path: str, kind: Any) -> AbstractContextManager[None]:
        """As `scope`, for the whole path of a module; an empty one changes nothing.

        Args:
            path: its path from the outermost module.
            kind: its class, or the name of that.

        Returns:
            A context manager.
        """
        return self._scopes.at(path, kind)

    @property
    def module_path(self) -> str:
        """The path of the module that nodes are made in; empty outside of modules."""
        return self._scopes.path


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
        texts = ast.literal_eval(node.metadata_props.get(key, ""))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    return []
