"""Matching: where a pattern lies in a finished graph, with both orders of commutative operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.operators import facts
from onnxwright.opset import registry
from onnxwright.opset.registry import OpSignature
from onnxwright.optimizer.attribute_matching import (
    attribute_as_input,
    attribute_value,
    is_same,
    is_same_by_rank,
    place_as_input,
)
from onnxwright.optimizer.constants import holds, is_constant, small_array
from onnxwright.optimizer.match import Match, Near
from onnxwright.optimizer.pattern_nodes import (
    AttributeVariable,
    Literal,
    Output,
    PatternNode,
    PatternValue,
    Rest,
    Variable,
)
from onnxwright.optimizer.patterns import Pattern


class Matcher:
    """Finds a pattern at nodes of a graph.

    Args:
        pattern: the pattern.
        imports: the opset versions of the graph.
        explain: remember the best failure in `near`.
        shared: whether interior values may have other readers.
    """

    def __init__(
        self, pattern: Pattern, imports: Any, *, explain: bool = False, shared: bool = False
    ) -> None:
        self.pattern = pattern
        self.version = int(imports.get("", 1))
        self.explain = explain
        self.shared = shared
        self.near: Near | None = None
        self._graph: Any = None

    def at(self, node: ir.Node, root: PatternNode | None = None) -> Iterator[Match]:
        """The matches in which a node makes a result: the first one, or that of `root`."""
        self._graph = node.graph
        start = self.pattern.root if root is None else root
        others = [r for r in self.pattern.roots if r is not start]
        for match in self._node(start, node, Match(self.pattern), None):
            yield from self._further(match, others)

    def _further(self, match: Match, roots: list[PatternNode]) -> Iterator[Match]:
        """The other results: their nodes are among the readers of what is bound."""
        if not roots:
            if self._covers_outputs(match) and (self.shared or self._is_closed(match)):
                yield match
            return
        done = [r for r in roots if r in match.nodes]
        if done:
            yield from self._further(match, [r for r in roots if r not in done])
            return
        # The next one is a result that something bound leads to.
        led = [(r, nodes) for r in roots if (nodes := _candidates(r, match))]
        if not led:
            self._fail(match, roots[0], None, "no node of the model computes this result")
            return
        root, candidates = led[0]
        others = [r for r in roots if r is not root]
        for node in candidates:
            if node in match.nodes.values():
                continue
            for further in self._node(root, node, match.copy(), None):
                yield from self._further(further, others)

    # -- nodes ---------------------------------------------------------------------------------

    def _node(
        self, expected: PatternNode, node: ir.Node, match: Match, goals: Any
    ) -> Iterator[Match]:
        before = match.nodes.get(expected)
        if before is not None:
            if before is node:
                yield from self._solve(match, goals)
            return
        if node.op_type != expected.op_type or node.domain != expected.domain:
            self._fail(match, expected, node, f"it is {node.op_type}")
            return
        if self._graph is not node.graph:
            # What a loop computes once would be computed at each iteration.
            self._fail(match, expected, node, "it is in another graph")
            return
        if len(node.outputs) < expected.outputs:
            self._fail(match, expected, node, f"it has {len(node.outputs)} outputs")
            return
        signature = None
        if node.domain == "":
            signature = registry.signature("", node.op_type, self.version)
        if not self._attributes(expected, node, match, signature):
            return
        match.nodes[expected] = node
        inputs = self._inputs(expected, node, match, signature)
        if inputs is None:
            return
        if _may_widen(node, inputs):
            self._fail(match, expected, node, "a number with axes of its own may widen the result")
            return
        if not expected.commutative or len(inputs) != 2:
            yield from self._solve(match, _join(inputs, goals))
            return
        (p, a), (q, b) = inputs
        if self._may_be(p, a) and self._may_be(q, b):
            yield from self._solve(match.copy(), _join(inputs, goals))
        if a is not b and self._may_be(p, b) and self._may_be(q, a):
            yield from self._solve(match.copy(), _join([(p, b), (q, a)], goals))

    def _may_be(self, pattern_value: PatternValue | None, value: Any) -> bool:
        """Whether it pays to try an order of two inputs; to explain, all are tried."""
        if type(pattern_value) is not Output or self.explain:
            return True
        node = None if value is None else value.producer()
        return node is not None and node.op_type == pattern_value.node.op_type

    def _solve(self, match: Match, goals: Any) -> Iterator[Match]:
        while goals is not None:
            (expected, value), goals = goals
            if isinstance(expected, Output):
                node = None if value is None else value.producer()
                if node is None or value.index() != expected.index:
                    self._fail(
                        match, expected.node, node, "no node of the pattern makes this input"
                    )
                    return
                yield from self._node(expected.node, node, match, goals)
                return
            if not self._leaf(expected, value, match):
                return
        yield match

    def _leaf(self, expected: PatternValue | None, value: Any, match: Match) -> bool:
        if expected is None:
            return value is None
        if isinstance(expected, Literal):
            if holds(value, expected.value, expected.rtol):
                return True
            if self.explain:
                reason = f"the input is {_described(value)}, not {expected.value!r}"
                self._fail(match, expected, _reader(value), reason)
            return False
        assert isinstance(expected, Variable)
        if value is None and not expected.optional:
            self._fail(match, expected, None, f"the input `{expected.name}` is absent")
            return False
        if expected.constant is not None and value is not None:
            if is_constant(value) is not expected.constant:
                what = "not a constant" if expected.constant else "a constant"
                self._fail(match, expected, _reader(value), f"`{expected.name}` is {what}")
                return False
        if expected.name in match.values:
            if match.values[expected.name] is value or _equal(match.values[expected.name], value):
                return True
            self._fail(match, expected, _reader(value), f"`{expected.name}` is another value")
            return False
        match.values[expected.name] = value
        return True

    def _inputs(
        self, expected: PatternNode, node: ir.Node, match: Match, signature: OpSignature | None
    ) -> list[tuple[PatternValue | None, Any]] | None:
        """Pairs of inputs; None where their number is another."""
        pairs: list[tuple[PatternValue | None, Any]] = []
        inputs = list(node.inputs)
        for n, p in enumerate(expected.inputs):
            if isinstance(p, Rest):
                rest = inputs[n:]
                if p.constant and not all(map(is_constant, rest)):
                    self._fail(match, p, node, f"`{p.name}` are not all constants")
                    return None
                if match.values.setdefault(p.name, rest) != rest:
                    return None
                return pairs
            if n < len(inputs):
                pairs.append((p, inputs[n]))
            elif isinstance(p, Variable):
                pairs.append((p, attribute_as_input(expected, n, node, signature)))
            elif not self._as_attribute(p, n, expected, node, signature):
                pairs.append((p, None))
        if len(inputs) > len(pairs) and any(v is not None for v in inputs[len(pairs) :]):
            self._fail(match, expected, node, f"it has {len(inputs)} inputs")
            return None
        return pairs

    def _as_attribute(
        self,
        p: PatternValue | None,
        n: int,
        expected: PatternNode,
        node: ir.Node,
        signature: OpSignature | None,
    ) -> bool:
        """Whether an older version has a literal input of the pattern as an attribute."""
        if signature is None or not isinstance(p, Literal):
            return False
        newest = registry.signature("", expected.op_type, onnx.defs.onnx_opset_version())
        if newest is None or n >= len(newest.inputs):
            return False
        attr = node.attributes.get(newest.inputs[n].name)
        return attr is not None and not attr.is_ref() and is_same(attr.value, p.value)

    # -- attributes ----------------------------------------------------------------------------

    def _attributes(
        self, pattern_node: PatternNode, node: ir.Node, match: Match, signature: OpSignature | None
    ) -> bool:
        if not (pattern_node.attributes or pattern_node.rest or node.attributes.data):
            return True
        attributes = {a.name: a for a in node.attributes.values()}
        for name, expected in pattern_node.attributes.items():
            value = attribute_value(attributes.pop(name, None), name, signature)
            if isinstance(expected, AttributeVariable):
                if match.attributes.setdefault(expected.name, value) != value:
                    self._fail(match, pattern_node, node, f"`{name}` is another value than before")
                    return False
            elif not is_same(value, expected) and not is_same_by_rank(name, value, expected, node):
                self._fail(match, pattern_node, node, f"`{name}` is {value!r}, not {expected!r}")
                return False
        if pattern_node.rest is not None:
            if any(a.is_ref() for a in attributes.values()):
                return False
            match.attributes[pattern_node.rest.name] = {n: a.value for n, a in attributes.items()}
            return True
        for name, attr in attributes.items():
            as_input = place_as_input(pattern_node, name)
            if as_input is not None and as_input < len(pattern_node.inputs):
                continue
            default = attribute_value(None, name, signature)
            if attr.is_ref() or not is_same(attr.value, default):
                self._fail(match, pattern_node, node, f"it has the attribute `{name}`")
                return False
        return True

    def _covers_outputs(self, match: Match) -> bool:
        """Whether the pattern has a result for each output of its roots that is read."""
        results = {(match.nodes[r.node], r.index) for r in self.pattern.results}
        for root in self.pattern.roots:
            node = match.nodes[root]
            for n, value in enumerate(node.outputs):
                if (node, n) not in results and (value.uses() or value.is_graph_output()):
                    if not self._is_inside(value, match):
                        self._fail(match, root, node, f"the output `{value.name}` is read, too")
                        return False
        return True

    def _is_inside(self, value: ir.Value, match: Match) -> bool:
        nodes = match.nodes.values()
        return not value.is_graph_output() and all(u.node in nodes for u in value.uses())

    def _is_closed(self, match: Match) -> bool:
        """Whether nothing outside reads what lies inside."""
        nodes = set(match.nodes.values())
        roots = {match.nodes[r] for r in self.pattern.roots}
        for expected, node in match.nodes.items():
            if node in roots:
                continue
            for value in node.outputs:
                if value.is_graph_output():
                    self._fail(match, expected, node, f"`{value.name}` is an output of the graph")
                    return False
                for use in value.uses():
                    if use.node not in nodes:
                        reason = f"`{value.name}` has another reader"
                        self._fail(match, expected, use.node, reason)
                        return False
        return True

    def _fail(self, match: Match, expected: Any, node: ir.Node | None, reason: str) -> None:
        if not self.explain:
            return
        before = self.near
        if before is not None and (before.matched, before.node is not None) >= (
            len(match.nodes),
            node is not None,
        ):
            return
        line = getattr(expected, "line", None)
        pairs = tuple(
            (repr(p), model_node) for p, model_node in match.nodes.items() if p is not expected
        )
        self.near = Near(len(match.nodes), repr(expected), line, node, reason, pairs)


def _described(value: ir.Value | None) -> str:
    """A value as explanations show it."""
    array = small_array(value)
    if value is None:
        return "absent"
    if array is None:
        return f"`{value.name}`"
    return f"{array.reshape(()).item():g}" if array.size == 1 else str(array.tolist())


def _may_widen(node: ir.Node, inputs: Any) -> bool:
    """Whether a number with axes of its own, `[[0.5]]`, may give the result more axes."""
    if not any(isinstance(expected, Literal) for expected, _ in inputs):
        return False
    if not facts(node.op_type, node.domain).elementwise:
        return False
    values = [v for _, v in inputs if v is not None]
    of_known_rank = [v for v in values if v.shape is not None]
    numbers = [len(v.shape) for v in of_known_rank if is_constant(v)]
    others = [len(v.shape) for v in of_known_rank if not is_constant(v)]
    if not others and len(numbers) == len(values):
        return False
    return max(numbers, default=0) > max(others, default=0)


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are constants of the same integers."""
    if not isinstance(a, ir.Value) or not isinstance(b, ir.Value):
        return False
    one, other = small_array(a), small_array(b)
    if one is None or other is None or one.dtype.kind not in "iu":
        return False
    return one.dtype == other.dtype and bool(np.array_equal(one, other))


