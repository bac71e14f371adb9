"""The backend that builds: each op becomes a node, each value knows what can be known of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir
from typing_extensions import Self

from onnxwright.ir.builder import Recorder
from onnxwright.operators import facts
from onnxwright.operators.op_call import Array, OpCall, array_dims, axis_in, is_shape_like
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.call_keys import call_key, exact_attributes
from onnxwright.tracing.constants import Pool
from onnxwright.tracing.node_appender import NodeAppender
from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Shape

_GRAPH = ir.AttributeType.GRAPH
_NONE: Mapping[str, object] = {}


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


class GraphBackend(NodeAppender):
    """Builds nodes through a `Recorder`: each call is a node, each constant a Constant node.

    `TracingBackend` builds the same graph from fewer nodes.  The modules of this package that
    build parts of a graph (replay, control flow, simplification) take either.

    Args:
        recorder: where nodes go.
        opset: the default-domain opset that sugar uses.
        convert_call: converts a call that is written for another opset version;
            `versions.one_call.converted_call` does.
    """

    def __init__(self, recorder: Recorder, opset: Opset, convert_call: ConvertCall) -> None:
        super().__init__(recorder, opset)
        self.convert_call = convert_call
        self.pool = Pool(recorder)
        # Values of nodes that were converted to another opset version, and those that replace them.
        self.replaced: dict[ir.Value, ir.Value] = {}
        # Whether calls become as few nodes as possible; else each call is the node that is written.
        self.folds = False
        # Whether the value of an equal call is computed here already.
        self.is_visible: Callable[[ir.Value], bool] | None = None
        self.replaced_nodes: Collection[ir.Node] = ()  # calls are not simplified by these

    # -- values ------------------------------------------------------------------------------------

    def wrap(self, value: ir.Value, kind: OnnxType | None, weak: str | None = None) -> GraphValue:
        """A value of this backend for a value of the IR."""
        return GraphValue(self, value, kind, weak)

    def value_of(self, value: ir.Value | None) -> GraphValue:
        """A value of this backend for one of the graph."""
        assert value is not None
        return self.wrap(value, self.recorder.type_of(value))

    def input(self, name: str, kind: OnnxType | None) -> GraphValue:
        """An input of the innermost graph.

        Args:
            name: its name, made unique.
        """
        return self.wrap(self.recorder.input(name, kind), kind)

    def constant(self, array: np.ndarray[Any, Any]) -> GraphValue:
        """A value that holds `array` (equal ones are shared): here a Constant node."""
        value = self.pool.node(np.asarray(array), self.origin())
        self.recorder.use_opset("", self.opset.version, self.span)
        return self.value_of(value)

    def initializer(
        self, array: Any, name: str | None = None, *, owner: str | None = None
    ) -> GraphValue:
        """A value that the model holds; equal small ones and the same large ones are shared.

        Args:
            array: anything that holds numbers: numpy, TensorProto, a tensor of onnx_ir, or what
                has `__array__` or `__dlpack__`.  Large ones are not copied.
            name: its name, made unique; a value that is there already keeps its own.
            owner: what distinguishes it from weights with the same data; by default its name.

        Returns:
            The value.

        Raises:
            ScriptTypeError: it is not a tensor (OW403).
        """
        return self.value_of(self.pool.tensor(array, name, self.here(), owner))

    def type_of(self, value: GraphValue) -> OnnxType | None:
        """The type as far as known."""
        return value.kind

    def constant_value(self, value: GraphValue) -> np.ndarray[Any, Any] | None:
        """The array of a constant."""
        return self.recorder.const_value(value.value)

    def dims_of(self, value: GraphValue) -> Shape | None:
        """A value as a shape: its dimensions (one for a scalar), or None."""
        shape = self.recorder.shape_value(value.value)
        if shape is None and is_shape_like(value.kind):
            shape = array_dims(self.constant_value(value))
        return shape

    def weak_kind(self, value: GraphValue) -> str | None:
        """The Python kind a value represents."""
        return value.weak

    def as_weak(self, value: GraphValue, kind: str | None) -> GraphValue:
        """The same value, as a Python number of `kind`, or as a tensor."""
        return value if value.weak == kind else self.wrap(value.value, value.kind, kind)

    def made_by(self, value: GraphValue, name: str) -> ir.Node | None:
        """The node that makes a value, if it is a standard operator of this name."""
        node = value.value.producer()
        if node is None or node.op_type != name or node.domain or node in self.replaced_nodes:
            return None
        return node

    def axes_of(self, node: ir.Node, rank: int) -> list[int] | None:
        """The axes of a Squeeze or Unsqueeze, sorted, counted in `rank` axes."""
        attr = node.attributes.get("axes")
        if attr is not None:
            axes = None if attr.is_ref() else list(attr.as_ints())
        else:
            array = self.recorder.const_value(node.inputs[1]) if len(node.inputs) > 1 else None  # type: ignore[arg-type]
            axes = None if array is None else array.ravel().tolist()
        return None if axes is None else sorted(axis_in(a, rank) for a in axes)

    # -- calls -------------------------------------------------------------------------------------

    def emit(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """Append a node that sugar needs: equal ones are shared, unread ones dropped."""
        shares = not self.recorder.exact and outputs == 1 and bool(inputs)
        key = (
            self._sharing_key(op, inputs, exact_attributes(attributes), outputs) if shares else None
        )
        shared = self._shared(key)
        if shared is not None:
            return shared
        results = self._append(op, inputs, attributes, outputs, sugar=True)
        self._share(key, [v.value for v in results])
        return results

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """Append a node that the user wrote; it stays."""
        return self._append(op, inputs, attributes, outputs, sugar=False)

    def standard(
        self, name: str, inputs: Sequence[GraphValue], attributes: Mapping[str, object] = _NONE
    ) -> GraphValue:
        """The one output of a standard operator of the backend's opset."""
        op: Op = self.opset[name]
        return self.emit(op, inputs, attributes, 1)[0]

    def build(
        self,
        op: Op,
        call: OpCall | None,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator that is not its input, for its call as `op_call` describes it.

        Returns:
            Those of an equal call, known values, or those of a new node.
        """
        attrs = self.checked_attributes(op, attributes)
        types = self.output_types(op, call, inputs, attrs) or [None] * outputs
        values = self.append_node(op, inputs, attrs, types, call, sugar=self.folds)
        return tuple(self.wrap(v, k) for v, k in zip(values, types, strict=True))

    def aside(self) -> Self:
        """A backend of the same kind and opset for another graph."""
        return type(self)(Recorder(), self.opset, self.convert_call)

    def _sharing_key(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        written: tuple[object, ...] | None,
        outputs: int,
    ) -> object | None:
        """What makes two calls the same; None where they are not compared."""
        if written is None or op.signature is None or facts(op.name, op.domain).random:
            return None  # nothing is known of an operator of a custom domain
        read = [None if v is None else v.value for v in inputs]
        if op.name == "CastLike" and read[1] is not None:
            # Any value of the same (unknown) element type does.
            read[1] = self.recorder.same_dtype_as(read[1]) or read[1]
        return call_key(op, read, written, outputs)

    def _shared(self, key: object | None) -> tuple[GraphValue, ...] | None:
        """The values of an equal call that is visible here."""
        if key is None:
            return None
        values = self.recorder.shared(key)
        if values is None or (self.is_visible and not all(map(self.is_visible, values))):
            return None
        return tuple(map(self.value_of, values))

    def _share(self, key: object | None, values: Sequence[ir.Value]) -> None:
        """Let calls of a key be these values; a tuple is kept as it is."""
        if key is None:
            return
        shared = self.recorder.scope.shared
        before = shared.get(key)
        if before is not None:
            self.recorder.on_rollback(lambda: shared.__setitem__(key, before))
        shared[key] = tuple(values)

    def share_node(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: Sequence[GraphValue],
    ) -> None:
        """Let equal calls be the node that gives these outputs."""
        key = self._sharing_key(op, inputs, exact_attributes(attributes), len(outputs))
        self._share(key, [v.value for v in outputs])

    # -- nodes -------------------------------------------------------------------------------------

    def _append(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
        *,
        sugar: bool,
    ) -> tuple[GraphValue, ...]:
        attrs = self.checked_attributes(op, attributes)
        call = self.op_call(op, inputs, attributes, outputs)
        types = self.output_types(op, call, inputs, attrs) or [None] * outputs
        values = self.append_node(op, inputs, attrs, types, call, sugar=sugar)
        if op.name == "Constant" and op.domain == "" and "value" in attributes:
            tensor = attrs[0]
            if not tensor.is_ref():
                array = tensor.as_tensor().numpy()
                if array.dtype != object and not sugar:
                    self.recorder.info(values[0]).const_value = array
        return tuple(self.wrap(v, k) for v, k in zip(values, types, strict=True))
