"""`BuildContext`: what the modules of this package ask of the backend that they work for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.span import Span
from onnxwright.ir.builder import Recorder
from onnxwright.operators.op_call import Array, OpCall
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.constants import Pool
from onnxwright.types.kinds import AttrKind, OnnxType
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


class ConvertCall(Protocol):
    """Converts one call of an operator to another opset version: `versions.one_call` has it."""

    def __call__(
        self,
        name: str,
        inputs: Sequence[tuple[OnnxType | None, Array | None] | None],
        attributes: Sequence[ir.Attr],
        outputs: int,
        source: int,
        target: int,
    ) -> ir.Graph | str:
        """See `versions.one_call.converted_call`."""


class BuildContext(RewriteContext, Protocol):
    """A graph under construction, as the parts of the builder see it.

    Attributes:
        recorder: where nodes go.
        pool: the arrays the graph holds.
        folds: whether calls become as few nodes as possible; else each is the node written.
        convert_call: converts a call that is written for another opset version.
    """

    recorder: Recorder
    pool: Pool
    folds: bool
    convert_call: ConvertCall

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator that the user wrote."""

    def type_of(self, value: GraphValue) -> OnnxType | None:
        """The type as far as it is known."""

    def weak_kind(self, value: GraphValue) -> str | None:
        """The Python kind a value represents, or None."""

    def as_weak(self, value: GraphValue, kind: str | None) -> GraphValue:
        """The same value, as a Python number of `kind`, or as a tensor."""

    def wrap(self, value: ir.Value, kind: OnnxType | None, weak: str | None = None) -> GraphValue:
        """A value of this backend for a value of the IR."""

    def input(self, name: str, kind: OnnxType | None) -> GraphValue:
        """An input of the innermost graph."""

    def initializer(self, array: Any, name: str | None = None) -> GraphValue:
        """A value that the model holds."""

    def origin(self) -> str | None:
        """Where the node comes from that is being built."""

    def from_origin(self, origin: str | None) -> AbstractContextManager[None]:
        """Build nodes as coming from where another node came from."""

    def attribute(self, function: str, name: str, value: object, kind: AttrKind | None) -> ir.Attr:
        """An attribute of a call of a function."""

    def build(
        self,
        op: Op,
        call: OpCall | None,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator that is not its input: shared, folded, or those of a node."""

    def aside(self) -> BuildContext:
        """A backend of the same kind and opset for another graph."""

    # The parts below build nodes without simplification.

    def _call(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> OpCall | None: ...

    def _attributes(self, op: Op, attributes: Mapping[str, object]) -> list[ir.Attr]: ...

    def _types(
        self,
        op: Op,
        call: OpCall | None,
        inputs: Sequence[GraphValue | None],
        attrs: list[ir.Attr],
    ) -> list[OnnxType | None] | None: ...

    def _node(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attrs: list[ir.Attr],
        types: Sequence[OnnxType | None],
        call: OpCall | None,
        *,
        sugar: bool,
        dims: Sequence[Shape | None] | None = None,
    ) -> list[ir.Value]: ...


__all__ = ["BuildContext", "ConvertCall", "RewriteContext"]
