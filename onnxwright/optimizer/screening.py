"""Whether a pattern may lie at a node: what every match of it has, asked before any is tried.

Matching tries both orders of commutative operators and binds values as it goes.  Most tries end at
an operator or a number that is another one: here that is seen without binding anything.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onnxwright.optimizer.constants import holds, tensor_of
from onnxwright.optimizer.pattern_nodes import Literal, Output, PatternNode, Rest, Variable


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
        if node is None or value is None:
            return False
        return may_lie(p.node, node) and value.index() == p.index
    if isinstance(p, Literal):
        return holds(value, p.value, p.rtol)
    if isinstance(p, Variable):
        if value is None:
            return p.optional
        return not p.constant or tensor_of(value) is not None
    return value is None


__all__ = ["may_lie"]
