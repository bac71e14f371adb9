"""One operator call as an ONNX model of one node, or of the function that defines the operator.

The model says element types only: one model serves every shape.  Outputs have no declared type;
the runtime infers it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.opset.op import Op
from onnxwright.opset.registry import OpSignature
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    AttrKind,
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

# Every runtime this package supports reads it, and no operator needs a newer one.
IR_VERSION = 10
BODY_DOMAIN = "onnxwright.body"


def type_proto(kind: OnnxType | None) -> Any:
    """A type as an `onnx.TypeProto`; tensors keep their shape if they have one.

    Args:
        kind: the type; what is unknown in it is left out.
    """
    proto = onnx.TypeProto()
    _fill_type(proto, kind)
    return proto


def _fill_type(proto: Any, kind: OnnxType | None) -> None:
    if isinstance(kind, SequenceType):
        _fill_type(proto.sequence_type.elem_type, kind.elem or TensorType(DType.FLOAT))
    elif isinstance(kind, OptionalType):
        _fill_type(proto.optional_type.elem_type, kind.elem or TensorType(DType.FLOAT))
    elif isinstance(kind, MapType):
        proto.map_type.key_type = int(kind.key)
        _fill_type(proto.map_type.value_type, kind.value)
    elif isinstance(kind, SparseTensorType):
        proto.sparse_tensor_type.elem_type = int(kind.dtype or 0)
    else:
        tensor = proto.tensor_type
        dtype = None if kind is None else kind.dtype
        tensor.elem_type = int(dtype if dtype is not None else DType.FLOAT)
        if kind is not None and kind.shape is not None:
            tensor.shape.SetInParent()
            for dim in kind.shape:
                entry = tensor.shape.dim.add()
                if isinstance(dim, int):
                    entry.dim_value = dim
                elif isinstance(dim, str):
                    entry.dim_param = dim


def attribute_proto(name: str, value: Any, kind: AttrKind | None = None) -> Any:
    """A Python value as an `onnx.AttributeProto`.

    Args:
        value: the value, in the form that `Op.bind` gives it.
        kind: the kind that the schema says; it settles what an empty list is.

    Raises:
        TypeError: the value is not an attribute.
    """
    if isinstance(value, onnx.AttributeProto):
        return value
    value = _plain(value)
    if kind is None and isinstance(value, (list, tuple)) and not value:
        kind = AttrKind.INTS  # an empty list does not say what it is a list of
    if kind is None or not isinstance(value, (list, tuple)):
        attribute = onnx.helper.make_attribute(name, value)
        wants_float = kind is AttrKind.FLOAT and attribute.type == onnx.AttributeProto.INT
        if wants_float:
            attribute = onnx.helper.make_attribute(name, float(value))
        return attribute
    stored = kind.stored
    if stored is AttrKind.FLOATS:
        value = [float(v) for v in value]
    return onnx.helper.make_attribute(name, [_plain(v) for v in value], attr_type=stored.number)


def _plain(value: Any) -> Any:
    """Arrays and tensors as TensorProto, numpy numbers and enums as Python's, the rest as it is."""
    array = value if isinstance(value, np.ndarray) else getattr(value, "value", None)
    if isinstance(array, np.ndarray):
        return tensor_proto(array)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, DType)):
        return int(value)
    if isinstance(value, (list, tuple, range)):
        return [_plain(v) for v in value]
    serialize = getattr(value, "to_type_proto", None)
    if serialize is not None:
        return serialize()
    if isinstance(value, (TensorType, SequenceType, OptionalType, MapType)):
        return type_proto(value)
    return value


def tensor_proto(array: np.ndarray[Any, Any], name: str = "") -> Any:
    """An array as an `onnx.TensorProto`.

    Args:
        name: the tensor's name.
    """
    if array.dtype.kind in "US":
        array = array.astype(object)
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def freeze(value: Any) -> Any:
    """A hashable stand-in for an attribute value: equal values have equal stand-ins.

    Returns:
        The stand-in; it says the Python type, so that `1`, `1.0` and `True` differ.
    """
    kind = type(value)
    if kind is float:
        return (kind, repr(value))  # NaN equals itself in it, and -0.0 is not 0.0
    if kind is int or kind is str or kind is bytes or kind is bool:
        return (kind, value)
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v) for v in value)
    array = value if isinstance(value, np.ndarray) else getattr(value, "value", None)
    if isinstance(array, np.ndarray):
        if array.dtype == object:
            return ("strings", array.shape, tuple(array.ravel().tolist()))
        digest = hashlib.blake2b(np.ascontiguousarray(array).view(np.uint8).data, digest_size=16)
        return (array.dtype.str, array.shape, digest.digest())
    serialize = getattr(value, "SerializeToString", None)
    if serialize is not None:
        data = serialize(deterministic=True)
        return (kind.__name__, hashlib.blake2b(data, digest_size=16).digest(), len(data))
    hash(value)
    return value


def freeze_attributes(attributes: Mapping[str, Any]) -> Any:
    """All attributes of a call as one hashable stand-in."""
    if not attributes:
        return ()
    return tuple((name, freeze(value)) for name, value in sorted(attributes.items()))


