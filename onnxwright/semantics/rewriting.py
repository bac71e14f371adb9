"""`RewriteContext`: what a rewrite may ask of the backend that builds the graph.

The builder's simplifications and the optimizer's rules are written over it alike, so that neither
depends on how nodes are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.span import Span
from onnxwright.operators.op_call import OpCall
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.types.shapes import Shape


class RewriteContext(Protocol):
    """A graph under construction, as a rewrite sees it.

    Attributes:
        opset: the default-domain opset that new nodes are taken from.
    """

    opset: Opset

    def emit(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator, simplified like every other call."""

    def standard(
        self, name: str, inputs: Sequence[GraphValue], attributes: Mapping[str, object] = ...
    ) -> GraphValue:
        """The one output of a standard operator of the opset."""

    def constant(self, array: np.ndarray[Any, Any]) -> GraphValue:
        """A value that holds an array; equal ones are shared."""

    def value_of(self, value: ir.Value | None) -> GraphValue:
        """The value of this graph for one of the IR."""

    def made_by(self, value: GraphValue, name: str) -> ir.Node | None:
        """The node that makes a value, if it is a standard operator of this name."""

    def axes_of(self, node: ir.Node, rank: int) -> list[int] | None:
        """The axes of a Squeeze or Unsqueeze node, sorted, counted in `rank` axes."""

    def attributes_of(self, call: OpCall) -> list[ir.Attr]:
        """The attributes of a call in the form of onnx_ir."""

    def constant_value(self, value: GraphValue) -> np.ndarray[Any, Any] | None:
        """The array that a value is known to hold; None for weights, whose values may change."""

    def dims_of(self, value: GraphValue) -> Shape | None:
        """A value as a shape: its dimensions (one for a scalar), or None."""

    def here(self) -> Span | None:
        """The place in the source, for messages."""


__all__ = ["RewriteContext"]
