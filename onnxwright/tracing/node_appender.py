"""`NodeAppender`: nodes appended to a graph, each with what is known of its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from onnxwright.ir.infer import schema_kinds
from onnxwright.operators.op_call import OpCall
from onnxwright.operators.shape_values import values_of
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.output_types import inferred_types, subgraph_types
from onnxwright.types.kinds import AttrKind, OnnxType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Shape

_GRAPH = ir.AttributeType.GRAPH


class NodeAppender:
    """Describes calls of operators, and appends their nodes.

    Args:
        recorder: where nodes go.
        opset: the default-domain opset.

    Attributes:
        span: the place in the source that is being compiled.
        standing: a node that is there already: it is not made again where the next call is what it
            says.
        restated: what such a node of this graph now holds as shapes.
        shares_types: whether values of one type share the objects that say it; who gives out the
            graph ends that with `adapters.own_type`.
    """

    def __init__(self, recorder: Recorder, opset: Opset) -> None:
        self.recorder = recorder
        self.opset = opset
        self.span: Span | None = None
        self.standing: ir.Node | None = None
        self.restated: Sequence[Shape | None] | None = None
        self.shares_types = False
        self._origin: str | None = None

    # -- places ------------------------------------------------------------------------------------

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

    def origin(self) -> str | None:
        """`file:line:col` of the place being compiled, written on nodes (no folders)."""
        if self.recorder.exact:
            return None  # its nodes say only what its details say
        if self._origin is not None or self.span is None:
            return self._origin
        return origin_text(self.span)

    @contextmanager
    def from_origin(self, origin: str | None) -> Iterator[None]:
        """Build nodes as coming from where another node came from."""
        before = self._origin
        self._origin = origin or before
        try:
            yield
        finally:
            self._origin = before

    def expect(self, node: ir.Node | None) -> None:
        """Let the next call be a node that is there, if it says the same."""
        self.standing, self.restated = node, None

    # -- calls -------------------------------------------------------------------------------------

    def op_call(
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
        infos = self.recorder.infos
        kinds: list[OnnxType | None] = []
        arrays: list[np.ndarray[Any, Any] | None] = [None] * len(inputs)
        shapes: list[Shape | None] = [None] * len(inputs)
        present: list[bool] | None = None
        is_bare = True
        for n, v in enumerate(inputs):
            if v is None:
                kinds.append(None)
                present = present or [x is not None for x in inputs]
                continue
            kinds.append(v.kind)
            info = infos.get(v.value)
            if info is not None:
                arrays[n], shapes[n] = info.const_value, info.shape_value
                is_bare = is_bare and arrays[n] is None and shapes[n] is None
        return OpCall(
            signature, attributes, outputs, kinds, arrays, shapes, present, is_bare=is_bare
        )

    def attributes_of(self, call: OpCall) -> list[ir.Attr]:
        """The attributes of a call as onnx_ir has them."""
        kinds = schema_kinds(call.signature)
        attributes = {n: v for n, v in call.attributes.items() if not _is_reference(v)}
        return [adapters.attribute(n, v, kinds.get(n)) for n, v in attributes.items()]

    def checked_attributes(self, op: Op, attributes: Mapping[str, object]) -> list[ir.Attr]:
        """The attributes of a call as onnx_ir has them; an unsuitable value is an error (OW407)."""
        if not attributes:
            return []
        kinds = schema_kinds(op.signature)
        return [self.attribute(op.name, n, v, kinds.get(n)) for n, v in attributes.items()]

    def attribute(self, operation: str, name: str, value: object, kind: AttrKind | None) -> ir.Attr:
        """One attribute of a call of an operator or a function."""
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

    def output_types(
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
            types = [[self.recorder.type_of(v) for v in g.outputs] for g in graphs]
            return subgraph_types(op, len(inputs), call.count, types, attrs, self.span)
        return inferred_types(op, call, attrs, self.span)

    def append_node(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attrs: list[ir.Attr],
        types: Sequence[OnnxType | None],
        call: OpCall | None,
        *,
        sugar: bool,
        dims: Sequence[Shape | None] | None = None,
    ) -> Sequence[ir.Value]:
        """Append a node whose outputs have these types."""
        recorder, signature = self.recorder, op.signature
        read = [None if v is None else v.value for v in inputs]
        node = self.standing
        if node is not None and not stands_for(node, (op.domain, op.name), read, attrs, len(types)):
            node = None
        if node is not None and node.outputs[0] in recorder.types:  # it is of this graph
            if all(a is b for a, b in zip(node.inputs, read)):
                self.standing, self.restated = None, dims
                return node.outputs
            node = None
        if node is not None:
            self.standing = None
            values = recorder.keep(node, read)
            for value, kind in zip(values, types, strict=True):
                recorder.types[value] = kind
        else:
            values = recorder.node(
                op.domain, op.name, read, attrs, len(types), origin=self.origin(), sugar=sugar,
                types=types, shares_types=self.shares_types,
            )  # fmt: skip
        self._note_use(op)
        for n, kind in enumerate(types):
            if signature is not None and (kind is None or getattr(kind, "dtype", 0) is None):
                self._note_witness(signature, n, values[n], inputs)
        if dims is None and call is not None and call.signature.domain == "":
            dims = values_of(call, types)
        if dims:
            for value, shape in zip(values, dims):
                if shape is not None:
                    recorder.info(value).shape_value = shape
        return values

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
        type_variable = signature.outputs[min(n, len(signature.outputs) - 1)].type_str
        for place, x in enumerate(inputs):
            param = signature.inputs[min(place, len(signature.inputs) - 1)]
            if x is not None and param.type_str == type_variable and param.homogeneous:
                same = self.recorder.same_dtype_as(x.value) or x.value
                self.recorder.info(value).same_dtype_as = same
                return


def _is_reference(value: object) -> bool:
    return isinstance(value, AttributeReference)


_SIMPLE = (
    ir.AttributeType.INT, ir.AttributeType.INTS, ir.AttributeType.FLOAT, ir.AttributeType.FLOATS,
    ir.AttributeType.STRING, ir.AttributeType.STRINGS,
)  # fmt: skip


def stands_for(
    node: ir.Node,
    key: tuple[str, str],
    inputs: Sequence[ir.Value | None],
    attributes: Sequence[ir.Attr],
    outputs: int,
) -> bool:
    """Whether a node is that of a call, but for what it reads.

    Args:
        key: the domain and the operator of the call.

    Returns:
        True where a new node would be equal if it read the same; nodes with graphs never are.

    Example:
        >>> x = ir.Value(name="x")
        >>> node = ir.Node("", "Relu", [x], num_outputs=1)
        >>> stands_for(node, ("", "Relu"), [x], [], 1), stands_for(node, ("", "Abs"), [x], [], 1)
        (True, False)
    """
    if node.op_type != key[1] or node.domain != key[0] or len(node.outputs) != outputs:
        return False
    operands = node.inputs
    if len(operands) != len(inputs) and (
        len(operands) < len(inputs) or any(v is not None for v in operands[len(inputs) :])
    ):
        return False
    held = node.attributes.data
    if not attributes:
        return not held
    return len(held) == len(attributes) and all(
        a.name in held and is_same_attribute(held[a.name], a) for a in attributes
    )


def is_same_attribute(a: ir.Attr, b: ir.Attr) -> bool:
    """Whether two attributes of one name are the same; tensors only if they are one object."""
    if a.is_ref() or b.is_ref():
        return a.is_ref() and b.is_ref() and a.ref_attr_name == b.ref_attr_name
    if a.type in _SIMPLE:
        return a.type == b.type and bool(a.value == b.value)
    return a.value is b.value
