"""What of a function is written with operators, numbers, `if` and loops: decided beforehand.

Only what is expected to come back as the same nodes is planned so; the result is compiled and
compared, so a wrong guess costs time, not truth.
"""

from __future__ import annotations

from typing import Any

from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.decompiler.loop_forms import LoopForm, loop_form
from onnxwright.decompiler.module_contents import Module


class Plan:
    """How the nodes of one function are written.

    Attributes:
        order: the nodes of each graph in the order they are written in.
        number: nodes by number, through the whole module.
        numbers: constants written as numbers where they are read.
        inlined: nodes that no statement is written for.
        literals: (node, place of an input) -> the number written there.
        indices, symbols: the text between brackets, or the operator, for a node.
        branches, loops: nodes that become statements.
        ends: constants written as numbers at the end of a branch or iteration.
        returns: results that their graph returns once.
        sources: results that are copies -> what they are copies of.
        shared: equal constants are one node.
    """

    def __init__(self, root: ProtoGraph, module: Module, opsets: dict[str, int]) -> None:
        self.module = module
        self.opsets = opsets
        self.order: dict[ProtoGraph, list[ProtoNode]] = {}
        self.number: dict[ProtoNode, int] = {}
        self.numbers: set[ProtoNode] = set()
        self.inlined: set[ProtoNode] = set()
        self.literals: dict[tuple[ProtoNode, int], str] = {}
        self.indices: dict[ProtoNode, str] = {}
        self.symbols: dict[ProtoNode, str] = {}
        self.branches: set[ProtoNode] = set()
        self.loops: dict[ProtoNode, LoopForm] = {}
        self.returns: dict[ProtoValue, bool] = {}
        self.ends: dict[ProtoValue, str] = {}
        self.sources: dict[ProtoValue, ProtoValue] = {}
        self.shared = self.copied = False
        self._signatures: dict[ProtoNode, Any] = {}
        self._walk(root)
        if module.sugar.on:
            self._copies()
            self._constants()
            for node in self.number:
                if module.sugar.allows(self.number[node]):
                    self._plan(node)
            self._loops()

    def _walk(self, graph: ProtoGraph) -> None:
        nodes = self.order[graph] = ordered(graph.nodes)
        for value in graph.outputs:
            self.returns[value] = value not in self.returns and value.graph is graph
        for node in nodes:
            self.module.count += 1
            self.number[node] = self.module.count
            for graphs in node.subgraphs.values():
                for inner in graphs:
                    self._walk(inner)

    # -- copies ------------------------------------------------------------------------------------

    @property
    def copies(self) -> bool:
        """Whether results that a graph does not make itself get an Identity."""
        return self.copied

    def results(self, graph: ProtoGraph) -> list[ProtoValue]:
        """The results of a graph; where they are copies, what they are copies of."""
        return [self.sources.get(w, w) for w in graph.outputs]

    def _copies(self) -> None:
        """Find the Identity nodes that compiling inserts itself; all or none."""
        sources: dict[ProtoValue, ProtoValue] = {}
        for graph in self.order:
            final: list[ProtoValue] = []
            for value in graph.outputs:
                producer = value.producer
                if producer is None or value.graph is not graph or value in final:
                    return
                final.append(value)
                copies = producer.key == ("", "Identity", "") and len(producer.inputs) == 1
                source = producer.inputs[0] if copies else None
                if (
                    source is None
                    or value.uses
                    or not self.module.sugar.allows(self.number[producer])
                ):
                    continue
                own = source.graph is graph and source.input_index is None
                if not own or source in final:
                    sources[value] = source
        self.sources = sources
        self.copied = bool(sources)
        self.inlined.update(w.producer for w in sources if w.producer is not None)

    # -- constants ---------------------------------------------------------------------------------

    def _constants(self) -> None:
        """Find the constants that may be numbers: shared ones too, where that comes back so."""
        sugar = self.module.sugar
        sugar.free.clear()
        constants = []
        for node in self.number:
            value = node.outputs[0] if len(node.outputs) == 1 else None
            if value is None or sugar.constant(value) is None:
                continue
            if value.is_output:
                if not value.uses and self.returns.get(value) and self._may_end(value, value):
                    constants.append(value)
            elif value.uses and value.uses[0][0].graph is node.graph:
                constants.append(value)
        self._settle(constants)
        if any(len(w.uses) > 1 for w in sugar.free):
            self.shared = not self._repeated()
            if not self.shared:
                single = [w for w in constants if len(w.uses) <= 1]
                sugar.free.clear()
                self._settle(single)
        for value in sugar.free:
            if value.is_output or any(user in self.inlined for user, _ in value.uses):
                self.ends[value] = sugar.text(value) or ""
        self.numbers = {w.producer for w in sugar.free if w.producer is not None}
        self.inlined |= self.numbers

    def _settle(self, values: list[ProtoValue]) -> None:
        """Keep those of which every reader takes a number."""
        sugar = self.module.sugar
        sugar.free.update(dict.fromkeys(values))
        while True:
            bad = [w for w in sugar.free if any(not self._takes(w, *use) for use in w.uses)]
            if not bad:
                return
            for value in bad:
                del sugar.free[value]

    def _may_end(self, value: ProtoValue, result: ProtoValue) -> bool:
        """Whether a constant result of a branch or loop body, or a copy of it, may be a number."""
        graph = result.graph
        assert graph is not None
        sugar, owner = self.module.sugar, graph.owner
        constant = sugar.constant(value)
        if owner is None or constant is None or constant[0].ndim or sugar.text(value) is None:
            return False
        if not sugar.allows(self.number[owner]):
            return False
        place = graph.outputs.index(result)
        if sugar.branch(owner):
            sides = [graphs[0].outputs[place] for graphs in owner.subgraphs.values()]
            others = [self.sources.get(w, w) for w in sides if w is not result]
            return all(sugar.constant(w) is None for w in others)
        if owner.key == ("", "Loop", ""):
            usual = constant[1].name in ("BOOL", "INT64", "FLOAT")
            return place > 0 and usual and loop_form(owner, sugar) is not None
        return False

    def _takes(self, value: ProtoValue, user: ProtoNode, place: int) -> bool:
        """Whether an input of a node may be written as a number."""
        sugar = self.module.sugar
        if not sugar.allows(self.number[user]):
            return False
        if user.outputs and user.outputs[0] in self.sources:
            return self._may_end(value, user.outputs[0])
        if user.key == ("", "Loop", ""):
            if place == 1 and user.inputs[0] is None:
                return False
            return sugar.loop_input(value, place) and loop_form(user, sugar) is not None
        if self.module.function_name(user.key) is not None or sugar.branch(user):
            return False
        signature = self._signature(user)
        if signature is None:
            return False
        if sugar.subscript(user) is not None:
            return place > 0
        return sugar.literal(value, user, place, signature) is not None

    def _signature(self, node: ProtoNode) -> Any:
        if node not in self._signatures:
            self._signatures[node] = self.module.signature(node.key, self.opsets)
        return self._signatures[node]

    def _repeated(self) -> bool:
        """Whether two constants are equal where one sees the other."""
        sugar = self.module.sugar
        seen: dict[Any, list[ProtoGraph]] = {}
        for value in sugar.free:
            constant = sugar.constant(value)
            assert constant is not None
            array, dtype = constant
            assert value.graph is not None
            others = seen.setdefault((dtype, array.shape, array.tobytes()), [])
            if any(_around(s, value.graph) or _around(value.graph, s) for s in others):
                return True
            others.append(value.graph)
        return False

    # -- nodes -------------------------------------------------------------------------------------

    def _plan(self, node: ProtoNode) -> None:
        """Decide how one node is written."""
        sugar = self.module.sugar
        sugared = False
        if self.module.function_name(node.key) is None:
            signature = self._signature(node)
            index = sugar.subscript(node) if signature is not None else None
            if index is not None:
                self.indices[node] = index
                sugared = True
            elif sugar.branch(node):
                self.branches.add(node)
                sugared = True
            elif node.key != ("", "Loop", ""):
                sugared = self._operands(node, signature)
        if sugared:
            sugar.used.append(self.number[node])

    def _operands(self, node: ProtoNode, signature: Any) -> bool:
        sugar, uses_sugar = self.module.sugar, False
        for place, value in enumerate(node.inputs):
            if value is None or value not in sugar.free:
                continue
            literal = sugar.literal(value, node, place, signature)
            assert literal is not None
            self.literals[node, place] = literal
            uses_sugar = True
        symbol = sugar.operator(node) if signature is not None else None
        if symbol is not None:
            self.symbols[node] = symbol
            uses_sugar = True
        return uses_sugar

    def _loops(self) -> None:
        """Find the Loops that may be statements, outer ones first."""
        sugar = self.module.sugar
        for node, number in self.number.items():
            if node.key != ("", "Loop", ""):
                continue
            reason = "it is not a plain loop"
            form = loop_form(node, sugar)
            if form is not None and sugar.allows(number):
                self._loop(node, form)
                sugar.used.append(number)
            elif sugar.allows(number):
                reason = sugar.last_loop or reason
                self.module.reasons.append(f"node {number} (Loop) is written as a call: {reason}")

    def _loop(self, node: ProtoNode, form: LoopForm) -> None:
        self.loops[node] = form
        for place, value in enumerate(node.inputs[:2]):
            if value is not None and value in self.module.sugar.free:
                constant = self.module.sugar.constant(value)
                assert constant is not None
                self.literals[node, place] = str(constant[0].item())
        if (form.again == "true" and self.shared) or not form.first:
            form.again = ""
        result = form.body.outputs[0]
        if form.again in ("identity", "true") and result.producer is not None:
            self.inlined.add(result.producer)
            self.sources.pop(result, None)
            form.copied = self.copied and form.again == "identity"
        if form.is_while:
            form.match_tests(self)


