"""A finished graph changed in place: values replaced, nodes removed, constants placed, names kept.

What is known of the values stays in the recorder of the backend that built the graph, so that new
nodes are built by the same backend, beside those that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.builder.replay_model import INFERRED, copy_value
from onnxwright.ir import adapters
from onnxwright.ir.builder import detach
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.optimizer.constants import has_readers, tensor_of
from onnxwright.optimizer.weight_sources import drop_unused
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.carrying import Carrier, kind_of
from onnxwright.tracing.replay import Env, Replay
from onnxwright.types.kinds import OnnxType


class FinishedValues(Env):
    """The values of a finished graph, each standing for itself where its node has been visited.

    Args:
        replay: how the graph was built.

    Attributes:
        passed: the nodes that have been visited.
    """

    def __init__(self, replay: Replay) -> None:
        super().__init__()
        self.replay = replay
        self.b = replay.b
        self.passed: set[ir.Node] = set()

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, ir.Value)
        return dict.__contains__(self, value) or self.has(value)

    def has(self, value: ir.Value) -> bool:
        """Whether a value is computed before the node that is visited."""
        node = value.producer()
        return node is None or node in self.passed

    def get(self, value: ir.Value, default: Any = None) -> Any:
        """The value itself."""
        if not dict.__contains__(self, value):
            node = value.producer()
            if node is not None and node not in self.passed:
                return default
        return self[value]

    def __getitem__(self, value: ir.Value) -> Any:
        if dict.__contains__(self, value):
            return dict.__getitem__(self, value)
        if value not in self.b.recorder.types:
            self.adopt(value)
        return self.b.value_of(value)

    def copy(self) -> FinishedValues:
        """The same values, for a body whose nodes are made again."""
        copied = FinishedValues(self.replay)
        copied.passed = self.passed
        copied.update(self.items())
        return copied

    def adopt(self, value: ir.Value) -> None:
        """Know a value that a pass has made after the graph was built."""
        recorder = self.b.recorder
        if value in recorder.types:
            return
        tensor = tensor_of(value)
        if tensor is None:
            recorder.set_type(value, kind_of(value))
        else:
            self.b.pool.adopt(value, tensor, is_weight=value.producer() is None)


class Editor:
    """Changes one part of a model: its main graph or a function, with the bodies inside.

    Args:
        part: the graph or function.
        replay: the replay that built it.

    Attributes:
        env: its values.
        touched: nodes around which something was changed or removed: rules may match there now.
    """

    def __init__(self, part: ir.Graph | ir.Function, replay: Replay) -> None:
        self.part = part
        self.b = replay.b
        self.carrier = replay.carrier or Carrier(names=False)
        self.env = FinishedValues(replay)
        self.touched: set[ir.Node] = set()
        self._placed: dict[ir.Value, ir.Value] = {}  # constants of a function -> of their nodes

    # -- new nodes -----------------------------------------------------------------------------

    def insert(self, fresh: Sequence[ir.Node], before: ir.Node) -> None:
        """Put new nodes before one that is there, and the constants that they read in the graph."""
        graph = before.graph
        assert graph is not None
        imports = self.part.opset_imports
        for node in all_nodes(fresh):
            self._place_constants(v for v in node.inputs if v is not None)
            if node.domain not in imports:
                versions = self.b.recorder.opsets.get(node.domain, {1: None})
                imports[node.domain] = max(versions)
        graph.insert_before(before, fresh)
        self.env.passed.update(fresh)

    def _place_constants(self, values: Iterable[ir.Value]) -> None:
        pool = self.b.pool
        for value in values:
            if value.producer() is None and value in pool and not value.is_initializer():
                if isinstance(self.part, ir.Function):
                    self._as_node(value)
                    continue
                pool.name(value)
                value.const_value = pool.as_tensor(value)
                self.part.initializers[str(value.name)] = value

    def _as_node(self, value: ir.Value) -> None:
        """A constant of a function is the output of a node."""
        pool, constant = self.b.pool, self._placed.get(value)
        if constant is None or constant.producer().graph is None:  # type: ignore[union-attr]
            pool.name(value)
            attr = ir.Attr("value", ir.AttributeType.TENSOR, pool.as_tensor(value))
            constant = ir.Node("", "Constant", [], [attr], num_outputs=1).outputs[0]
            constant.name, constant.type, constant.shape = value.name, value.type, value.shape
            node: Any = constant.producer()
            graph: Any = self.part
            first = next(iter(graph), None)
            if first is None:
                graph.append(node)
            else:
                graph.insert_before(first, [node])
            self.env.passed.add(node)
            self.env.adopt(constant)
            self._placed[value] = constant
        for user, n in value.uses():
            user.replace_input_with(n, constant)

    # -- values --------------------------------------------------------------------------------

    def substitute(
        self,
        old: ir.Value,
        replacement: GraphValue,
        at: ir.Node,
        final: Mapping[ir.Value, ir.Value],
    ) -> ir.Value:
        """Replace a value by another one, also where it is an output.

        Args:
            old: a value of the graph.
            replacement: what takes its place.
            at: the node before which new nodes are put.
            final: what has taken the place of values already.

        Returns:
            The value that is there now.
        """
        new = replacement.value
        while new in final:
            new = final[new]
        if new is old:
            return old
        if new.producer() is None:
            self._place_constants([new])
            new = self._placed.get(new, new)
        if old.is_graph_output():
            new = self._as_output(old, new, at)
        elif self._is_new(new):
            self._rename(old, new)
        self.touched.update(use.node for use in old.uses())
        old.replace_all_uses_with(new)
        return new

    def _is_new(self, value: ir.Value) -> bool:
        return value.producer() is not None and not self.carrier.has_name(value)

    def _rename(self, old: ir.Value, new: ir.Value) -> None:
        """Let a value have the name of the one whose place it takes."""
        name = old.name
        if name:
            old.name = self.b.recorder.names.unique(name)
            self.carrier.pass_on(self.b, old, new, name)

    def _as_output(self, old: ir.Value, new: ir.Value, at: ir.Node) -> ir.Value:
        """The value that replaces an output: of the same graph, and not an output already."""
        outputs: Any = old.graph.outputs  # type: ignore[union-attr]
        node = new.producer()
        if node is None or node.graph is not at.graph or new.is_graph_output():
            new = self._copy(new, at)
        kind = self.b.recorder.type_of(new)
        self._rename(old, new)
        copy_value(old, new)
        new.meta[INFERRED] = kind
        for n, value in enumerate(outputs):
            if value is old:
                outputs[n] = new
        return new

    def _copy(self, value: ir.Value, at: ir.Node) -> ir.Value:
        """An Identity of a value."""
        recorder = self.b.recorder
        before = len(recorder.scope.nodes)
        (new,) = recorder.copy(value)
        fresh = recorder.scope.nodes[before:]
        del recorder.scope.nodes[before:]
        recorder.use_opset("", self.b.opset.version, None)
        self.insert(fresh, at)
        return new

    def learn(self, value: ir.Value, kind: OnnxType | None) -> None:
        """Write down a more exact type of a value; those who read it may be simpler now."""
        recorder = self.b.recorder
        recorder.set_type(value, kind)
        if value.is_graph_output():
            value.meta[INFERRED] = kind
        else:
            adapters.set_type(value, kind, shares=True)

    # -- what nothing reads --------------------------------------------------------------------

    def sweep(self, nodes: Iterable[ir.Node]) -> None:
        """Remove nodes that nothing reads, and then those that only they have read."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            graph: Any = node.graph
            if graph is None or any(
                has_readers(v) or v.is_graph_output() for v in node.outputs
            ):  # fmt: skip
                continue
            read = dict.fromkeys(v for n in all_nodes([node]) for v in n.inputs if v is not None)
            detach(node)
            graph.remove(node)
            self._forget(node)
            for value in read:
                maker = value.producer()
                if maker is None:
                    if not has_readers(value) and value in self.b.pool.held:
                        drop_unused([value])
                    continue
                waiting.append(maker)
                if has_readers(value):
                    self.touched.update(use.node for use in value.uses())

    def _forget(self, node: ir.Node) -> None:
        recorder = self.b.recorder
        self.touched.discard(node)
        recorder.sugar.discard(node)
        for value in node.outputs:
            recorder.forget_value(value)
        for inner in subgraphs(node):
            for one in inner:
                self._forget(one)
