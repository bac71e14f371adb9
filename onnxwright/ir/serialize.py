"""An onnx_ir model as a ModelProto, written directly: the same message as `onnx_ir.to_proto`.

The nodes and types that compiled scripts and built graphs consist of are written here, without the
checks and wrappers around each element; everything else is left to `onnx_ir`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue.loading import InvalidModel
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import unicode_checked
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.adapters import OtherType, SharedShape, type_proto
from onnxwright.ir.other_types import values_of_model
from onnxwright.ir.proto_graphs import subgraphs_of
from onnxwright.ir.stored import holds_nothing, notes_of, props_of
from onnxwright.ir.tensor_protos import add_metadata, fill_array, fill_tensor
from onnxwright.ir.text import clean

# So many characters of a part of a model are shown.
_LONGEST = 200
# From this IR version on, functions hold types of their values.
FUNCTION_VALUE_INFO = 10
_KIND = ir.AttributeType
QUANTIZATION = "quant_parameter_tensor_names"
"""The key of the `meta` of a value under which `onnx_ir` keeps its quantization parameters."""

# Attribute kinds whose value goes into one field as it is.
_PLAIN: dict[ir.AttributeType, str] = {
    _KIND.INT: "i",
    _KIND.FLOAT: "f",
    _KIND.INTS: "ints",
    _KIND.FLOATS: "floats",
}


def to_proto(item: Any) -> Any:
    """What `onnx_ir.to_proto` gives, for what users gave names to.

    Args:
        item: a model, function or another object of `onnx_ir`.

    Returns:
        The protobuf message.

    Raises:
        ScriptValueError: a text in it has no UTF-8 form (OW627).
        ModelError: something in it has no protobuf form, such as an attribute whose value is not of
            its type (OW744).

    Example:
        >>> to_proto(ir.Value(name="x")).name
        'x'
    """
    with unicode_checked(), _without_maps(item) as types:
        try:
            proto = ir.to_proto(item)
        except ir.serde.SerdeError as error:
            _raise_unwritable(error)
    if types:
        _write_types(proto.graph, types)
    return proto


@contextmanager
def _without_maps(item: Any) -> Iterator[dict[str, OtherType]]:
    """Take the types that onnx_ir cannot write off the values of a model for a while."""
    values = list(values_of_model(item)) if isinstance(item, ir.Model) else []
    taken = [(v, v.type) for v in dict.fromkeys(values) if isinstance(v.type, OtherType)]
    try:
        for value, _ in taken:
            value.type = None
        yield {value.name: kind for value, kind in taken}
    finally:
        for value, kind in taken:
            value.type = kind


def _write_types(graph: onnx.GraphProto, types: Mapping[str, OtherType]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.name in types:
            info.type.CopyFrom(type_proto(types[info.name].kind))
    for node in graph.node:
        for body in subgraphs_of(node):
            _write_types(body, types)


def _raise_unwritable(error: ir.serde.SerdeError) -> NoReturn:
    """Report what onnx_ir cannot write, with its innermost reason."""
    reason: BaseException = error
    place = "the model"
    while reason.__cause__ is not None:
        # The outer errors name what is written; the last of these is the smallest part.
        place = str(reason).partition(" with: ")[2].partition("\n")[0] or place
        reason = reason.__cause__
    if isinstance(reason, OnnxwrightError):
        raise reason
    if isinstance(reason, UnicodeEncodeError):
        raise error
    fail(
        InvalidModel(
            where=clean(place[:_LONGEST]),
            what=f"it cannot be written: {clean(str(reason))}",
            advice="give the attribute or tensor a value of its type",
        )
    )


def model_to_proto(model: ir.Model, *, untyped: Collection[str] = frozenset()) -> onnx.ModelProto:
    """The ModelProto of a model.

    Args:
        untyped: names of initializers of the main graph that get no `value_info`.

    Returns:
        A message equal to `onnx_ir.to_proto(model)`, but for these.

    Raises:
        ScriptValueError: a text in it has no UTF-8 form (OW627).
        onnx_ir.serde.SerdeError: a value cannot be written.

    Example:
        >>> x, y = ir.Value(name="x"), ir.Value(name="y")
        >>> graph = ir.Graph([x], [y], nodes=[ir.Node("", "Relu", [x], outputs=[y])], name="g")
        >>> model_to_proto(ir.Model(graph, ir_version=10)).graph.node[0].op_type
        'Relu'
    """
    with unicode_checked():
        return _model_to_proto(model, untyped)


def _model_to_proto(model: ir.Model, untyped: Collection[str]) -> onnx.ModelProto:
    old_functions = model.functions and model.ir_version < FUNCTION_VALUE_INFO
    if getattr(model, "device_configurations", ()) or old_functions:
        left: onnx.ModelProto = to_proto(model)
        drop_infos(left.graph, untyped)
        return left
    proto = onnx.ModelProto(ir_version=model.ir_version)
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        value = getattr(model, name)
        if value:
            setattr(proto, name, value)
    for domain, version in model.opset_imports.items():
        proto.opset_import.add(domain=domain, version=version)
    add_metadata(proto, model.metadata_props)
    _graph(proto.graph, model.graph, untyped)
    proto.functions.extend(ir.to_proto(function) for function in model.functions.values())
    return proto


def drop_infos(graph: onnx.GraphProto, names: Collection[str]) -> None:
    """Remove what a graph says of the types of some of its values.

    Args:
        graph: the graph; it is changed.
        names: the names of the values; inputs and outputs are not looked at.
    """
    kept = [v for v in graph.value_info if v.name not in names]
    if len(kept) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(kept)


def fill_graph(
    proto: onnx.GraphProto,
    inputs: Iterable[ir.Value],
    outputs: Iterable[ir.Value],
    nodes: Iterable[ir.Node],
) -> None:
    """Write down the names of inputs and outputs, and nodes, which need not be an `ir.Graph`.

    Args:
        inputs, outputs: values; of their types nothing is written.
        nodes: the nodes; of those inside them everything is written.

    Raises:
        ScriptValueError: a text in it has no UTF-8 form (OW627).

    Example:
        >>> x, y = ir.Value(name="x"), ir.Value(name="y")
        >>> graph = onnx.GraphProto()
        >>> fill_graph(graph, [x], [y], [ir.Node("", "Relu", [x], outputs=[y])])
        >>> [v.name for v in graph.output], [node.op_type for node in graph.node]
        (['y'], ['Relu'])
    """
    with unicode_checked():
        for value in inputs:
            proto.input.add(name=value.name or "")
        for value in outputs:
            proto.output.add(name=value.name or "")
        for node in nodes:
            _node(proto.node, node)


def node_to_proto(node: ir.Node) -> onnx.NodeProto:
    """A node as a message, as `onnx_ir.to_proto` writes it."""
    nodes = onnx.GraphProto().node
    _node(nodes, node)
    first: onnx.NodeProto = nodes[0]
    return first


# The types of values, by their shapes; each of these is kept, so that no other one gets its id.
_Types: TypeAlias = "dict[tuple[int, Any, str | None], tuple[onnx.TypeProto, ir.Shape]]"


def _graph(proto: onnx.GraphProto, graph: ir.Graph, untyped: Collection[str] = frozenset()) -> None:
    """Fill in a graph."""
    if graph.name:
        proto.name = graph.name
    if graph.doc_string:
        proto.doc_string = graph.doc_string
    add_metadata(proto, graph.metadata_props)
    held = [(value, value.const_value) for value in graph.initializers.values()]
    fill_body(proto, graph.inputs, held, graph, graph.outputs, untyped)


def fill_body(
    proto: onnx.GraphProto,
    inputs: Iterable[ir.Value],
    held: Sequence[tuple[ir.Value, Any]],
    nodes: Iterable[ir.Node],
    outputs: Iterable[ir.Value],
    untyped: Collection[str] = frozenset(),
) -> None:
    """Write down what a graph consists of, which need not be an `ir.Graph`.

    Args:
        inputs, nodes, outputs: of the graph.
        held: its initializers, each with what it holds: a tensor or an array of numpy, or None.
        untyped: names of initializers of which no type is written.

    Raises:
        onnx_ir.serde.SerdeError: a value cannot be written.

    Example:
        >>> import numpy as np
        >>> x, graph = ir.Value(name="x"), onnx.GraphProto()
        >>> fill_body(graph, [], [(x, np.array([2, 3]))], [], [x])
        >>> graph.initializer[0].dims, onnx.numpy_helper.to_array(graph.initializer[0])
        ([2], array([2, 3]))
    """
    names = {value.name for value, _ in held}
    read: set[str | None] = set()
    for value in inputs:
        read.add(value.name)
        _value(proto.input, value)
        if value.name not in names:
            _quantization(proto, value)
    for value, tensor in held:
        if value.name not in read and value.name not in untyped:
            _value_inside(proto, value)
        else:
            _quantization(proto, value)
        if type(tensor) is np.ndarray:
            fill_array(proto.initializer.add(), tensor, value.name)
        elif tensor is not None:
            tensor.name = value.name
            fill_tensor(proto.initializer.add(), tensor)
    node_protos, shown = proto.node, set(outputs)
    types: _Types = {}
    for node in nodes:
        for value in _node(node_protos, node):
            if value not in shown:
                _value_inside(proto, value, types)
    for value in outputs:
        _value(proto.output, value)
        _quantization(proto, value)


def _node(nodes: Any, node: ir.Node) -> Sequence[ir.Value]:
    """Add a node and give its outputs; those without a name at the end are left out."""
    values = node.outputs
    if getattr(node, "device_configurations", ()):
        nodes.append(ir.to_proto(node))
        return values
    outputs = [value.name for value in values]
    while outputs and not outputs[-1]:
        outputs.pop()
    proto = nodes.add(
        op_type=node.op_type,
        input=["" if value is None else value.name for value in node.inputs],
        output=outputs,
    )
    if node.domain:
        proto.domain = node.domain
    name = node.name
    if name:
        proto.name = name
    if node.overload:
        proto.overload = node.overload
    if not holds_nothing(node):
        if node.doc_string:
            proto.doc_string = node.doc_string
        add_metadata(proto, props_of(node))
    for attr in node.attributes.data.values():
        _attribute(proto.attribute, attr)
    return values


def _attribute(attributes: Any, attr: ir.Attr) -> None:
    """Add an attribute."""
    kind = attr.type
    if attr.is_ref():
        proto = attributes.add(name=attr.name, ref_attr_name=attr.ref_attr_name, type=kind.value)
    elif kind in _PLAIN:
        proto = attributes.add(name=attr.name, type=kind.value, **{_PLAIN[kind]: attr.value})
    elif kind is _KIND.STRING and type(attr.value) is str:
        proto = attributes.add(name=attr.name, type=kind.value, s=attr.value.encode())
    elif kind is _KIND.TENSOR:
        proto = attributes.add(name=attr.name, type=kind.value)
        fill_tensor(proto.t, attr.value)
    elif kind is _KIND.GRAPH:
        proto = attributes.add(name=attr.name, type=kind.value)
        _graph(proto.g, attr.value)
    else:
        attributes.append(ir.to_proto(attr))
        return
    if attr.doc_string:
        proto.doc_string = attr.doc_string


def _quantization(proto: onnx.GraphProto, value: ir.Value) -> None:
    """Add the quantization parameters of a value."""
    entries = notes_of(value).get(QUANTIZATION)
    if entries:
        annotation = proto.quantization_annotation.add(tensor_name=value.name)
        for key in sorted(entries):
            annotation.quant_parameter_tensor_names.add(key=key, value=entries[key])


def _value_inside(proto: onnx.GraphProto, value: ir.Value, types: _Types | None = None) -> None:
    """Add what is known of a value inside, where anything is.

    Args:
        types: types of values whose shape cannot be changed, as they have been written.
    """
    shape, name, kind = value.shape, value.name, value.type
    if shape is not None and name and holds_nothing(value):
        if type(shape) is SharedShape and shape.kind is kind:
            info = proto.value_info.add()
            info.name = name
            info.type.CopyFrom(shape.proto)
            return
        if types is not None and type(kind) is ir.TensorType and shape.frozen:
            key = (id(shape), kind.dtype, kind.denotation)
            held = types.get(key)
            if held is not None:
                info = proto.value_info.add()
                info.name = name
                info.type.CopyFrom(held[0])
            else:
                _value(proto.value_info, value)
                types[key] = (proto.value_info[-1].type, shape)
            return
    _quantization(proto, value)
    described = value.type is not None or value.shape is not None or value.doc_string
    if (described or props_of(value)) and value.name:
        _value(proto.value_info, value)


def _value(values: Any, value: ir.Value) -> None:
    """Add a value with its type and shape."""
    kind: Any = value.type
    shape = value.shape
    if type(kind) is OtherType:
        proto = values.add(name=value.name)
        if value.doc_string:
            proto.doc_string = value.doc_string
        proto.type.CopyFrom(type_proto(kind.kind))
        add_metadata(proto, value.metadata_props)
        return
    if type(kind) is not ir.TensorType or kind.denotation:
        values.append(ir.to_proto(value))
        return
    dims = None
    if shape is not None:
        dims = tuple([dim if isinstance(dim, int) else dim.value for dim in shape])
    proto = values.add(name=value.name, type=_tensor_type_proto(kind.dtype.value, dims))
    if shape is not None:
        _denotations(proto.type, shape, len(dims or ()))
    if value.doc_string:
        proto.doc_string = value.doc_string
    entries = props_of(value)
    if entries:
        add_metadata(proto, entries)


def _denotations(proto: onnx.TypeProto, shape: Any, rank: int) -> None:
    """Write down what the axes of a shape mean."""
    denotation = getattr(shape, "get_denotation", None)
    if denotation is not None:
        for n in range(rank):
            meaning = denotation(n)
            if meaning:
                proto.tensor_type.shape.dim[n].denotation = meaning


@lru_cache(maxsize=4096)
def _tensor_type_proto(elem_type: int, dims: tuple[Any, ...] | None) -> onnx.TypeProto:
    """The type of a tensor as protobuf; few of those of a model differ."""
    proto = onnx.TypeProto()
    tensor = proto.tensor_type
    tensor.elem_type = elem_type
    if dims is not None:
        tensor.shape.SetInParent()  # a shape without dimensions is there all the same
    for dim in dims or ():
        if isinstance(dim, int):
            tensor.shape.dim.add(dim_value=dim)
        elif dim is None:
            tensor.shape.dim.add()
        else:
            tensor.shape.dim.add(dim_param=str(dim))
    return proto
