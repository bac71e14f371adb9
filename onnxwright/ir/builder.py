"""Nodes appended to a graph and its nested graphs, with names, a constant pool and known types.

`Recorder` holds one main graph or function body.  Scopes nest: what is appended goes to the
innermost; a scope may be dropped whole, and then nothing of it is left (names included).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.adapters import set_type, tensor
from onnxwright.ir.names import Namer
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape

ORIGIN = "onnxwright.origin"

# Equal constants up to this many bytes are made once.
_SHARED_BYTES = 4096


@dataclass
class Scope:
    """One graph being written: its inputs, its nodes, and the constants made in it."""

    inputs: list[ir.Value] = field(default_factory=list)
    nodes: list[ir.Node] = field(default_factory=list)
    constants: dict[object, ir.Value] = field(default_factory=dict)
    # Equal calls are made once: what tells them apart -> their outputs.
    shared: dict[object, tuple[ir.Value, ...]] = field(default_factory=dict)
    made: set[ir.Value] = field(default_factory=set)
    mark: int = 0
    initializers: dict[ir.Value, Any] = field(default_factory=dict)


class Recorder:
    """Builds nodes into nested scopes.

    Example:
        >>> r = Recorder()
        >>> x = r.input("x", TensorType(DType.FLOAT, (2,)))
        >>> (y,) = r.node("", "Relu", [x], [], 1)
        >>> [n.op_type for n in r.scope.nodes], y.name
        (['Relu'], 'relu')
    """

    def __init__(self, *, exact: bool = False) -> None:
        # Exact: nodes and outputs as they are given, and a note of what each name held.
        self.exact = exact
        self.shares = not exact  # equal constants are made once
        self.copies = not exact  # results that a graph did not make itself get an Identity
        self.held: dict[str, ir.Value] = {}
        self.graphs: dict[str, tuple[ir.Graph, Scope]] = {}
        self.aliases: dict[ir.Value, ir.Value] = {}  # results that stand for values further out
        self.sides: dict[str, str] = {}  # the graph of a branch or loop -> its usual name
        # Arrays that become initializers: by identity, with the array to keep that identity.
        self.keeps_initializers = False
        self.declared: dict[int, tuple[Any, ir.Value]] = {}
        self.names = Namer()
        self.holders: dict[str, ir.Value] = {}  # who has a name, if it has it still
        self.scopes: list[Scope] = [Scope()]
        self.types: dict[ir.Value, OnnxType | None] = {}
        self.known: dict[ir.Value, np.ndarray[Any, Any]] = {}
        # Small integer vectors and scalars as shapes: their dimensions, names among them.
        self.dims: dict[ir.Value, Shape] = {}
        self.sugar: set[ir.Node] = set()
        # Nodes put at the start of the main graph; they stay whatever is thrown away.
        self.first: set[ir.Node] = set()
        # For a value of unknown element type: another that surely has the same.
        self.witness: dict[ir.Value, ir.Value] = {}
        # Values of graphs that were thrown away; their names are free.
        self.gone: set[ir.Value] = set()
        self.last_origin: str | None = None
        self._node_names = Namer()

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    def push(self) -> Scope:
        """Open a nested graph."""
        scope = Scope(mark=self.names.mark())
        self.scopes.append(scope)
        return scope

    def suspend(self) -> Scope:
        """Leave the innermost scope for a while; `resume` goes on with it."""
        return self.scopes.pop()

    def resume(self, scope: Scope) -> None:
        """Go on with a suspended scope."""
        self.scopes.append(scope)

    def forget(self, scope: Scope) -> None:
        """Throw a suspended scope away; its names stay taken."""
        for node in reversed(scope.nodes):
            detach(node)

    def drop(self) -> None:
        """Throw the innermost scope away, with the names it took."""
        scope = self.scopes.pop()
        self.lose(scope.nodes, scope.inputs)
        self.names.rewind(scope.mark)

    def lose(self, nodes: Sequence[ir.Node], inputs: Sequence[ir.Value]) -> None:
        """Let go of the nodes of a graph that is thrown away, and of what they made."""
        self.gone.update(inputs)
        for node in reversed(nodes):
            self.gone.update(node.outputs)
            detach(node)

    def pop(self, outputs: Sequence[ir.Value], name: str) -> ir.Graph:
        """Close the innermost scope as a graph with these outputs.

        An output that the graph did not make itself, or that stands twice, gets an Identity.
        """
        scope = self.scope
        final = self.own_outputs(outputs)
        self.scopes.pop()
        self.remove_dead(scope.nodes, final)
        graph = ir.Graph(scope.inputs, final, nodes=scope.nodes, name=self._node_names.unique(name))
        if self.exact:
            self.graphs[graph.name or ""] = (graph, scope)
        return graph

    def own_outputs(self, outputs: Sequence[ir.Value]) -> list[ir.Value]:
        """The outputs of the innermost scope, each a different value made by one of its nodes."""
        if not self.copies:
            return [self._here(v) for v in outputs]
        final: list[ir.Value] = []
        for value in outputs:
            if value not in self.scope.made or value in final or value in self.scope.inputs:
                (value,) = self.copy(value)
            final.append(value)
        return final

    @contextmanager
    def at_start(self) -> Iterator[None]:
        """Put what is built inside at the start of the main graph, visible everywhere."""
        root, inner = self.scopes[0], self.scopes
        before, root.nodes = root.nodes, []
        self.scopes = [root]
        self.names.for_good = True
        try:
            yield
        finally:
            self.names.for_good = False
            self.first.update(root.nodes)
            before[:0] = root.nodes
            root.nodes, self.scopes = before, inner

    def _here(self, value: ir.Value) -> ir.Value:
        """A value as a result of the innermost graph; one of a graph around it by name only."""
        if len(self.scopes) == 1 or value in self.scope.made:
            return value
        alias = ir.Value(name=value.name)
        self.aliases[alias] = value
        return alias

    def copy(self, value: ir.Value) -> list[ir.Value]:
        """An Identity of a value, named after it."""
        made = self.node(
            "", "Identity", [value], [], 1, hint=value.name or "identity", origin=self.last_origin
        )
        self.types[made[0]] = self.types.get(value)
        set_type(made[0], self.types.get(value))
        return made

    def input(self, name: str, kind: OnnxType | None, *, held: bool = True) -> ir.Value:
        """Add an input to the innermost scope; `held` where a Python name of its own holds it."""
        value = ir.Value(name=self.names.unique(name))
        set_type(value, kind)
        self.types[value] = kind
        self.scope.inputs.append(value)
        self.scope.made.add(value)
        if self.exact and held:
            self.held.setdefault(name, value)
        return value

    def initializer(
        self, array: Any, kind: OnnxType | None, hint: str, *, outermost: bool
    ) -> ir.Value:
        """A value that a graph holds from the start; the same array gives the same value."""
        found = self.declared.get(id(array))
        if found is not None:
            return found[1]
        scope = self.scopes[0] if outermost or not self.exact else self.scope
        value = ir.Value(name=self.names.unique(array.onnx_name or hint))
        if self.exact and outermost:
            self.held.setdefault(hint, value)
        set_type(value, kind)
        self.types[value] = kind
        scope.made.add(value)
        scope.initializers[value] = array
        self.declared[id(array)] = (array, value)
        return value

    def node(
        self,
        domain: str,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        attributes: Sequence[ir.Attr],
        outputs: int,
        *,
        overload: str = "",
        version: int | None = None,
        origin: str | None = None,
        hint: str | None = None,
        sugar: bool = True,
    ) -> list[ir.Value]:
        """Append a node; its outputs are named after `hint`, else after the operator."""
        base = hint or op_type.lower()
        self.last_origin = origin or self.last_origin
        made = [ir.Value(name=self.names.unique(base)) for _ in range(outputs)]
        node = ir.Node(
            domain,
            op_type,
            inputs,
            attributes,
            overload=overload,
            outputs=made,
            version=version,
            metadata_props={ORIGIN: origin} if origin and not self.exact else None,
        )
        self.scope.nodes.append(node)
        self.scope.made.update(made)
        for value in made:
            self.holders[value.name or ""] = value
        if sugar:
            self.sugar.add(node)
        return made

    def constant(self, array: np.ndarray[Any, Any], origin: str | None = None) -> ir.Value:
        """A Constant node, shared with an equal one that is visible here."""
        key = self._key(array) if self.shares else None
        if key is not None:
            for scope in reversed(self.scopes):
                found = scope.constants.get(key)
                if found is not None:
                    return found
        held = tensor(array)
        attr = ir.Attr("value", ir.AttributeType.TENSOR, held)
        (value,) = self.node("", "Constant", [], [attr], 1, origin=origin, hint="const")
        kind = TensorType(DType.from_numpy(array.dtype), tuple(array.shape))
        set_type(value, kind)
        self.types[value] = kind
        self.known[value] = array
        if key is not None:
            self.scope.constants[key] = value
        return value

    @staticmethod
    def _key(array: np.ndarray[Any, Any]) -> object | None:
        if array.dtype == object:
            return ("str", array.shape, tuple(array.ravel())) if array.size <= 64 else None
        if array.nbytes > _SHARED_BYTES:
            return (id(array), array.shape, str(array.dtype))
        return (str(array.dtype), array.shape, array.tobytes())

    def rename(self, value: ir.Value, hint: str) -> None:
        """Name a value after the Python variable that holds it."""
        if value.name != hint:
            value.name = self.names.unique(hint)

    def remove_dead(self, nodes: list[ir.Node], outputs: Sequence[ir.Value]) -> None:
        """Drop nodes that sugar made and nobody reads; what the user wrote stays."""
        if self.exact:
            return
        kept = set(outputs)
        dead = set()
        for node in reversed(nodes):
            if node in self.sugar and not any(v.uses() or v in kept for v in node.outputs):
                detach(node)
                dead.add(node)
        if dead:
            nodes[:] = [n for n in nodes if n not in dead]


def detach(node: ir.Node) -> None:
    """Let go of everything a node reads, in its subgraphs too, so that uses stay true."""
    for n in range(len(node.inputs)):
        node.replace_input_with(n, None)
    for attr in node.attributes.values():
        if attr.is_ref():
            continue
        if attr.type is ir.AttributeType.GRAPH:
            graphs = [attr.as_graph()]
        elif attr.type is ir.AttributeType.GRAPHS:
            graphs = list(attr.as_graphs())
        else:
            continue
        for graph in graphs:
            for inner in reversed(list(graph)):
                detach(inner)