def _around(outer: ProtoGraph, inner: ProtoGraph) -> bool:
    """Whether one graph is the other or around it."""
    graph: ProtoGraph | None = inner
    while graph is not None:
        if graph is outer:
            return True
        graph = graph.outer
    return False


def ordered(nodes: list[ProtoNode]) -> list[ProtoNode]:
    """Nodes in an order in which each is made before it is read; unchanged if that holds."""
    place = {node: n for n, node in enumerate(nodes)}
    if all(place[u] <= n for n, node in enumerate(nodes) for u in _sources(node, place)):
        return nodes
    done: set[ProtoNode] = set()
    result: list[ProtoNode] = []
    for node in nodes:
        stack = [node]
        while stack:
            current = stack[-1]
            waiting = [u for u in _sources(current, place) if u not in done and u is not current]
            if current in done or not waiting:
                stack.pop()
                if current not in done:
                    done.add(current)
                    result.append(current)
            elif any(u in stack for u in waiting):
                return nodes  # a circle: no order is right
            else:
                stack.extend(reversed(waiting))
    return result


def _sources(node: ProtoNode, place: dict[ProtoNode, int]) -> list[ProtoNode]:
    """The nodes of the same graph that a node and its graphs read."""
    values = [w for w in node.inputs if w is not None]
    for graphs in node.subgraphs.values():
        for graph in graphs:
            for inner in graph.all_graphs():
                values += inner.outputs
                for reader in inner.nodes:
                    values += [w for w in reader.inputs if w is not None]
    return [w.producer for w in values if w.producer is not None and w.producer in place]
