"""Loops whose number of iterations is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend


def known_iterations(b: GraphBackend, inputs: Sequence[GraphValue | None]) -> int | None:
    """How often the body of a Loop runs, unless its condition ends it before.

    Args:
        inputs: the inputs of the Loop: the trip count, the condition and the carried values.

    Returns:
        The number, 0 where it surely never runs; None where it is not known.
    """
    limit, condition = ([*inputs, None, None])[:2]
    count = None if limit is None else _number(b, limit)
    going = True if condition is None else _number(b, condition)
    if (count is not None and count <= 0) or (going is not None and not going):
        return 0
    return count if going else None


def first_row(b: GraphBackend, value: GraphValue) -> GraphValue:
    """What one iteration stacks: its value with an axis of length 1 in front.

    Args:
        value: what the body gives.
    """
    if b.opset.version < 13:
        return b.standard("Unsqueeze", [value], {"axes": [0]})
    return b.standard("Unsqueeze", [value, b.constant(np.array([0], np.int64))])


def _number(b: GraphBackend, value: GraphValue) -> int | None:
    """The number that a constant of one element holds."""
    known = b.constant_value(value)
    return None if known is None or known.size != 1 else int(known.item())
