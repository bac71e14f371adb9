"""`Driver`: rewrites a model in place, where rules match, until nothing around a change matches.

A *wave* visits the nodes once, in order.  A node that reads other values than before is built anew
by the backend: as a call that needs no node, as an equal node that is there, or, where neither
holds, only its types are learned.  Around what has changed, rules are tried.  Their replacements
are built at once and put in at the end of the wave: until then patterns match the graph as it was,
so that a large pattern is not spoiled by a small one inside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import onnx_ir as ir

from onnxwright.builder.replay_model import Replayed
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.ir.recorded import Scope
from onnxwright.opset.registry import signature
from onnxwright.optimizer.editing import Editor
from onnxwright.optimizer.rewriter import Attempt, Replaced, Rewriter
from onnxwright.optimizer.screening import Operator
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.carrying import meet
from onnxwright.tracing.node_appender import is_same_attribute
from onnxwright.tracing.replay import Replay

# How many nodes after a change rules are tried: more than the depth of any pattern of the library,
# and what replacements look at before it.
REACH = 24


class Driver:
    """Rewrites a model in place.

    Args:
        built: the model, as a replay has just built it.

    Attributes:
        changed: whether the last wave changed anything.
    """

    def __init__(self, built: Replayed) -> None:
        self.model = built.model
        self.changed = False
        self._parts = [_Part(part, replay) for part, replay in built.parts]

    def wave(self, rewriter: Rewriter, *, everywhere: bool = False) -> None:
        """Visit the nodes once.

        Args:
            rewriter: the rules.
            everywhere: whether rules are tried at all nodes, not only around changes.
        """
        self.changed = False
        for part in self._parts:
            self.changed |= part.wave(rewriter, everywhere=everywhere)

    def reread(self, nodes: Mapping[ir.Node, None]) -> None:
        """Discard what is known about nodes that no longer compute the same.

        Args:
            nodes: the nodes; those that nothing reads are removed.
        """
        for part in self._parts:
            part.reread(nodes)


class _Part:
    """The main graph or a function."""

    def __init__(self, part: ir.Graph | ir.Function, replay: Replay) -> None:
        replay.finished()
        self.part = part
        self.replay = replay
        self.b = replay.b
        self.edit = Editor(part, replay)
        # What each node read when it was built or seen last.
        self.seen = {node: node.inputs for node in all_nodes(part)}
        if isinstance(part, ir.Function):  # its constants were no nodes when it was built
            for node in part:
                if node.op_type == "Constant" and not node.domain:
                    self.edit.env.adopt(node.outputs[0])
        self.scopes: dict[ir.Graph, Scope] = {}
        self.shares = False  # whether the nodes of the main graph are not yet known as equal calls
        # Of the wave that is going on:
        self.rewriter: Any = None
        self.operators: set[Operator] = set()  # that the part has, or has had
        self.index: Any = None  # the rules for these
        self.everywhere = False
        self.near: dict[ir.Node, int] = {}
        self.around: set[ir.Node] = set()
        self.learned: set[ir.Node] = set()
        self.later: list[tuple[Attempt, Replaced, list[Sequence[ir.Value | None]]]] = []
        self.claimed: set[ir.Node] = set()
        self.final: dict[ir.Value, ir.Value] = {}
        self.left: list[ir.Node] = []  # nodes that something has taken the place of

    def wave(self, rewriter: Rewriter, *, everywhere: bool) -> bool:
        """Visit the nodes once; whether anything changed."""
        env, recorder = self.edit.env, self.b.recorder
        self.rewriter, self.index, self.everywhere = rewriter, None, everywhere
        self.around, self.edit.touched = self.edit.touched, set()
        self.near, self.learned, self.later, self.left = {}, set(), [], []
        self.claimed, self.final, env.passed = set(), {}, set()
        self._adopt_initializers()
        self.operators = set()
        self._note_operators(all_nodes(self.part))
        before, self.seen = self.seen, {}
        recorder.scope.nodes = []
        self.b.is_visible, self.b.replaced_nodes = env.has, rewriter.taken
        self._visit_all(self.part, before)
        self.shares = False
        self._put_in()
        self.edit.sweep(self.left)
        recorder.forget_history()
        self.b.is_visible = None  # it leads back here: all would wait for the garbage collector
        return bool(self.left or self.edit.touched)

    def _note_operators(self, nodes: Iterable[ir.Node]) -> None:
        """Ask the rules for the operators of these nodes, too."""
        operators = {(node.op_type, node.domain) for node in nodes}
        if self.index is None or not operators <= self.operators:
            self.operators |= operators
            self.index = self.rewriter.index.among(frozenset(self.operators))

    def reread(self, nodes: Mapping[ir.Node, None]) -> None:
        """Discard what is known about nodes that no longer compute the same."""
        recorder = self.b.recorder
        for node in nodes:
            if self.seen.pop(node, None) is not None:
                for value in node.outputs:
                    recorder.forget_value(value)
        self.edit.sweep(node for node in nodes if node.graph is not None)
        # Values that equal calls have given may be those of such a node.
        self.scopes.clear()
        recorder.scope.shared.clear()
        self.shares = True

    def _adopt_initializers(self) -> None:
        """Know the constants that passes have made."""
        if isinstance(self.part, ir.Function):
            return
        recorder = self.b.recorder
        for name, value in self.part.initializers.items():
            if value not in recorder.types:
                self.edit.env.adopt(value)
                recorder.names.unique(name)

    def _visit_all(self, nodes: Iterable[ir.Node], before: Mapping[ir.Node, Any]) -> None:
        passed, seen, near = self.edit.env.passed, self.seen, self.near
        around, everywhere = self.around, self.everywhere
        for node in nodes:
            inputs = node.inputs
            is_new = before.get(node) is not inputs or node in self.learned
            if is_new and self._settled(node, is_known=node in before):
                continue
            if self.shares and not is_new:
                self._share(node)
            seen[node] = inputs
            passed.add(node)
            distance = 0 if everywhere or is_new or node in around else self._distance(inputs)
            if distance <= REACH:
                near[node] = distance
                if node.op_type in self.index.names:
                    passed.discard(node)
                    self._try_rules(node)
                    passed.add(node)
            if node.attributes.data:
                for graph in subgraphs(node):
                    self._visit_body(graph, before)

    def _distance(self, inputs: Sequence[ir.Value | None]) -> int:
        """How many nodes a node is after the nearest change."""
        near = self.near
        if not near:
            return REACH + 1
        nearest = REACH
        for value in inputs:
            if value is not None:
                node = value.producer()
                if node is not None:
                    nearest = min(nearest, near.get(node, REACH))
        return nearest + 1

    def _visit_body(self, graph: ir.Graph, before: Mapping[ir.Node, Any]) -> None:
        scope = self.scopes.get(graph)
        is_new = scope is None
        if scope is None:
            scope = self.scopes[graph] = Scope()
        scopes = self.b.recorder.scopes
        scopes.append(scope)
        try:
            if is_new:
                for node in graph:
                    self._share(node)
            self._visit_all(graph, before)
        finally:
            scopes.pop()

    # -- what a node has become ----------------------------------------------------------------

    def _settled(self, node: ir.Node, *, is_known: bool) -> bool:
        """Build a node anew, for what it reads now; whether something has taken its place."""
        recorder, env = self.b.recorder, self.edit.env
        for value in node.outputs:
            if value not in recorder.types:
                env.adopt(value)
                if not is_known and value.name:
                    recorder.names.unique(value.name)
        if node.op_type == "Constant" or node in self.rewriter.taken:
            return False
        if node.attributes.data:
            for graph in subgraphs(node):
                recorder.dropped.update(v for n in all_nodes(graph) for v in n.outputs)
        inputs = [None if v is None else env[v] for v in node.inputs]
        mark = recorder.checkpoint()
        self.b.expect(node)
        results = self.replay.node(node, inputs, env)
        restated = self.b.restated
        self.b.expect(None)
        new_nodes = list(recorder.scope.nodes)
        if _is_same(node, results, new_nodes):
            kinds = [r.kind for r in results if r is not None]
            if restated is not None and not new_nodes:
                self._learn(node, zip_longest(kinds, restated))
                return False
            dims = [recorder.shape_value(r.value) for r in results if r is not None]
            recorder.rollback(mark)
            self._learn(node, zip(kinds, dims, strict=True))
            self._share(node)
            return False
        results = self.edit.carrier.inner().carry(self.b, node, results, 0)
        recorder.scope.nodes.clear()
        self.edit.insert(new_nodes, node)
        for fresh in all_nodes(new_nodes):
            self.seen[fresh] = fresh.inputs
        self.edit.touched.update(all_nodes(new_nodes))
        self._note_operators(all_nodes(new_nodes))
        for old, new in zip(node.outputs, results):
            if new is not None:
                self.final[old] = self.edit.substitute(old, new, node, self.final)
        self.left += [node, *reversed(new_nodes)]
        if node not in self.claimed:
            self.edit.sweep([node])
        return True

    def _learn(self, node: ir.Node, kinds_and_dims: Iterable[tuple[Any, Any]]) -> None:
        """Note what is known of the results of a node now."""
        for value, (kind, dims) in zip(node.outputs, kinds_and_dims):
            recorder = self.b.recorder
            before = recorder.type_of(value)
            better = meet(kind, before)
            same_dims = dims is None or dims == recorder.shape_value(value)
            if better == before and same_dims:
                continue
            if not same_dims:
                recorder.info(value).shape_value = dims
            if better != before:
                self.edit.learn(value, better)
            self.learned.update(use.node for use in value.uses())

    def _share(self, node: ir.Node) -> None:
        """Replace equal calls by this node."""
        b, replay = self.b, self.replay
        if replay.verbatim or len(node.outputs) != 1 or not node.inputs or subgraphs(node):
            return
        if not node.domain and signature("", node.op_type, b.opset.version) is None:
            return  # an operator of a runtime
        env = self.edit.env
        op = replay.op_of(node) if node.domain else b.opset[node.op_type]
        inputs = [None if v is None else b.value_of(v) for v in node.inputs]
        results = [b.value_of(v) for v in node.outputs]
        b.share_node(op, inputs, replay.attributes_of(node, env), results)

    # -- rules ---------------------------------------------------------------------------------

    def _try_rules(self, node: ir.Node) -> None:
        rewriter = self.rewriter
        entries = self.index.at(node)
        if not entries or node in rewriter.taken:
            return
        recorder = self.b.recorder
        for attempt in rewriter.attempts(entries, node, self.replay, self.edit.env):
            mark = recorder.checkpoint()
            replaced = None
            try:
                replaced = attempt.replace()
            finally:
                if replaced is None or not replaced.results:
                    recorder.rollback(mark)
            if replaced is not None:
                if replaced.results:
                    self._keep(attempt, replaced)
                return

    def _keep(self, attempt: Attempt, replaced: Replaced) -> None:
        """Insert a replacement later; until then its nodes do not count as readers."""
        recorder = self.b.recorder
        del recorder.scope.nodes[len(recorder.scope.nodes) - len(replaced.fresh) :]
        read = [node.inputs for node in replaced.fresh]
        for node in replaced.fresh:
            for n in range(len(node.inputs)):
                node.replace_input_with(n, None)
        self.later.append((attempt, replaced, read))
        self.rewriter.taken.update(attempt.match.roots)
        self.claimed.update(attempt.match.nodes.values())

    def _put_in(self) -> None:
        """Put the replacements in, in the order in which they were made."""
        for attempt, replaced, read in self.later:
            for node, inputs in zip(replaced.fresh, read, strict=True):
                for n, value in enumerate(inputs):
                    while value in self.final:
                        value = self.final[value]
                    node.replace_input_with(n, value)
            self.edit.insert(replaced.fresh, attempt.node)
            self.edit.touched.update(replaced.fresh)
            for old, new in replaced.results:
                self.final[old] = self.edit.substitute(old, new, attempt.node, self.final)
            self.left += [*attempt.match.roots, *reversed(replaced.fresh)]


def _is_same(node: ir.Node, results: Sequence[GraphValue | None], nodes: Sequence[ir.Node]) -> bool:
    """Whether a node that was built anew is what it was."""
    if not nodes:
        return all(r is None or r.value is v for r, v in zip(results, node.outputs))
    (new, *others) = nodes
    if others or new.op_type != node.op_type or new.domain != node.domain:
        return False
    if [r.value for r in results if r is not None] != list(new.outputs):
        return False
    if _present(new) != _present(node):
        return False
    before, after = node.attributes.data, new.attributes.data
    return before.keys() == after.keys() and all(
        is_same_attribute(before[name], after[name]) for name in before
    )


def _present(node: ir.Node) -> list[ir.Value | None]:
    inputs = list(node.inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs
