"""Whether two graphs, functions or models are the same but for names of intermediate values.

What reaches an output is matched by walking both graphs from their outputs: inputs of a node are
ordered, so every step is forced.  Nodes that reach no output, and the operands of commutative
operators where their order is to be ignored, are matched by colors (a node's whole surroundings,
refined until stable) with backtracking, so the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onnxwright.compare.color_refinement import Features, refine_colors
from onnxwright.compare.mismatch import (
    ConflictError,
    Mismatch,
    path_of,
    place_of_node,
    place_of_value,
    show_node,
    show_tensor,
    show_value,
)
from onnxwright.compare.pair_checks import PairChecks
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.compare.strictness import Strictness
from onnxwright.operators import all_facts

COMMUTATIVE = frozenset(f.name for f in all_facts() if f.commutative and not f.domain)
_STEPS = 2_000_000


@dataclass
class _Choice:
    trail: int
    todo: list[tuple[Any, Any]]
    options: Iterator[list[tuple[Any, Any]]]


class IsomorphismSearch:
    """Matches two graphs; raises `ConflictError` inside, gives a `Mismatch` outside."""

    def __init__(self, a: ProtoGraph, b: ProtoGraph, strict: Strictness) -> None:
        self.a, self.b, self.strict = a, b, strict
        self.forward: dict[Any, Any] = {}
        self.backward: dict[Any, Any] = {}
        self.trail: list[tuple[Any, Any]] = []
        self.todo: list[tuple[Any, Any]] = []
        self.choices: list[_Choice] = []
        self.color: dict[Any, int] | None = None
        self.checks = PairChecks(strict)
        self.steps = 0
        self.queue: list[ProtoNode] = []
        self.classes: dict[int, list[ProtoNode]] = {}

    def run(self) -> Mismatch | None:
        """The first difference, or None where the graphs are the same."""
        first: Mismatch | None = None
        try:
            self._start()
        except ConflictError as conflict:
            return conflict.mismatch
        while True:
            try:
                self._settle()
                if not self._pick():
                    self._finish()
                    return None
            except ConflictError as conflict:
                first = first or conflict.mismatch
                if not self._backtrack():
                    return first

    def matched_values(self) -> dict[ProtoValue, ProtoValue]:
        """Value of the first -> value of the second."""
        return {x: y for x, y in self.forward.items() if isinstance(x, ProtoValue)}

    # -- the search ------------------------------------------------------------------------------

    def _start(self) -> None:
        self._pair_graphs(self.a, self.b)

    def _settle(self) -> None:
        while self.todo:
            self.steps += 1
            if self.steps > _STEPS:
                raise ConflictError(Mismatch("the graphs have too many equal parts to decide"))
            left, right = self.todo.pop()
            partner = self.forward.get(left)
            if partner is not None or right in self.backward:
                if partner is not right:
                    raise ConflictError(self._shared(left, right))
                continue
            self.forward[left] = right
            self.backward[right] = left
            self.trail.append((left, right))
            if isinstance(left, ProtoNode):
                self._nodes(left, right)
            else:
                self._values(left, right)

    def _shared(self, left: Any, right: Any) -> Mismatch:
        if isinstance(left, ProtoValue):
            what = "values are shared in one and separate in the other"
            return Mismatch(what, f"`{left.name}`", f"`{right.name}`", place_of_value(left))
        return Mismatch(
            "nodes cannot be matched one to one",
            show_node(left),
            show_node(right),
            place_of_node(left),
        )

    def _pick(self) -> bool:
        """Choose a pair among what is left over; False where nothing is."""
        left = self._next()
        if left is not None:
            options = self._partners(left)
            first = next(options, None)
            if first is None:
                self._no_partner(left)
            else:
                self.choices.append(_Choice(len(self.trail), list(self.todo), options))
                self.todo.extend(first)
            return True
        for right in self._rest(self.b, self.backward):
            raise ConflictError(
                Mismatch(
                    "the second has an extra node",
                    "nothing",
                    show_node(right),
                    place_of_node(right),
                )
            )
        return False

    def _next(self) -> ProtoNode | None:
        """A node of the first that is not matched, those without readers first."""
        for _ in range(2):
            while self.queue:
                node = self.queue.pop()
                if node not in self.forward:
                    return node
            self.queue = list(self._rest(self.a, self.forward))
        return None

    def _partners(self, left: ProtoNode) -> Iterator[list[tuple[Any, Any]]]:
        """The nodes of the second that may be the partner of a node."""
        color = self._colors()
        graph = self.b if left.graph is self.a else self.forward.get(left.graph)
        if not self.classes:
            for node in self.b.all_nodes():
                self.classes.setdefault(color[node], []).append(node)
        for right in self.classes.get(color[left], []):
            if right not in self.backward and right.graph is graph:
                yield [(left, right)]

    def _no_partner(self, left: ProtoNode) -> None:
        near = [r for r in self._rest(self.b, self.backward) if r.key == left.key]
        shown = show_node(near[0]) if near else "nothing"
        what = "a node that no output depends on has no partner"
        raise ConflictError(Mismatch(what, show_node(left), shown, place_of_node(left)))

    def _rest(self, graph: ProtoGraph, matched: dict[Any, Any]) -> Iterator[ProtoNode]:
        """Nodes not matched yet, those without readers first."""
        for node in reversed(graph.nodes):
            if node not in matched and not any(
                any(user not in matched for user, _ in w.uses)
                for w in node.outputs
                if w is not None
            ):
                yield node
        for node in graph.nodes:
            if node in matched:
                for graphs in node.subgraphs.values():
                    for inner in graphs:
                        yield from self._rest(inner, matched)

    def _colors(self) -> dict[Any, int]:
        if self.color is None:
            strict = self.strict
            symmetric = COMMUTATIVE if strict.commutative else frozenset()
            features = Features(
                strict.io_names,
                strict.initializer_names,
                strict.attributes and strict.initializers,
                symmetric,
            )
            self.color = refine_colors(self.a, self.b, features)
        return self.color

    def _branch(self, options: list[list[tuple[Any, Any]]]) -> None:
        iterator = iter(options)
        first = next(iterator)
        if len(options) > 1:
            self.choices.append(_Choice(len(self.trail), list(self.todo), iterator))
        self.todo.extend(first)

    def _backtrack(self) -> bool:
        while self.choices:
            choice = self.choices[-1]
            while len(self.trail) > choice.trail:
                left, right = self.trail.pop()
                del self.forward[left], self.backward[right]
            following = next(choice.options, None)
            if following is None:
                self.choices.pop()
                continue
            self.todo = [*choice.todo, *following]
            return True
        return False

    def _finish(self) -> None:
        """Initializers without readers."""
        for graph, other in [(self.a, self.b), *self._inner_pairs()]:
            left = [w for w in graph.initializers if w not in self.forward]
            right = [w for w in other.initializers if w not in self.backward]
            by_name = {w.name: w for w in right}
            for one in left:
                partner = by_name.get(one.name)
                if partner is None and not self.strict.initializer_names:
                    partner = next(
                        (r for r in by_name.values() if self.checks.same_initializer(one, r)), None
                    )
                if partner is None or not self.checks.same_initializer(one, partner):
                    what = "an unused initializer differs"
                    shown = "nothing" if partner is None else show_tensor(partner)
                    raise ConflictError(Mismatch(what, show_tensor(one), shown, path_of(graph)))
                del by_name[partner.name]
            for extra in by_name.values():
                what = "the second has an extra initializer"
                raise ConflictError(Mismatch(what, "nothing", show_tensor(extra), path_of(other)))

    def _inner_pairs(self) -> list[tuple[ProtoGraph, ProtoGraph]]:
        return [(x, y) for x, y in self.forward.items() if isinstance(x, ProtoGraph)]

    # -- values ----------------------------------------------------------------------------------

    def _values(self, a: ProtoValue, b: ProtoValue) -> None:
        where = a
        if (a.graph is None) != (b.graph is None) or (a.graph is None and a.name != b.name):
            self.checks.differ("an undefined name", f"`{a.name}`", f"`{b.name}`", where)
        if a.input_index != b.input_index:
            self.checks.differ("a value comes from elsewhere", show_value(a), show_value(b), where)
        if (a.tensor is None) != (b.tensor is None):
            self.checks.differ("a value comes from elsewhere", show_value(a), show_value(b), where)
        if a.tensor is not None:
            if self.strict.initializer_names and a.name != b.name:
                self.checks.differ("the name of an initializer", a.name, b.name, where)
            if not self.checks.same_initializer(a, b):
                self.checks.differ(f"initializer `{a.name}`", show_tensor(a), show_tensor(b), where)
        if (a.producer is None) != (b.producer is None):
            self.checks.differ("a value comes from elsewhere", show_value(a), show_value(b), where)
        if a.graph is not None and b.graph is not None:
            expected = self.b if a.graph is self.a else self.forward.get(a.graph)
            if expected is not b.graph:
                self.checks.differ(
                    "a value comes from another graph", show_value(a), show_value(b), where
                )
        if a.producer is not None and b.producer is not None:
            places = (_index(a.producer.outputs, a), _index(b.producer.outputs, b))
            if places[0] != places[1]:
                what = f"which output of {a.producer.proto.op_type} is used"
                self.checks.differ(what, str(places[0]), str(places[1]), where)
            self.todo.append((a.producer, b.producer))
        self.checks.check_declared(a, b, where)

    # -- nodes -----------------------------------------------------------------------------------

    def _nodes(self, a: ProtoNode, b: ProtoNode) -> None:
        self.checks.check_node(a, b)
        for name, graphs in a.subgraphs.items():
            for inner, other in zip(graphs, b.subgraphs[name], strict=True):
                self._pair_graphs(inner, other)
        self.todo.extend((x, y) for x, y in zip(a.outputs, b.outputs) if x is not None)
        if self.strict.commutative and a.key[0] == "" and a.key[1] in COMMUTATIVE:
            self._operands(a, b)
        else:
            self.todo.extend((x, y) for x, y in zip(a.inputs, b.inputs) if x is not None)

    def _operands(self, a: ProtoNode, b: ProtoNode) -> None:
        """The operands of a commutative operator, in every order that the colors allow."""
        color = self._colors()
        orders: list[list[tuple[Any, Any]]] = [[]]
        taken: list[set[int]] = [set()]
        for x in a.inputs:
            grown, grown_taken = [], []
            for order, used in zip(orders, taken):
                for place, y in enumerate(b.inputs):
                    if place not in used and color[x] == color[y]:
                        grown.append([*order, (x, y)])
                        grown_taken.append({*used, place})
                        if len(grown) > 720:
                            break
            orders, taken = grown, grown_taken
        if not orders:
            self.checks.differ("the operands", show_node(a), show_node(b), a)
        self._branch(orders)

    # -- graphs ----------------------------------------------------------------------------------

    def _pair_graphs(self, a: ProtoGraph, b: ProtoGraph) -> None:
        if a is not self.a:
            self.forward[a] = b
            self.backward[b] = a
            self.trail.append((a, b))
        self.checks.check_graph(a, b)
        self.todo.extend(zip(a.inputs, b.inputs))
        self.todo.extend(zip(a.outputs, b.outputs))


def _index(values: list[ProtoValue | None], value: ProtoValue) -> int:
    return next(n for n, v in enumerate(values) if v is value)
