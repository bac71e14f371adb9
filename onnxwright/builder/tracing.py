"""`TracingBackend`: builds the smallest graph that does what the calls say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.opset.op import Op
from onnxwright.semantics.graph_backend import GraphBackend, GraphValue


class TracingBackend(GraphBackend):
    """A graph backend that simplifies each call before it becomes a node.

    Nothing that is written is sacred here: constants are folded, identities are their input, equal
    nodes are shared, and nodes that nobody reads are dropped.
    """

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """As `emit`: what a traced function calls is not kept for its own sake."""
        return self.emit(op, inputs, attributes, outputs)

    def emit(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator: known values, an input itself, or those of a node."""
        return super().emit(op, inputs, attributes, outputs)

    def constant(self, array: np.ndarray[Any, Any]) -> GraphValue:
        """A value that holds `array` (equal ones are shared)."""
        return super().constant(array)
