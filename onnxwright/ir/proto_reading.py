"""A checked ModelProto as an onnx_ir model, read directly: the same as `onnx_ir.from_proto` gives.

The nodes, values and attributes that models consist of are read here, without a wrapper around
each; everything else is left to `onnx_ir`.  A type that is written many times is read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir.serialize import FUNCTION_VALUE_INFO, QUANTIZATION

_A, _T = onnx.AttributeProto, onnx.TensorProto
_PLAIN: dict[int, tuple[ir.AttributeType, str]] = {
    _A.INT: (ir.AttributeType.INT, "i"),
    _A.FLOAT: (ir.AttributeType.FLOAT, "f"),
    _A.INTS: (ir.AttributeType.INTS, "ints"),
    _A.FLOATS: (ir.AttributeType.FLOATS, "floats"),
}

_Scopes = list[dict[str, ir.Value]]


class _OtherForm(Exception):  # noqa: N818 - not an error: onnx_ir reads the model
    """The model has something that is not read here."""


def model_from_proto(proto: onnx.ModelProto) -> ir.Model:
    """The onnx_ir model of a ModelProto.

    Args:
        proto: the model, checked: its nodes are sorted, and read only what is defined.

    Returns:
        A model equal to `onnx_ir.from_proto(proto)`.  Equal shapes are one object, which is frozen.

    Raises:
        onnx_ir.serde.SerdeError: onnx_ir cannot hold a part of it, such as a map type.

    Example:
        >>> from onnx import parser
        >>> graph = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> model = model_from_proto(onnx.helper.make_model(graph))
        >>> [n.op_type for n in model.graph], str(model.graph.outputs[0].shape)
        (['Relu'], '[N]')
    """
    if proto.configuration or (proto.functions and proto.ir_version < FUNCTION_VALUE_INFO):
        return ir.serde.deserialize_model(proto)
    try:
        graph = _Reader().graph(proto.graph, [])
    except _OtherForm:
        return ir.serde.deserialize_model(proto)
    graph.opset_imports.update({o.domain: o.version for o in proto.opset_import})
    return ir.Model(
        graph,
        ir_version=proto.ir_version,
        producer_name=_field(proto, "producer_name"),
        producer_version=_field(proto, "producer_version"),
        domain=_field(proto, "domain"),
        model_version=_field(proto, "model_version"),
        doc_string=_field(proto, "doc_string"),
        functions=[ir.serde.deserialize_function(f) for f in proto.functions],
        metadata_props=_entries(proto.metadata_props),
    )


class _Reader:
    """Reads the graphs of one model."""

    def __init__(self) -> None:
        # A type as bytes -> its shape, and element type and denotation of a tensor.
        self._types: dict[bytes, tuple[ir.Shape | None, Any, str | None]] = {}

    def graph(self, proto: onnx.GraphProto, around: _Scopes) -> ir.Graph:
        """A graph; `around` has the values that its nodes can read, the innermost ones last."""
        inputs = [self._value(info) for info in proto.input]
        own: dict[str, ir.Value] = {str(v.name): v for v in inputs}
        infos = {info.name: info for info in proto.value_info}
        initializers = [self._initializer(t, own, infos) for t in proto.initializer]
        for node in proto.node:
            for name in node.output:
                if name:
                    info = infos.get(name)
                    own[name] = ir.Value(name=name) if info is None else self._value(info)
        scopes = [*around, own]
        nodes = [self._node(node, own, scopes) for node in proto.node]
        outputs = []
        for info in proto.output:
            value = own.get(info.name)
            if value is None:
                raise _OtherForm
            self._describe(value, info)
            outputs.append(value)
        for note in proto.quantization_annotation:
            value = own.get(note.tensor_name)
            if value is not None:
                value.meta[QUANTIZATION] = _entries(note.quant_parameter_tensor_names)
        return ir.Graph(
            inputs,
            outputs,
            nodes=nodes,
            initializers=initializers,
            doc_string=_field(proto, "doc_string"),
            name=_field(proto, "name"),
            metadata_props=_entries(proto.metadata_props),
        )

    # -- values --------------------------------------------------------------------------------

    def _value(self, info: onnx.ValueInfoProto) -> ir.Value:
        kind, shape = self._type(info.type)
        return ir.Value(
            name=info.name,
            shape=shape,
            type=kind,
            doc_string=info.doc_string if info.HasField("doc_string") else None,
            metadata_props=_entries(info.metadata_props),
        )

    def _describe(self, value: ir.Value, info: onnx.ValueInfoProto) -> None:
        value.type, value.shape = self._type(info.type)
        if info.metadata_props:
            value.metadata_props.update(_entries(info.metadata_props) or {})
        value.doc_string = _field(info, "doc_string")

    def _initializer(
        self,
        proto: onnx.TensorProto,
        own: dict[str, ir.Value],
        infos: Mapping[str, onnx.ValueInfoProto],
    ) -> ir.Value:
        name = proto.name
        if not name:
            raise _OtherForm
        tensor = _tensor(proto)
        value = own.get(name)
        if value is not None:
            value.const_value = tensor
            return value
        info = infos.get(name)
        if info is not None:
            value = self._value(info)
            value.const_value = tensor
        else:
            value = ir.Value(
                name=name, shape=tensor.shape, type=ir.TensorType(tensor.dtype), const_value=tensor
            )
        own[name] = value
        return value

    def _type(self, proto: onnx.TypeProto) -> tuple[Any, ir.Shape | None]:
        """A type of onnx_ir, an object of its own, and a shape, one for all that are equal."""
        key = proto.SerializeToString(deterministic=True)
        parts = self._types.get(key)
        if parts is None:
            shape = ir.serde.deserialize_type_proto_for_shape(proto)
            kind = ir.serde.deserialize_type_proto_for_type(proto)
            if type(kind) is not ir.TensorType:
                return kind, shape
            parts = self._types[key] = (shape, kind.dtype, kind.denotation)
        shape, dtype, denotation = parts
        return ir.TensorType(dtype, denotation=denotation), shape

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, proto: onnx.NodeProto, own: Mapping[str, ir.Value], scopes: _Scopes) -> ir.Node:
        if proto.device_configurations:
            raise _OtherForm
        inputs: list[ir.Value | None] = []
        for name in proto.input:
            value = own.get(name) if name else None
            if value is None and name:
                value = _outer(name, scopes)
            inputs.append(value)
        attributes = proto.attribute
        return ir.Node(
            proto.domain,
            proto.op_type,
            inputs,
            [self._attribute(a, scopes) for a in attributes] if attributes else (),
            overload=proto.overload,
            outputs=[own[name] if name else ir.Value(name="") for name in proto.output],
            name=proto.name,
            doc_string=proto.doc_string if proto.HasField("doc_string") else None,
            metadata_props=_entries(proto.metadata_props),
        )

    def _attribute(self, proto: onnx.AttributeProto, scopes: _Scopes) -> ir.Attr:
        kind = proto.type
        if proto.ref_attr_name:
            return ir.serde.deserialize_attribute(proto)
        doc_string = _field(proto, "doc_string")
        if kind in _PLAIN:
            type_code, field = _PLAIN[kind]
            return ir.Attr(proto.name, type_code, getattr(proto, field), doc_string=doc_string)
        if kind == _A.GRAPH:
            return ir.AttrGraph(proto.name, self.graph(proto.g, scopes), doc_string=doc_string)
        if kind == _A.GRAPHS:
            graphs = [self.graph(g, scopes) for g in proto.graphs]
            return ir.AttrGraphs(proto.name, graphs, doc_string=doc_string)
        return ir.serde.deserialize_attribute(proto)


class _Tensor(ir.serde.TensorProtoTensor):
    """A tensor whose shape and type are made once, not whenever they are asked for."""

    __slots__ = ("_dims", "_kind")

    def __init__(self, proto: onnx.TensorProto) -> None:
        super().__init__(proto)
        self._dims = ir.Shape(proto.dims, frozen=True)
        self._kind = ir.DataType(proto.data_type)

    @property
    def shape(self) -> ir.Shape:  # type: ignore[override]  # a property in onnx_ir's class, too
        """Its shape."""
        return self._dims

    @property
    def dtype(self) -> ir.DataType:  # type: ignore[override]  # likewise
        """Its element type."""
        return self._kind


def _tensor(proto: onnx.TensorProto) -> Any:
    if proto.data_location == _T.EXTERNAL or proto.data_type == _T.STRING:
        return ir.serde.deserialize_tensor(proto)
    return _Tensor(proto)


def _outer(name: str, scopes: _Scopes) -> ir.Value:
    for values in reversed(scopes):
        if name in values:
            return values[name]
    raise _OtherForm


def _field(proto: Any, name: str) -> Any:
    return getattr(proto, name) if proto.HasField(name) else None


def _entries(props: Any) -> dict[str, str] | None:
    return {entry.key: entry.value for entry in props} if props else None
