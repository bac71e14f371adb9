"""The backend that builds: each op becomes a node, each value knows what can be known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.origins import origin_text
from onnxwright.diagnostics.span import Span
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.ir.infer import INFERENCE_ERRORS, by_variable, infer_call, schema_kinds
from onnxwright.operators.op_call import ContradictionError, OpCall, array_dims, is_shape_like
from onnxwright.operators.shape_values import values_of
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.scan_layout import check_axis, per_value
from onnxwright.tracing.call_keys import call_key
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Shape

_GRAPH = ir.AttributeType.GRAPH


class GraphBackend:
    """Builds nodes through a `Recorder`.

    Args:
        recorder: where nodes go.
        opset: the default-domain opset that sugar uses.
    """

    def __init__(self, recorder: Recorder, opset: Opset) -> None:
        self.recorder = recorder
        self.opset = opset
        self.span: Span | None = None
        self.replaced: dict[ir.Value, ir.Value] = {}

    # -- the protocol ------------------------------------------------------------------------------

    def here(self) -> Span | None:
        """The place in the source that is being compiled."""
        return self.span

    @contextmanager
    def at(self, span: Span | None) -> Iterator[None]:
        """Build nodes as coming from `span`."""
        before = self.span
        self.span = span or before
        try:
            yield
        finally:
            self.span = before

    def wrap(self, value: ir.Value, kind: OnnxType | None, weak: str | None = None) -> GraphValue:
        """A value of this backend for a value of the IR."""
        return GraphValue(self, value, kind, weak)

    def constant(self, array: np.ndarray[Any, Any]) -> GraphValue:
        """A Constant node (equal ones are shared)."""
        value = self.recorder.constant(np.asarray(array), self.origin())
        self.recorder.use_opset("", self.opset.version, self.span)
        return self.wrap(value, self.recorder.type_of(value))

    def type_of(self, value: GraphValue) -> OnnxType | None:
        """The type as far as known."""
        return value.kind

    def constant_value(self, value: GraphValue) -> np.ndarray[Any, Any] | None:
        """The array of a constant."""
        return self.recorder.const_value(value.value)

    def dims_of(self, value: GraphValue) -> Shape | None:
        """A value as a shape: its dimensions (one for a scalar), or None."""
        found = self.recorder.shape_value(value.value)
        if found is None and is_shape_like(value.kind):
            found = array_dims(self.constant_value(value))
        return found

    def weak_kind(self, value: GraphValue) -> str | None:
        """The Python kind a value represents."""
        return value.weak

    def as_weak(self, value: GraphValue, kind: str | None) -> GraphValue:
        """The same value, as a Python number of `kind`, or as a tensor."""
        return value if value.weak == kind else self.wrap(value.value, value.kind, kind)

    def emit(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """Append a node that sugar asked for; it is dropped if nobody reads it, shared if it is
        there already.
        """
        exact = self.recorder.exact
        key = None if exact else self._sharing_key(op, inputs, attributes, outputs)
        if key is not None:
            for scope in reversed(self.recorder.scopes):
                known = scope.constants.get(key)
                if known is not None:
                    return (self.wrap(known, self.recorder.type_of(known)),)
        made = self._append(op, inputs, attributes, outputs, sugar=True)
        if key is not None:
            self.recorder.scope.constants[key] = made[0].value
        return made

    def _sharing_key(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> object | None:
        """What makes two nodes of sugar the same; None where they are not compared."""
        if outputs != 1 or not inputs:
            return None
        read = [None if v is None else v.value for v in inputs]
        if op.name == "CastLike" and read[1] is not None:
            # Any value of the same (unknown) element type does.
            read[1] = self.recorder.same_dtype_as(read[1]) or read[1]
        return call_key(op, read, attributes, outputs)

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """Append a node that the user wrote; it stays."""
        return self._append(op, inputs, attributes, outputs, sugar=False)

    # -- building ----------------------------------------------------------------------------------

    def origin(self) -> str | None:
        """`file:line:col` of the place being compiled, written on nodes (no folders)."""
        if self.span is None:
            return None
        return origin_text(self.span)

    def _append(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
        *,
        sugar: bool,
    ) -> tuple[GraphValue, ...]:
        attrs = self._attributes(op, attributes)
        call = self._call(op, inputs, attributes, outputs)
        types = self._types(op, call, inputs, attrs) or [None] * outputs
        made = self._node(op, inputs, attrs, types, call, sugar=sugar)
        if op.name == "Constant" and op.domain == "" and "value" in attributes:
            tensor = attrs[0]
            if not tensor.is_ref():
                array = tensor.as_tensor().numpy()
                if array.dtype != object and not sugar:
                    self.recorder.info(made[0]).const_value = array
        return tuple(self.wrap(v, k) for v, k in zip(made, types, strict=True))

    def _call(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> OpCall | None:
        """The call as rules see it; None for an operator without a schema."""
        signature = op.signature
        if signature is None:
            return None
        known = [None if v is None else self.recorder.values.get(v.value) for v in inputs]
        return OpCall(
            signature,
            attributes,
            outputs,
            [None if v is None else v.kind for v in inputs],
            [None if info is None else info.const_value for info in known],
            [None if info is None else info.shape_value for info in known],
            [v is not None for v in inputs],
        )

    def _attributes(self, op: Op, attributes: Mapping[str, object]) -> list[ir.Attr]:
        kinds = schema_kinds(op.signature)
        return [self._attribute(op.name, n, v, kinds.get(n)) for n, v in attributes.items()]

    def _types(
        self,
        op: Op,
        call: OpCall | None,
        inputs: Sequence[GraphValue | None],
        attrs: list[ir.Attr],
    ) -> list[OnnxType | None] | None:
        """The types of the outputs; None for an operator without a schema."""
        if call is None:
            return None
        graphs = [a.as_graph() for a in attrs if a.type is _GRAPH and not a.is_ref()]
        if graphs:
            return self.subgraph_types(op, len(inputs), call.count, graphs, attrs)
        return self._infer(op, call, inputs, attrs)

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
    ) -> list[ir.Value]:
        """Append a node whose outputs have these types."""
        recorder, signature = self.recorder, op.signature
        made = recorder.node(
            op.domain,
            op.name,
            [None if v is None else v.value for v in inputs],
            attrs,
            len(types),
            origin=self.origin(),
            sugar=sugar,
        )
        self._note_use(op)
        for n, (value, kind) in enumerate(zip(made, types, strict=True)):
            recorder.values[value].type = kind
            if signature is not None and (kind is None or getattr(kind, "dtype", 0) is None):
                self._note_witness(signature, n, value, inputs)
            adapters.set_type(value, kind)
        if dims is None and call is not None and call.signature.domain == "":
            dims = values_of(call, types)
        if dims is not None:
            for value, shape in zip(made, dims):
                if shape is not None:
                    recorder.info(value).shape_value = shape
        return made

    def _note_use(self, op: Op) -> None:
        """Remember which operator the last node came from."""
        self.recorder.use_opset(op.domain, op.version, self.span)
        self.recorder.uses.append((self.recorder.scope.nodes[-1], op, self.span))

    def _note_witness(
        self,
        signature: OpSignature,
        n: int,
        value: ir.Value,
        inputs: Sequence[GraphValue | None],
    ) -> None:
        """Remember an input that has the element type of an output, when neither is known."""
        if not signature.outputs:
            return
        wanted = signature.outputs[min(n, len(signature.outputs) - 1)].type_str
        for place, x in enumerate(inputs):
            param = signature.inputs[min(place, len(signature.inputs) - 1)]
            if x is not None and param.type_str == wanted and param.homogeneous:
                same = self.recorder.same_dtype_as(x.value) or x.value
                self.recorder.info(value).same_dtype_as = same
                return

    def _attribute(self, operation: str, name: str, value: object, kind: Any) -> ir.Attr:
        if isinstance(value, AttributeReference):
            return ir.RefAttr(name, value.name, adapters.attribute_type(value.kind))
        try:
            return adapters.attribute(name, value, kind)
        except (TypeError, ValueError) as error:
            fail(
                messages.BadAttributeValue(
                    operation=operation, name=name, reason=str(error), span=self.span
                )
            )

    def _infer(
        self,
        op: Op,
        call: OpCall,
        inputs: Sequence[GraphValue | None],
        attrs: list[ir.Attr],
    ) -> list[OnnxType | None]:
        assert op.signature is not None
        try:
            return infer_call(call, lambda: attrs, op.version)
        except INFERENCE_ERRORS as error:
            if op.name == "Constant":
                return [_CONSTANT_TYPES.get(attrs[0].name if attrs else "")]
            ours = isinstance(error, ContradictionError)
            refers = any(a.is_ref() for a in attrs)
            if not ours and (refers or any(v is not None and _untyped(v.kind) for v in inputs)):
                # ONNX's inference does not expect unknown element types or attributes; the
                # callers of this function bring theirs, and are checked with them.
                return by_variable(op.signature, call.count, call.types)
            shown = ", ".join("none" if v is None else str(v.kind or "unknown") for v in inputs)
            fail(
                messages.InputsDoNotFit(
                    operation=op.name,
                    reason=str(error) if ours else f'ONNX says "{_reason(str(error))}"',
                    types=shown,
                    signature=str(op.signature),
                    span=self.span,
                )
            )

    def subgraph_types(
        self,
        op: Op,
        inputs: int,
        count: int,
        graphs: list[ir.Graph],
        attributes: Iterable[ir.Attr],
    ) -> list[OnnxType | None]:
        """Types of the outputs of a control-flow operator from the outputs of its graphs."""
        types = [[self.recorder.type_of(v) for v in g.outputs] for g in graphs]
        if op.name == "If":
            branches = [t for t in types if len(t) == count]
            return [common_type([t[n] for t in branches]) for n in range(count)]
        if op.name == "Loop":
            carried = inputs - 2
            body = types[0][1:]
            result: list[OnnxType | None] = []
            for n in range(count):
                kind = body[n] if n < len(body) else None
                if n < carried:
                    result.append(TensorType(kind.dtype) if isinstance(kind, TensorType) else kind)
                else:
                    result.append(_stacked(kind))
            return result
        if op.name == "Scan":
            given = {a.name: a for a in attributes if not a.is_ref()}
            scanned = given["num_scan_inputs"].as_int() if "num_scan_inputs" in given else 0
            axes = given.get("scan_output_axes")
            states = max(0, inputs - scanned)
            stated = {} if axes is None else {"scan_output_axes": list(axes.as_ints())}
            rows = types[0][states:count]
            places = per_value(stated, "scan_output_axes", len(rows), self.span)
            for kind, axis in zip(rows, places, strict=True):
                ranked = isinstance(kind, TensorType) and kind.shape is not None
                rank = len(kind.shape) + 1 if ranked else None  # type: ignore[union-attr, arg-type]
                check_axis("scan_output_axes", axis, rank, self.span)
            return [*types[0][: min(states, count)], *map(_stacked, rows, places)]
        if op.name == "SequenceMap":
            return [SequenceType(k) for k in types[0][:count]]
        return [None] * count


_CONSTANT_TYPES = {
    "value_int": TensorType(DType.INT64, ()),
    "value_float": TensorType(DType.FLOAT, ()),
    "value_string": TensorType(DType.STRING, ()),
    "value_ints": TensorType(DType.INT64, (None,)),
    "value_floats": TensorType(DType.FLOAT, (None,)),
    "value_strings": TensorType(DType.STRING, (None,)),
}


def _untyped(kind: OnnxType | None) -> bool:
    return kind is None or (isinstance(kind, TensorType) and kind.dtype is None)


def _stacked(kind: OnnxType | None, axis: int = 0) -> OnnxType | None:
    """The type of the results of all iterations, along a new axis."""
    if not isinstance(kind, TensorType):
        return None
    if kind.shape is None:
        return TensorType(kind.dtype)
    dims = list(kind.shape)
    dims.insert(axis if axis >= 0 else axis + len(dims) + 1, None)
    return TensorType(kind.dtype, tuple(dims))


def common_type(kinds: Sequence[OnnxType | None]) -> OnnxType | None:
    """The most precise type that all are instances of, or None."""
    first = kinds[0] if kinds else None
    for kind in kinds[1:]:
        if first is None or kind is None:
            return None
        if isinstance(first, TensorType) and isinstance(kind, TensorType):
            if first.dtype is not kind.dtype:
                return None
            shape = None
            if first.shape is not None and kind.shape is not None:
                if len(first.shape) == len(kind.shape):
                    pairs = zip(first.shape, kind.shape, strict=True)
                    shape = tuple(a if a == c else None for a, c in pairs)
            first = TensorType(first.dtype, shape)
        elif first != kind:
            return None
    return first


def _reason(text: str) -> str:
    """ONNX's own sentence, without the markers around it."""
    text = text.strip().splitlines()[0]
    while text.startswith("[") and "]" in text:
        text = text.split("]", 1)[1].strip()
    return text.replace("{", "(").replace("}", ")")


__all__ = ["GraphBackend", "common_type"]
