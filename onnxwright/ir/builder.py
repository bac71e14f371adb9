"""Nodes appended to a graph and its nested graphs, with names, a constant pool and known types.

`Recorder` holds one main graph or function body.  Scopes nest: what is appended goes to the
innermost; a scope may be dropped whole, and then nothing of it is left (names included).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.diagnostics.span import Span
from onnxwright.ir.adapters import set_type, typed_value
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import name_nodes
from onnxwright.ir.recorded import Checkpoint, KnownValues, Scope, shorten
from onnxwright.ir.stored import props_of
from onnxwright.opset.op import Op
from onnxwright.types.kinds import OnnxType

ORIGIN = "onnxwright.origin"


class Recorder(KnownValues):
    """Builds nodes into nested scopes.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> from onnxwright.types.kinds import TensorType
        >>> r = Recorder()
        >>> x = r.input("x", TensorType(DType.FLOAT, (2,)))
        >>> (y,) = r.node("", "Relu", [x], [], 1)
        >>> [n.op_type for n in r.scope.nodes], y.name
        (['Relu'], 'relu')
    """

    def __init__(self, *, exact: bool = False) -> None:
        super().__init__()
        # Exact: nodes and outputs as they are given, and which value each Python name holds.
        self.exact = exact
        self.shares = not exact  # equal constants are made once
        self.copies = not exact  # results that a graph did not make itself get an Identity
        self.name_owner: dict[str, ir.Value] = {}
        self.graphs: dict[str, tuple[ir.Graph, Scope]] = {}
        self.aliases: dict[ir.Value, ir.Value] = {}  # results that replace values further out
        self.branch_of: dict[str, str] = {}  # the graph of a branch or loop -> its usual name
        # Arrays that become initializers: by identity, with the array to keep that identity.
        self.keeps_initializers = False
        self.declared: dict[int, tuple[Any, ir.Value]] = {}
        # Whether nodes of a model of the user are in it, which may be invalid.
        self.holds_given_nodes = False
        self.names = Namer()
        self.holders: dict[str, ir.Value] = {}  # who has a name, if it has it still
        self.scopes: list[Scope] = [Scope()]
        # Results of the body that is built -> their types as its source states them, which say more
        # than what is known here and are not relied on.
        self.stated: dict[ir.Value, OnnxType] = {}
        self.sugar: set[ir.Node] = set()
        # Nodes at the start of the main graph; a rollback keeps them, they may be read again.
        self.pinned: set[ir.Node] = set()
        # Values of graphs that were thrown away; their names are free.
        self.dropped: set[ir.Value] = set()
        # The operator each node came from, and the first place that used each opset.
        self.uses: list[tuple[ir.Node, Op, Span | None]] = []
        self.opsets: dict[str, dict[int, Span | None]] = {}
        # Warnings of what is built; whoever built it issues them when it is sure to stay.
        self.warnings: list[Diagnostic] = []
        self.last_origin: str | None = None
        # Called with each new node.
        self.on_node: Callable[[ir.Node], None] | None = None
        self.name_prefix = ""  # before the names of what nodes give: the module they are made in
        self._node_names = Namer()
        # For rollback: every node and opset in order, and how to undo what is not an addition.
        self._tracking = False  # from the first checkpoint on
        self._nodes: list[ir.Node] = []
        self._opsets: list[tuple[str, int]] = []
        self._undo: list[Callable[[], object]] = []

    def use_opset(self, domain: str, version: int, span: Span | None) -> None:
        """Record that a version of a domain is used, and where it is used first."""
        versions = self.opsets.setdefault(domain, {})
        if version not in versions:
            versions[version] = span
            self._opsets.append((domain, version))

    # -- undoing -----------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """A moment to go back to with `rollback`."""
        self._tracking = True
        return Checkpoint(
            tuple([(s, len(s.inputs), s.sizes()) for s in self.scopes]),
            self.names.mark(),
            len(self._nodes),
            len(self.types),
            len(self.infos),
            len(self.declared),
            len(self.uses),
            len(self._opsets),
            len(self.warnings),
            len(self._undo),
            self.last_origin,
        )

    def rollback(self, to: Checkpoint) -> None:
        """Undo everything since a checkpoint: nodes, names, opsets, warnings, what is known.

        Names of nested graphs are not given again; nodes pinned to the start of the main graph
        stay, and are dropped at the end where nothing reads them.
        """
        if len(self._nodes) == to.nodes and self.checkpoint() == to:
            return  # nothing was built, which is what most rules that decline leave behind
        dropped = [node for node in self._nodes[to.nodes :] if node not in self.pinned]
        kept = [node for node in self._nodes[to.nodes :] if node in self.pinned]
        for node in reversed(dropped):
            for n in range(len(node.inputs)):
                node.replace_input_with(n, None)
        self._nodes[to.nodes :] = kept
        pinned = {value for node in kept for value in node.outputs}
        self.scopes = [scope for scope, _, _ in to.scopes]
        gone = set(dropped)
        for scope, inputs, sizes in to.scopes:
            while scope.nodes and scope.nodes[-1] in gone:
                scope.nodes.pop()
            del scope.inputs[inputs:]
            for table, size in zip(scope.tables(), sizes, strict=True):
                shorten(table, size, pinned)
        shorten(self.types, to.types, pinned)
        shorten(self.infos, to.infos, pinned)
        shorten(self.declared, to.declared, pinned)
        for domain, version in reversed(self._opsets[to.opsets :]):
            del self.opsets[domain][version]
            if not self.opsets[domain]:
                del self.opsets[domain]
        while len(self._undo) > to.undo:
            self._undo.pop()()
        del self._opsets[to.opsets :], self.uses[to.uses :], self.warnings[to.warnings :]
        self.sugar -= gone
        self.last_origin = to.last_origin
        self.names.rewind(to.names)

    def forget_history(self) -> None:
        """Give up all checkpoints: what was built until now stays."""
        self._tracking = False
        self._nodes.clear()
        self._undo.clear()

    def on_rollback(self, undo: Callable[[], object]) -> None:
        """Have something undone by a rollback to a checkpoint before this moment."""
        if self._tracking:
            self._undo.append(undo)

    def read_by_sugar(self, node: ir.Node) -> None:
        """Let a node go where nothing reads it, though the user wrote it."""
        if node not in self.sugar:
            self.sugar.add(node)
            self.on_rollback(lambda: self.sugar.discard(node))

    def shared(self, key: object) -> tuple[ir.Value, ...] | None:
        """The values recorded under a key in this graph or one around it."""
        for scope in reversed(self.scopes):
            values = scope.shared.get(key)
            if values is not None:
                return values
        return None

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    def node_name(self, hint: str) -> str:
        """A name for a node that none was given before."""
        return self._node_names.unique(hint)

    def push(self) -> Scope:
        """Open a nested graph."""
        scope = Scope(mark=self.names.mark())
        self.scopes.append(scope)
        return scope

    def suspend(self) -> Scope:
        """Leave the innermost scope for a while; `resume` enters it again."""
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
        """Release the nodes of a discarded graph and their outputs."""
        self.dropped.update(inputs)
        for node in reversed(nodes):
            self.dropped.update(node.outputs)
            detach(node)

    def pop(self, outputs: Sequence[ir.Value], name: str) -> ir.Graph:
        """Close the innermost scope as a graph with these outputs.

        An output that the graph did not make itself, or that is listed twice, gets an Identity.
        """
        scope = self.scope
        final = self.own_outputs(outputs)
        self.scopes.pop()
        for value, body_value in zip(final, outputs, strict=True):
            # The shape of a scan output without iterations is what the body says of it.
            set_type(value, self.stated.pop(body_value, None))
        self.remove_dead(scope.nodes, final)
        name_nodes(scope.nodes)
        graph = ir.Graph(scope.inputs, final, nodes=scope.nodes, name=self._node_names.unique(name))
        if self.exact:
            self.graphs[graph.name or ""] = (graph, scope)
        return graph

    def own_outputs(self, outputs: Sequence[ir.Value]) -> list[ir.Value]:
        """The outputs of the innermost scope, each a different value made by one of its nodes."""
        if not self.copies:
            return [self._here(v) for v in outputs]
        final: dict[ir.Value, None] = {}
        inputs = set(self.scope.inputs)
        for value in outputs:
            if value not in self.scope.values or value in final or value in inputs:
                (value,) = self.copy(value)
            final[value] = None
        return list(final)

    @contextmanager
    def in_main_graph(self) -> Iterator[None]:
        """Make inputs of the main graph inside, whatever graph is open."""
        inner = self.scopes
        self.scopes = inner[:1]
        self.names.for_good = True
        try:
            yield
        finally:
            self.names.for_good = False
            self.scopes = inner

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
            self.pinned.update(root.nodes)
            before[:0] = root.nodes
            root.nodes, self.scopes = before, inner

    def _here(self, value: ir.Value) -> ir.Value:
        """A value as a result of the innermost graph; one of a graph around it by name only."""
        if len(self.scopes) == 1 or value in self.scope.values:
            return value
        alias = ir.Value(name=value.name)
        self.aliases[alias] = value
        return alias

    def copy(self, value: ir.Value) -> Sequence[ir.Value]:
        """An Identity of a value, named after it."""
        hint, origin, types = value.name or "identity", self.last_origin, [self.type_of(value)]
        return self.node("", "Identity", [value], [], 1, hint=hint, origin=origin, types=types)

    def input(
        self,
        name: str,
        kind: OnnxType | None,
        *,
        held: bool = True,
        value: ir.Value | None = None,
    ) -> ir.Value:
        """Add an input to the innermost scope.

        Args:
            name: its name, made unique.
            held: whether a Python name of its own holds it.
            value: a value of this name and type that becomes the input; by default a new one.
        """
        unique = self.names.unique(name)
        if value is None:
            value = typed_value(unique, kind)
        self.set_type(value, kind)
        self.scope.inputs.append(value)
        self.scope.values[value] = None
        if self.exact and held:
            self.name_owner.setdefault(name, value)
        return value

    def initializer(
        self, array: Any, kind: OnnxType | None, hint: str, *, outermost: bool
    ) -> ir.Value:
        """A value that a graph holds from the start; the same array gives the same value."""
        declared = self.declared.get(id(array))
        if declared is not None:
            return declared[1]
        scope = self.scopes[0] if outermost or not self.exact else self.scope
        value = typed_value(self.names.unique(array.onnx_name or hint), kind)
        if self.exact and outermost:
            self.name_owner.setdefault(hint, value)
        self.set_type(value, kind)
        scope.values[value] = None
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
        types: Sequence[OnnxType | None] | None = None,
        shares_types: bool = False,
    ) -> Sequence[ir.Value]:
        """Append a node; its outputs are named after `hint`, else after the operator.

        Args:
            sugar: whether it goes where nothing reads it.
            types: the types of the outputs, where they are known.
            shares_types: whether values of one type may share the objects that say it.
        """
        base = hint or op_type.lower()
        if self.name_prefix and not base.startswith(self.name_prefix):
            base = self.name_prefix + base
        self.last_origin = origin or self.last_origin
        scope = self.scopes[-1]
        values: list[ir.Value] = []
        for kind in types if types is not None else [None] * outputs:
            name = self.names.unique(base)
            value = typed_value(name, kind, shares=shares_types)
            values.append(value)
            scope.values[value] = None
            self.holders[name] = value
            self.types[value] = kind
        node = ir.Node(
            domain,
            op_type,
            inputs,
            attributes,
            overload=overload,
            outputs=values,
            version=version,
            metadata_props={ORIGIN: origin} if origin and not self.exact else None,
        )
        scope.nodes.append(node)
        if self._tracking:
            self._nodes.append(node)
        if sugar:
            self.sugar.add(node)
        if self.on_node is not None:
            self.on_node(node)
        return node.outputs

    def keep(self, node: ir.Node, inputs: Sequence[ir.Value | None]) -> Sequence[ir.Value]:
        """Append a node of another graph, which is given up, with its outputs and their names.

        Args:
            node: the node; all of its outputs have names.
            inputs: what it reads from now on.
        """
        for n, (before, value) in enumerate(zip(node.inputs, inputs)):
            if before is not value:
                node.replace_input_with(n, value)
        origin = props_of(node).get(ORIGIN)
        self.last_origin = origin or self.last_origin
        scope = self.scopes[-1]
        scope.nodes.append(node)
        if self._tracking:
            self._nodes.append(node)
        for value in node.outputs:
            scope.values[value] = None
            self.holders[str(value.name)] = value
            self.types[value] = None
        self.sugar.add(node)
        if self.on_node is not None:
            self.on_node(node)
        return node.outputs

    def rename(self, value: ir.Value, hint: str) -> None:
        """Name a value after the Python variable that holds it."""
        if value.name != hint:
            before = value.name
            # A value of a graph around the innermost one keeps its name if that one is dropped.
            self.names.for_good = value not in self.scope.values
            value.name = self.names.unique(hint)
            self.names.for_good = False
            self.on_rollback(lambda: setattr(value, "name", before))

    def remove_dead(self, nodes: list[ir.Node], outputs: Sequence[ir.Value]) -> None:
        """Drop nodes that sugar made and nobody reads; what the user wrote stays."""
        if self.exact:
            return
        kept = set(outputs)
        dead = set()
        for node in reversed(nodes):
            if node in self.sugar and not [v for v in node.outputs if v.uses() or v in kept]:
                detach(node)
                dead.add(node)
        if dead:
            nodes[:] = [n for n in nodes if n not in dead]


def detach(node: ir.Node) -> None:
    """Remove all uses of a node's inputs, in its subgraphs too."""
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
