"""Whether a pattern may lie at a node: what every match of it has, asked before any is tried.

Matching tries both orders of commutative operators and binds values as it goes.  Most tries end at
an operator or a number that is another one: here that is seen without binding anything.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import onnx_ir as ir

from onnxwright.opset.history import versions_of
from onnxwright.opset.registry import signature
from onnxwright.optimizer.attribute_matching import is_same
from onnxwright.optimizer.constants import holds, readers, tensor_of
from onnxwright.optimizer.pattern_nodes import (
    AttributeVariable,
    Literal,
    Output,
    PatternNode,
    Rest,
    Variable,
)
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.rules import Rule
from onnxwright.optimizer.scope import Scope

Entry: TypeAlias = tuple[Rule, Pattern, PatternNode]
"""A rule, one of its patterns, and the node of it that makes one of its results."""

Operator: TypeAlias = tuple[str, str]
"""The name and the domain of an operator."""

# The operator and domain of the node that makes an input, and what that node reads as far as it is
# looked at.  Where no node makes it, what it is; None where it is absent.
_Maker: TypeAlias = "tuple[str, str, tuple[_Maker, ...] | None] | str | None"
_OPEN, _CONSTANT, _NUMBER = "open", "constant", "number"
_Key: TypeAlias = "tuple[str, str, tuple[_Maker, ...]]"
# Variables that results have in common, with the operators that read them for other results.
_Common: TypeAlias = "dict[str, set[str]]"

# From so many patterns on it pays to look at the makers of the makers, too.
_FEW = 3
# An index is used again for the next model.
_MOST_KEYS = 20_000
_MOST_MODELS = 64


class PatternIndex:
    """Finds the patterns that may lie at a node, by its operator and those that make its inputs.

    Args:
        entries: the patterns, in the order in which they are tried.

    Attributes:
        names: the operators at which there are patterns, without their domains.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._fill([_Screened(entry) for entry in entries])
        # The parts that are asked for graphs of these operators.
        self._among: dict[frozenset[Operator], PatternIndex] = {}

    def _fill(self, patterns: Iterable[_Screened]) -> None:
        self._by_operator: dict[Operator, list[_Screened]] = {}
        for screened in patterns:
            root = screened.entry[2]
            self._by_operator.setdefault((root.op_type, root.domain), []).append(screened)
        self.names = {name for name, _ in self._by_operator}
        # The graph of a model has few combinations of operators: each is looked through once.
        self._by_makers: dict[_Key, list[_Screened]] = {}

    def among(self, operators: frozenset[Operator]) -> PatternIndex:
        """The patterns whose operators a graph has, all of them: no other pattern lies in it.

        Args:
            operators: the operators of the graph and of the graphs inside of its nodes.

        Returns:
            The part of this index that has these patterns.
        """
        part = self._among.get(operators)
        if part is None:
            if len(self._among) >= _MOST_MODELS:
                self._among.clear()
            part = self._among[operators] = PatternIndex(())
            held = [one for name in self._by_operator if name in operators
                    for one in self._by_operator[name]]  # fmt: skip
            part._fill(one for one in held if one.operators <= operators)
        return part

    def at(self, node: ir.Node) -> list[Entry]:
        """The patterns that may lie at a node, in order."""
        name, domain = node.op_type, node.domain
        patterns = self._by_operator.get((name, domain))
        if patterns is None:
            return []
        if len(self._by_makers) > _MOST_KEYS:  # of many models, in turn
            self._by_makers.clear()
        inputs = node.inputs
        near = (name, domain, tuple([_maker(v) for v in inputs]))
        left = self._by_makers.get(near)
        if left is None:
            left = [s for s in patterns if _may_read(s.entry[2], near[2])]
            self._by_makers[near] = left
        if len(left) > _FEW:
            far = (name, domain, tuple([_maker_and_read(v) for v in inputs]))
            further = self._by_makers.get(far)
            if further is None:
                further = [s for s in left if _may_read(s.entry[2], far[2])]
                self._by_makers[far] = further
            left = further
        if not left:
            return []
        # Several patterns look at the same, and differ in what else they have.
        answers: dict[str, bool] = {}
        entries = []
        for screened in left:
            form = screened.form
            if form not in answers:
                answers[form] = screened.may_lie(node)
            if answers[form]:
                entries.append(screened.entry)
        return entries