def node_proto(
    op_type: str,
    domain: str,
    signature: OpSignature | None,
    present: Sequence[bool],
    attributes: Mapping[str, Any],
    outputs: int,
) -> Any:
    """The node of a call; its inputs are `i0`, `i1`... with gaps, its outputs `o0`, `o1`...

    Args:
        signature: its schema, which says the kinds of attributes.

    Returns:
        The `onnx.NodeProto`.
    """
    node = onnx.NodeProto(op_type=op_type, domain=domain)
    node.input.extend(f"i{n}" if is_present else "" for n, is_present in enumerate(present))
    node.output.extend(f"o{n}" for n in range(outputs))
    params = {} if signature is None else signature.attributes
    for name, value in attributes.items():
        param = params.get(name)
        node.attribute.append(attribute_proto(name, value, None if param is None else param.kind))
    return node


def one_node_model(
    node: onnx.NodeProto,
    types: Sequence[OnnxType | None],
    versions: Mapping[str, int],
    functions: Sequence[Any] = (),
    present: Sequence[bool] | None = None,
) -> Any:
    """A model around one node.

    Args:
        node: the node, as `node_proto` names its values.
        types: the types of the inputs, None where one is absent.
        versions: domain -> opset version.
        present: which inputs exist; those with a type if not given.

    Returns:
        The `onnx.ModelProto`.
    """
    model = onnx.ModelProto(ir_version=IR_VERSION, producer_name="onnxwright")
    graph = model.graph
    graph.name = node.op_type
    graph.node.append(node)
    present_inputs = [t is not None for t in types] if present is None else present
    for n, (kind, there) in enumerate(zip(types, present_inputs, strict=True)):
        if there:
            info = graph.input.add()
            info.name = f"i{n}"
            _fill_type(info.type, kind)
    for name in node.output:
        if name:
            graph.output.add().name = name
    for domain, version in versions.items():
        model.opset_import.add(domain=domain, version=version)
    model.functions.extend(functions)
    return model


def function_body(
    signature: OpSignature, version: int, node: onnx.NodeProto, types: Sequence[OnnxType | None]
) -> Any | None:
    """The function by which onnx defines an operator, for one call of it.

    Args:
        types: the types of its inputs, None where one is absent.

    Returns:
        The `onnx.FunctionProto`; None where onnx gives none for this call.
    """
    schema: Any = signature.schema
    function = onnx.FunctionProto()
    if schema.has_function:
        body = schema.function_body
        function.CopyFrom(body)
        return function
    if not schema.has_context_dependent_function:
        return None
    protos = [(type_proto(t) if t is not None else onnx.TypeProto()) for t in types]
    possible = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    if not possible:
        return None
    data = schema.get_context_dependent_function_with_opset_version(
        max(possible), node.SerializeToString(), [p.SerializeToString() for p in protos]
    )
    if not data:
        return None
    function.ParseFromString(data)
    for n, name in enumerate(function.input):
        if not name:  # the function is for a call without this input
            function.input[n] = f"absent{n}"
    return function


def body_model(
    function: Any,
    node: onnx.NodeProto,
    types: Sequence[OnnxType | None],
    versions: Mapping[str, int],
) -> Any:
    """A model whose one node calls the function that defines its operator.

    Args:
        versions: domain -> opset version for the body.

    Returns:
        The `onnx.ModelProto`.
    """
    local = onnx.FunctionProto()
    local.CopyFrom(function)
    local.domain = BODY_DOMAIN
    local.ClearField("opset_import")
    for domain, version in versions.items():
        local.opset_import.add(domain=domain, version=version)
    call = onnx.NodeProto()
    call.CopyFrom(node)
    call.domain = BODY_DOMAIN
    call.op_type = local.name
    return one_node_model(call, types, {**versions, BODY_DOMAIN: 1}, [local])


def constant_array(attributes: Mapping[str, Any]) -> np.ndarray[Any, Any] | None:
    """The value of a Constant node.

    Returns:
        The array; None where the attributes are not those of a constant.
    """
    ((name, value),) = attributes.items() if len(attributes) == 1 else ((None, None),)
    if name == "value":
        if hasattr(value, "SerializeToString"):
            array: np.ndarray[Any, Any] = numpy_helper.to_array(cast(Any, value))
            return array.astype(object) if array.dtype.kind in "SU" else array
        held = getattr(value, "value", value)
        return np.asarray(held)
    if name == "sparse_value":
        return _dense(value)
    if name in ("value_int", "value_ints"):
        return np.array(value, np.int64)
    if name in ("value_float", "value_floats"):
        return np.array(value, np.float32)
    if name in ("value_string", "value_strings"):
        return np.array(value, object)
    return None


def _dense(sparse: Any) -> np.ndarray[Any, Any]:
    """A SparseTensorProto as an array; its indices are linear, or one row for each element."""
    values = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    dense: np.ndarray[Any, Any] = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def op_text(op: Op) -> str:
    """The operator in a message: its signature, or its name for a custom one."""
    signature = op.signature
    return str(signature) if signature is not None else f"{op.name} of {op.domain}"
