"""Transposes moved through regions of a graph, where that leaves fewer of them.

A *region* is what hangs together of nodes that may come before a Transpose by one permutation: all
their inputs are transposed so, made by nodes of the region, or constants.  Rewritten, its nodes
work on what is not transposed yet; the Transposes before it and the inverse ones after it are gone,
and each of its results that somebody else reads is transposed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import subgraphs
from onnxwright.optimizer.transpose_moves import Move, plan
from onnxwright.optimizer.weight_sources import Names

Perm = tuple[int, ...]


def move_transposes(
    model: ir.Model, *, exact: bool = False, keep: frozenset[str] = frozenset()
) -> tuple[int, dict[ir.Node, None]]:
    """Move Transposes where fewer are left.

    Args:
        model: the model; it is changed.  Identities and nodes that nothing reads are left.
        exact: only where results are the same bits.
        keep: names of values that stay what they are.

    Returns:
        How many Transposes there are less, and the nodes that compute something else now or that
        nothing may read any more.
    """
    done = 0
    changed: dict[ir.Node, None] = {}
    for outer, versions in [
        (model.graph, model.opset_imports),
        *((f.graph, f.opset_imports) for f in model.functions.values()),
    ]:
        names = Names(outer)
        for graph in _graphs(outer):
            place = _Place(graph, names, graph is model.graph, versions.get("", 1), exact, keep)
            for _ in range(4):
                nodes, perms = _transposes(graph)
                fewer = 0
                for perm in dict.fromkeys(perms.values()):
                    gain = _Regions(place, perm).move(nodes, perms, changed)
                    if gain:
                        fewer += gain
                        nodes, perms = _transposes(graph)
                done += fewer
                if not fewer:
                    break
    return done, changed


def _graphs(outer: ir.Graph) -> Iterable[ir.Graph]:
    waiting = [outer]
    while waiting:
        graph = waiting.pop(0)
        yield graph
        for node in graph:
            if node.attributes.data:
                waiting += subgraphs(node)


@dataclass(frozen=True)
class _Place:
    """A graph, and what holds in it.

    Fields:
        graph: the graph.
        names: the names that are taken.
        is_main: whether weights can be folded there.
        version: its opset version.
        exact: whether results must be the same bits.
        keep: names of values that stay what they are.
    """

    graph: ir.Graph
    names: Names
    is_main: bool
    version: int
    exact: bool
    keep: frozenset[str]


def _transposes(graph: ir.Graph) -> tuple[Sequence[ir.Node], dict[ir.Node, Perm]]:
    """The nodes of a graph, none where no Transpose is among them, and their permutations."""
    nodes = list(graph)
    pairs = [(node, perm_of(node)) for node in nodes if node.op_type == "Transpose"]
    perms = {node: perm for node, perm in pairs if perm is not None}
    return (nodes if perms else ()), perms


def perm_of(node: ir.Node) -> Perm | None:
    """The permutation of a Transpose that says it."""
    if node.op_type != "Transpose" or node.domain:
        return None
    attr = node.attributes.get("perm")
    return None if attr is None or attr.is_ref() else tuple(int(n) for n in attr.as_ints())


class _Regions:
    """The regions of a graph for one permutation."""

    def __init__(self, place: _Place, perm: Perm) -> None:
        self.place = place
        self.graph = place.graph
        self.names = place.names
        self.perm = perm
        self.inverse = tuple(int(n) for n in np.argsort(perm))
        # Value -> what it is before the Transpose, for those that one of `perm` makes.
        self.sources: dict[ir.Value, ir.Value] = {}
        self.carried: dict[ir.Value, ir.Node] = {}
        self.moves: dict[ir.Node, Move] = {}
        self.weights: dict[ir.Value, ir.Value] = {}
        self.firsts: list[ir.Node] = []

    def move(
        self,
        nodes: Sequence[ir.Node],
        perms: Mapping[ir.Node, Perm],
        changed: dict[ir.Node, None],
    ) -> int:
        """Rewrite the regions where that pays; how many Transposes there are less.

        Args:
            nodes: the nodes of the graph.
            perms: the permutation of each Transpose among them.
            changed: the nodes that compute something else then, and the Transposes, are added.
        """
        self._mark(nodes, perms)
        done = 0
        for region in self._components():
            gain = self._gain(region)
            if gain > 0:
                self._rewrite(region)
                done += gain
                changed.update(dict.fromkeys(region))
        if done:
            transposes = (node for node in self.graph if perm_of(node) is not None)
            changed.update(dict.fromkeys(transposes))
        return done

    def _mark(self, nodes: Sequence[ir.Node], perms: Mapping[ir.Node, Perm]) -> None:
        carried = self.carried.keys()  # a view: what is carried later is in it, too
        for node in nodes:
            if perms.get(node) == self.perm:
                source = node.inputs[0]
                # One after another changes when the nodes between them move.
                if source is not None and source not in self.carried:
                    self.sources[node.outputs[0]] = source
                    self.carried[node.outputs[0]] = node
                continue
            if carried.isdisjoint(node.inputs) or node.domain:
                continue
            if any(v.name in self.place.keep for v in node.outputs):
                continue
            if node.op_type in ("Softmax", "LogSoftmax") and self.place.version < 13:
                continue
            move = plan(node, self.perm, self.carried, exact=self.place.exact)
            if move is None or (move.weights and not self.place.is_main):
                continue
            self.moves[node] = move
            if not move.is_last:
                self.carried.update(dict.fromkeys(node.outputs, node))

    def _components(self) -> list[list[ir.Node]]:
        """The regions: nodes that share values, or the Transposes before them."""
        parent: dict[Any, Any] = {}

        def root(x: Any) -> Any:
            while parent.setdefault(x, x) is not x:
                parent[x] = parent[parent[x]]
                x = parent[x]
            return x

        for node in self.moves:
            for value in node.inputs:
                if value in self.carried:
                    parent[root(self.carried[value])] = root(node)
        regions: dict[Any, list[ir.Node]] = {}
        for node in self.moves:
            regions.setdefault(root(node), []).append(node)
        return list(regions.values())

    def _gain(self, region: list[ir.Node]) -> int:
        inside = set(region)
        gain = 0
        before = {v for node in region for v in node.inputs if v in self.sources}
        for value in before:
            readers = {use.node for use in value.uses()}
            if not value.is_graph_output() and all(
                r in inside or perm_of(r) is not None for r in readers
            ):
                gain += 1
        for node in region:
            if self.moves[node].is_last:
                continue
            for value in node.outputs:
                readers = {use.node for use in value.uses()}
                gain += sum(perm_of(r) == self.inverse for r in readers)
                gain -= self._is_needed_transposed(value, inside)
        return gain

    def _is_needed_transposed(self, value: ir.Value, inside: set[ir.Node]) -> bool:
        if value.is_graph_output():
            return True
        return any(
            use.node not in inside
            and (perm_of(use.node) is None or use.node.graph is not self.graph)
            for use in value.uses()
        )

    # -- rewriting -----------------------------------------------------------------------------

    def _rewrite(self, region: list[ir.Node]) -> None:
        inside = set(region)
        for node in region:
            move = self.moves[node]
            for place, value in enumerate(node.inputs):
                if value in self.sources:
                    node.replace_input_with(place, self.sources[value])
            for place in move.weights:
                node.replace_input_with(place, self._moved(node, node.inputs[place]))
            for place, numbers in move.constants.items():
                node.replace_input_with(place, self._constant(node, numbers))
            for name, setting in move.attributes.items():
                kind = ir.AttributeType.INTS if isinstance(setting, list) else ir.AttributeType.INT
                node.attributes[name] = ir.Attr(name, kind, setting)
            if not move.is_last:
                for value in node.outputs:
                    self._result(node, value, inside)

    def _result(self, node: ir.Node, value: ir.Value, inside: set[ir.Node]) -> None:
        """Give those that read a result what they need: it is not transposed now."""
        needed = self._is_needed_transposed(value, inside)
        outside = [u for u in value.uses() if u.node not in inside]
        moved = [u for u in outside if perm_of(u.node) and u.node.graph is self.graph]
        if needed:
            self._transpose_back(node, value, [u for u in outside if u not in moved])
        if value.shape is not None and not needed:
            value.shape = ir.Shape([value.shape[n] for n in self.inverse])
        if not needed:
            value.name = self.names.free(f"{value.name}.before")
        value.meta.clear()
        for use in moved:
            both = [self.perm[n] for n in perm_of(use.node) or ()]
            use.node.attributes["perm"] = ir.Attr("perm", ir.AttributeType.INTS, both)
            if both == sorted(both):
                self._pass_on(use.node, value)

    def _transpose_back(self, node: ir.Node, value: ir.Value, uses: list[Any]) -> None:
        """Give a result under its own name, and transposed as it was, to those that read it so."""
        perm = ir.Attr("perm", ir.AttributeType.INTS, list(self.perm))
        back = ir.Node("", "Transpose", [value], [perm], num_outputs=1)
        back.metadata_props.update(node.metadata_props)
        result = back.outputs[0]
        result.name, result.type, result.shape = value.name, value.type, value.shape
        result.doc_string = value.doc_string
        result.metadata_props.update(value.metadata_props)
        value.name = self.names.free(f"{value.name}.before")
        if result.shape is not None:
            value.shape = ir.Shape([result.shape[n] for n in self.inverse])
        self.graph.insert_after(node, back)
        for use in uses:
            use.node.replace_input_with(use.idx, result)
        if value.is_graph_output():
            for n, output in enumerate(self.graph.outputs):
                if output is value:
                    self.graph.outputs[n] = result

    def _pass_on(self, node: ir.Node, value: ir.Value) -> None:
        """Let a value take the place of the result of a Transpose that does nothing now."""
        old = node.outputs[0]
        if old.is_graph_output():
            if value.is_graph_output():
                node.op_type = "Identity"
                node.attributes.clear()
                return
            value.name, old.name = old.name, None
            value.type, value.shape = old.type or value.type, old.shape or value.shape
            value.doc_string = old.doc_string
            value.metadata_props.update(old.metadata_props)
            for n, output in enumerate(self.graph.outputs):
                if output is old:
                    self.graph.outputs[n] = value
        ir.convenience.replace_all_uses_with(old, value)
        self.graph.remove(node, safe=True)

    def _moved(self, node: ir.Node, value: ir.Value | None) -> ir.Value:
        """A weight whose axes are moved as those of what it is used with."""
        assert value is not None
        moved = self.weights.get(value)
        if moved is not None:
            return moved
        assert value.shape is not None
        wide, missing = value, len(self.perm) - len(value.shape)
        if missing:
            shape = [1] * missing + _sizes(value)
            sizes = self._constant(node, shape)
            wide = self._first("Reshape", [value, sizes], [], shape, value)
        dims = _sizes(wide)
        attr = ir.Attr("perm", ir.AttributeType.INTS, list(self.inverse))
        transposed = self._first(
            "Transpose", [wide], [attr], [dims[n] for n in self.inverse], value
        )
        self.weights[value] = transposed
        return transposed

    def _first(
        self, kind: str, inputs: list[ir.Value], attrs: list[ir.Attr], shape: Any, of: ir.Value
    ) -> ir.Value:
        """The result of a node that only reads weights, before all others."""
        new = ir.Node("", kind, inputs, attrs, num_outputs=1)
        output = new.outputs[0]
        output.name = self.names.free(f"{of.name}.moved")
        output.shape, output.type = ir.Shape(shape), of.type
        if len(self.firsts) and inputs[0].producer() is self.firsts[-1]:
            self.graph.insert_after(self.firsts[-1], new)
        else:
            self.graph.insert_before(next(iter(self.graph)), new)
        self.firsts.append(new)
        return output

    def _constant(self, node: ir.Node, numbers: Any) -> ir.Value:
        array = np.asarray(numbers)
        array = array.astype(np.int64) if array.dtype.kind in "iu" else array
        if self.place.is_main:
            return self.names.constant("axes", array)
        tensor = ir.tensor(array)
        new = ir.Node(
            "", "Constant", [], [ir.Attr("value", ir.AttributeType.TENSOR, tensor)], num_outputs=1
        )
        output = new.outputs[0]
        output.name = self.names.free("axes")
        output.shape, output.type = ir.Shape(array.shape), ir.TensorType(tensor.dtype)
        self.graph.insert_before(node, new)
        return output


def _sizes(value: ir.Value) -> list[int]:
    """The dimensions of a weight."""
    return [d for d in value.shape or () if isinstance(d, int)]
