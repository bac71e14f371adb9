"""Whether a pattern may lie at a node: what every match of it has, asked before any is tried.

Matching tries both orders of commutative operators and binds values as it goes.  Most tries end at
an operator or a number that is another one: here that is seen without binding anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import onnx_ir as ir

from onnxwright.optimizer.constants import holds, readers, tensor_of
from onnxwright.optimizer.pattern_nodes import Literal, Output, PatternNode, Rest, Variable
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.rules import Rule
from onnxwright.optimizer.scope import Scope

Entry: TypeAlias = tuple[Rule, Pattern, PatternNode]
"""A rule, one of its patterns, and the node of it that makes one of its results."""

# The operator and domain of the node that makes an input, and those of what that node reads as far
# as they are looked at; None where no node makes it.
_Maker: TypeAlias = "tuple[str, str, tuple[_Maker, ...] | None] | None"
_Key: TypeAlias = "tuple[str, str, tuple[_Maker, ...]]"
# Variables that results have in common, with the operators that read them for other results.
_Common: TypeAlias = "dict[str, set[str]]"

# From so many patterns on it pays to look at the makers of the makers, too.
_FEW = 3


class PatternIndex:
    """Finds the patterns that may lie at a node, by its operator and those that make its inputs.

    Args:
        entries: the patterns, in the order in which they are tried.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_operator: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            root = entry[2]
            self._by_operator.setdefault((root.op_type, root.domain), []).append(entry)
        # The graph of a model has few combinations of operators: each is looked through once.
        self._by_makers: dict[_Key, list[Entry]] = {}
        self._shared: dict[tuple[int, int], _Common] = {}

    def at(self, node: ir.Node) -> list[Entry]:
        """The patterns that may lie at a node, in order."""
        name, domain = node.op_type, node.domain
        entries = self._by_operator.get((name, domain))
        if entries is None:
            return []
        inputs = node.inputs
        known = self._read(entries, (name, domain, tuple([_maker(v, 0) for v in inputs])))
        if len(known) > _FEW:
            known = self._read(known, (name, domain, tuple([_maker(v, 1) for v in inputs])))
        return [e for e in known if may_lie(e[2], node) and self._is_shared(e, node)]

    def _read(self, entries: list[Entry], key: _Key) -> list[Entry]:
        """Those of some patterns that may read what such nodes make."""
        found = self._by_makers.get(key)
        if found is None:
            found = self._by_makers[key] = [e for e in entries if _may_read(e[2], key[2])]
        return found

    def _is_shared(self, entry: Entry, node: ir.Node) -> bool:
        """Whether a value has as many readers as a pattern of several results wants."""
        _, pattern, root = entry
        if len(pattern.roots) == 1:
            return True
        key = (id(pattern), id(root))
        if key not in self._shared:
            self._shared[key] = _shared_by(pattern, root)
        names = self._shared[key]
        return not names or _may_share(root, node, names)


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


def _may_share(wanted: PatternNode, node: ir.Node, names: _Common) -> bool:
    """Whether a value that may be one of some variables has another reader that may be in a match.

    Args:
        wanted: the node of the pattern.
        node: the node of the model; as far as operators say it may be that of the pattern.
        names: the variables, with the operators that read them for the other results; constants
            that are equal may be one of them as well.
    """
    orders = [wanted.inputs]
    if wanted.commutative and len(node.inputs) == 2:
        orders.append(wanted.inputs[::-1])
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
    return len(node.inputs) < len(wanted.inputs)  # an attribute may be a variable


def pattern_index(rules: Iterable[Rule], scope: Scope) -> PatternIndex:
    """The patterns of the rules that may be used, in the order in which they are tried."""
    made = [r.for_version(scope.version) for r in rules if scope.allows(r)]
    pairs = [(r, p) for r in made for p in r.patterns]
    pairs.sort(key=lambda pair: -len(pair[1].nodes))
    # The results that a model computes first are made where the first of them is.
    return PatternIndex((r, p, root) for r, p in pairs for root in p.roots)


def _maker(value: ir.Value | None, depth: int) -> _Maker:
    node = None if value is None else value.producer()
    if node is None:
        return None
    read = tuple([_maker(v, depth - 1) for v in node.inputs]) if depth else None
    return (node.op_type, node.domain, read)


def _may_read(wanted: PatternNode, makers: Sequence[_Maker]) -> bool:
    """Whether inputs that these operators make may be those of a node of a pattern."""
    inputs = [p.node if isinstance(p, Output) else None for p in wanted.inputs]
    if wanted.commutative and len(makers) == 2:
        orders = [inputs, inputs[::-1]]
    else:
        # Only constants may be attributes of the node instead of its inputs.
        if any(inputs[len(makers) :]):
            return False
        orders = [inputs]
    return any(
        all(p is None or _may_make(p, made) for p, made in zip(order, makers)) for order in orders
    )


def _may_make(wanted: PatternNode, maker: _Maker) -> bool:
    """Whether a maker of an input may be a node of a pattern."""
    if maker is None or maker[:2] != (wanted.op_type, wanted.domain):
        return False
    return maker[2] is None or _may_read(wanted, maker[2])


def may_lie(wanted: PatternNode, node: ir.Node) -> bool:
    """Whether a node may be that of a pattern, as far as operators and constants say.

    Args:
        wanted: the node of the pattern.
        node: the node of the model.

    Returns:
        False where no match has the node there.
    """
    if node.op_type != wanted.op_type or node.domain != wanted.domain:
        return False
    given, inputs = node.inputs, wanted.inputs
    if wanted.commutative and len(given) == 2:
        p, q = inputs
        a, b = given
        return (_may_be(p, a) and _may_be(q, b)) or (_may_be(p, b) and _may_be(q, a))
    count = len(given)
    for n, p in enumerate(inputs):
        if isinstance(p, Rest):
            return True
        if n < count:
            if not _may_be(p, given[n]):
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
        return not p.constant or tensor_of(value) is not None
    return value is None


__all__ = ["Entry", "PatternIndex", "may_lie", "pattern_index"]