def _join(pairs: Any, goals: Any) -> Any:
    # What is settled at once comes first: most tries end there.
    for pair in pairs:
        if type(pair[0]) is not Literal:
            goals = (pair, goals)
    for pair in pairs:
        if type(pair[0]) is Literal:
            goals = (pair, goals)
    return goals


def _candidates(root: PatternNode, match: Match) -> list[ir.Node]:
    """Nodes that may be that of a further result: what is bound leads to them, step by step."""
    candidates: dict[ir.Node, None] = {}
    for p in root.inputs:
        for value in _bound(p, match):
            for use in value.uses():
                if use.node.op_type == root.op_type:
                    candidates[use.node] = None
    return list(candidates)


def _bound(expected: Any, match: Match) -> list[ir.Value]:
    """The values that an input of the pattern may be, by what is bound already."""
    if isinstance(expected, Variable):
        value = match.values.get(expected.name)
        # A test of None against a class of onnx_ir goes through the protocols it has.
        return [value] if value is not None and isinstance(value, ir.Value) else []
    if not isinstance(expected, Output):
        return []
    node = match.nodes.get(expected.node)
    makers = _candidates(expected.node, match) if node is None else [node]
    return [m.outputs[expected.index] for m in makers if expected.index < len(m.outputs)]


def _reader(value: Any) -> ir.Node | None:
    if isinstance(value, ir.Value):
        producer = value.producer()
        if producer is not None:
            return producer
        return next((use.node for use in value.uses()), None)
    return None