class _Screened:
    """A pattern, with what is asked of a node before it is matched there.

    Args:
        entry: the pattern.

    Attributes:
        operators: those of its nodes: a graph that has one of them nowhere has no match.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.operators = frozenset([(n.op_type, n.domain) for n in entry[1].nodes])

    @functools.cached_property
    def common(self) -> _Common:
        """The variables that its results have in common, and who reads them."""
        _, pattern, root = self.entry
        return _shared_by(pattern, root) if len(pattern.roots) > 1 else {}

    @functools.cached_property
    def needed(self) -> tuple[str, ...]:
        """Attributes that the node must have: by default they are something else."""
        root = self.entry[2]
        return tuple([n for n, v in root.attributes.items() if _is_needed(root, n, v)])

    @functools.cached_property
    def form(self) -> str:
        """What is asked as text: equal where the same is asked."""
        return f"{self.needed}{_form(self.entry[2], self.common)}"

    def may_lie(self, node: ir.Node) -> bool:
        """Whether the operators, constants and readers around a node are those of the pattern."""
        root, held = self.entry[2], node.attributes.data
        if any(name not in held for name in self.needed):
            return False
        return may_lie(root, node) and (not self.common or _may_share(root, node, self.common))


def _is_needed(node: PatternNode, name: str, expected: Any) -> bool:
    """Whether a node without an attribute is never that of a pattern."""
    if isinstance(expected, AttributeVariable) or node.domain or name == "axis":
        return False  # an axis can be counted from both ends
    return not any(is_same(d, expected) for d in _defaults(node.op_type, name))


@functools.cache
def _defaults(op_type: str, name: str) -> list[Any]:
    """What an absent attribute of a standard operator is, in each version that has it."""
    signatures = [signature("", op_type, since) for since, _ in versions_of("", op_type)]
    return [
        s.attributes[name].default for s in signatures if s is not None and name in s.attributes
    ]


def _form(node: PatternNode, common: _Common) -> str:
    """What screening asks of a node of a pattern and of what it reads."""
    parts = []
    for p in node.inputs:
        if isinstance(p, Output):
            parts.append(f"{p.index}:{_form(p.node, common)}")
        elif isinstance(p, Literal):
            parts.append(f"={p.value!r}~{p.rtol}")
        elif isinstance(p, Variable):
            kind = "*" if isinstance(p, Rest) else "?" if p.optional else "$"
            parts.append(f"{kind}{p.constant}{sorted(common.get(p.name, ()))}")
        else:
            parts.append("")
    return f"{node.domain}.{node.op_type}{node.commutative}({','.join(parts)})"


def _shared_by(pattern: Pattern, root: PatternNode) -> _Common:
    """The variables that the result of one node has in common with the others, and who reads them.

    Empty where results have nodes in common, too: of these the variables say nothing.
    """
    nodes = {r: set(_interior(r)) for r in pattern.roots}
    others = [r for r in pattern.roots if r is not root]
    if any(nodes[root] & nodes[r] for r in others):
        return {}
    own = {p.name for n in nodes[root] for p in n.inputs if type(p) is Variable}
    common: dict[str, set[str]] = {}
    for n in (n for r in others for n in nodes[r]):
        for p in n.inputs:
            if type(p) is Variable and p.name in own:
                common.setdefault(p.name, set()).add(n.op_type)
    return common


def _interior(node: PatternNode) -> Iterator[PatternNode]:
    yield node
    for p in node.inputs:
        if isinstance(p, Output):
            yield from _interior(p.node)


def _may_share(expected: PatternNode, node: ir.Node, names: _Common) -> bool:
    """Whether a value that may be one of some variables has another reader that may be in a match.

    Args:
        expected: the node of the pattern.
        node: the node of the model; as far as operators say it may be that of the pattern.
        names: the variables, with the operators that read them for the other results; constants
            that are equal may be one of them as well.
    """
    orders = [expected.inputs]
    if expected.commutative and len(node.inputs) == 2:
        orders.append(expected.inputs[::-1])
    for inputs in orders:
        for p, value in zip(inputs, node.inputs):
            if isinstance(p, Rest) or value is None:
                return True
            maker = value.producer()
            if isinstance(p, Output):
                if (
                    maker is not None
                    and may_lie(p.node, maker)
                    and _may_share(p.node, maker, names)
                ):
                    return True
            elif isinstance(p, Variable) and p.name in names:
                if tensor_of(value) is not None:
                    return True
                operators = names[p.name]
                if any(r is not node and r.op_type in operators for r in readers(value)):
                    return True
    return len(node.inputs) < len(expected.inputs)  # an attribute may be a variable


def pattern_index(rules: Iterable[Rule], scope: Scope) -> PatternIndex:
    """The patterns of the rules that may be used, in the order in which they are tried."""
    allowed = tuple([r for r in rules if scope.allows(r)])
    # A rule that is written step by step may get further patterns.
    return _index(allowed, tuple([len(r.patterns) for r in allowed]), scope.version)


@functools.lru_cache(maxsize=16)
def _index(rules: tuple[Rule, ...], _patterns: tuple[int, ...], version: int) -> PatternIndex:
    versioned = [r.for_version(version) for r in rules]
    pairs = [(r, p) for r in versioned for p in r.patterns]
    pairs.sort(key=lambda pair: -len(pair[1].nodes))
    # The results that a model computes first are made where the first of them is.
    return PatternIndex((r, p, root) for r, p in pairs for root in p.roots)


def _maker(value: ir.Value | None) -> _Maker:
    if value is None:
        return None
    node = value.producer()
    if node is not None:
        return (node.op_type, node.domain, None)
    if value.const_value is None or value.is_graph_input():
        return _OPEN
    for dim in value.shape or ():
        if dim != 1:
            return _CONSTANT
    return _NUMBER


def _maker_and_read(value: ir.Value | None) -> _Maker:
    """What makes an input, with what makes the inputs of that."""
    node = None if value is None else value.producer()
    if node is None:
        return _maker(value)
    return (node.op_type, node.domain, tuple([_maker(v) for v in node.inputs]))


def _may_read(expected: PatternNode, makers: Sequence[_Maker]) -> bool:
    """Whether inputs that are made like this may be those of a node of a pattern."""
    inputs = expected.inputs
    if expected.commutative and len(makers) == 2:
        return any(all(map(_may_make, order, makers)) for order in (inputs, inputs[::-1]))
    # Only constants may be attributes of the node instead of its inputs.
    if any(isinstance(p, Output) for p in inputs[len(makers) :]):
        return False
    for p, maker in zip(inputs, makers):
        if isinstance(p, Rest):
            return True
        if not _may_make(p, maker):
            return False
    return True


def _may_make(p: Any, maker: _Maker) -> bool:
    """Whether what makes an input may be that of an input of a pattern; as `_may_be`."""
    if isinstance(p, Output):
        if not isinstance(maker, tuple) or maker[:2] != (p.node.op_type, p.node.domain):
            return False
        return maker[2] is None or _may_read(p.node, maker[2])
    if maker is None:
        return p is None or (isinstance(p, Variable) and p.optional)
    is_constant = maker[:2] == ("Constant", "") if isinstance(maker, tuple) else maker != _OPEN
    if isinstance(p, Literal):
        one = isinstance(p.value, (int, float))
        return is_constant and not (one and maker == _CONSTANT)
    return isinstance(p, Variable) and p.constant in (None, is_constant)


def may_lie(expected: PatternNode, node: ir.Node) -> bool:
    """Whether a node may be that of a pattern, as far as operators and constants say.

    Args:
        expected: the node of the pattern.
        node: the node of the model.

    Returns:
        False where no match has the node there.
    """
    if node.op_type != expected.op_type or node.domain != expected.domain:
        return False
    values, inputs = node.inputs, expected.inputs
    if expected.commutative and len(values) == 2:
        p, q = inputs
        a, b = values
        return (_may_be(p, a) and _may_be(q, b)) or (_may_be(p, b) and _may_be(q, a))
    count = len(values)
    for n, p in enumerate(inputs):
        if isinstance(p, Rest):
            return True
        if n < count:
            if not _may_be(p, values[n]):
                return False
        elif isinstance(p, Output):
            return False
    return True


def _may_be(p: Any, value: ir.Value | None) -> bool:
    """Whether a value may be that of an input of the pattern."""
    if isinstance(p, Output):
        node = None if value is None else value.producer()
        if node is None or value is None or node.op_type != p.node.op_type:
            return False
        return value.index() == p.index and may_lie(p.node, node)
    if isinstance(p, Literal):
        return holds(value, p.value, p.rtol)
    if isinstance(p, Variable):
        if value is None:
            return p.optional
        return p.constant is None or p.constant is (tensor_of(value) is not None)
    return value is None
