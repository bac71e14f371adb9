"""Our types and Python attribute values to and from onnx_ir and protobuf.

The only file that knows how the three spell a type.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.diagnostics.unicode_text import unicode_checked
from onnxwright.types.annotations import ValueSpec, parse_annotation
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
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Shape

# -- types ---------------------------------------------------------------------------------------


def type_proto(kind: OnnxType | None) -> onnx.TypeProto:
    """The TypeProto of a type; an empty one where it is not known."""
    proto = onnx.TypeProto()
    if isinstance(kind, (TensorType, SparseTensorType)):
        sparse = isinstance(kind, SparseTensorType)
        tensor = proto.sparse_tensor_type if sparse else proto.tensor_type
        if kind.dtype is not None:
            tensor.elem_type = int(kind.dtype)
        if kind.shape is not None:
            tensor.shape.SetInParent()
            for dim in kind.shape:
                entry = tensor.shape.dim.add()
                if isinstance(dim, int):
                    entry.dim_value = dim
                elif isinstance(dim, str):
                    entry.dim_param = dim
    elif isinstance(kind, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(kind.elem))
    elif isinstance(kind, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(kind.elem))
    elif isinstance(kind, MapType):
        proto.map_type.key_type = int(kind.key)
        proto.map_type.value_type.CopyFrom(type_proto(kind.value))
    return proto


def from_type_proto(proto: onnx.TypeProto) -> OnnxType | None:
    """The type a TypeProto describes, or None where it says nothing."""
    which = proto.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(proto, which)
        dtype = DType(tensor.elem_type) if tensor.elem_type else None
        shape = None
        if tensor.HasField("shape"):
            shape = tuple(_dim(d) for d in tensor.shape.dim)
        return (
            TensorType(dtype, shape) if which == "tensor_type" else SparseTensorType(dtype, shape)
        )
    if which == "sequence_type":
        return SequenceType(from_type_proto(proto.sequence_type.elem_type) or TensorType())
    if which == "optional_type":
        return OptionalType(from_type_proto(proto.optional_type.elem_type) or TensorType())
    if which == "map_type":
        value = from_type_proto(proto.map_type.value_type) or TensorType()
        return MapType(DType(proto.map_type.key_type), value)
    return None


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_value":
        return dim.dim_value if dim.dim_value >= 0 else None  # some converters write -1
    return dim.dim_param or None if which == "dim_param" else None


def set_type(value: ir.Value, kind: OnnxType | None, *, shares: bool = False) -> None:
    """Write a type and shape onto an onnx_ir value.

    Args:
        kind: its type; nothing is written where it is not known.
        shares: whether equal shapes of tensors may be one object, which cannot be changed.
    """
    if kind is None:
        return
    if type(kind) is TensorType:
        if kind.dtype is not None:
            value.type = ir.TensorType(_ir_dtype(kind.dtype))
        if kind.shape is not None:
            value.shape = _shared_shape(kind.shape) if shares else _ir_shape(kind.shape)
        return
    inner: Any = kind
    while isinstance(inner, (SequenceType, OptionalType)):
        inner = inner.elem
    ir_type: Any = OtherType(kind) if isinstance(inner, MapType) else _ir_type(kind)
    if ir_type is not None:
        value.type = ir_type
    if isinstance(inner, (TensorType, SparseTensorType)) and inner.shape is not None:
        value.shape = _ir_shape(inner.shape)


class SharedShape(ir.Shape):
    """The shape of several values of a graph under construction: it cannot be changed.

    Args:
        dtype: the element type of these values.
        shape: the shape.

    Attributes:
        kind: the element type as these values have it, which share it too.
        proto: the element type and the shape as protobuf.
    """

    def __init__(self, dtype: DType, shape: Shape) -> None:
        super().__init__([d if type(d) is int else _symbol(d) for d in shape], frozen=True)
        self.kind = ir.TensorType(_ir_dtype(dtype))
        self.proto = type_proto(TensorType(dtype, shape))


def typed_value(name: str | None, kind: OnnxType | None, *, shares: bool = False) -> ir.Value:
    """A new value of a type.

    Args:
        name: its name.
        kind: its type.
        shares: whether values of the same type share the objects that say it, until `own_type`.

    Returns:
        The value.
    """
    if shares and type(kind) is TensorType and kind.dtype is not None and kind.shape is not None:
        shape = _shared_type(kind.dtype, kind.shape)
        return ir.Value(name=name, type=shape.kind, shape=shape)
    value = ir.Value(name=name)
    set_type(value, kind)
    return value


@functools.lru_cache(maxsize=4096)
def _shared_type(dtype: DType, shape: Shape) -> SharedShape:
    return SharedShape(dtype, shape)


def own_type(value: ir.Value) -> None:
    """Give a value a type and shape of its own, which may be changed, where it shares them."""
    if type(value.type) is ir.TensorType:
        value.type = ir.TensorType(value.type.dtype, denotation=value.type.denotation)
    if type(value.shape) is SharedShape:
        value.shape = value.shape.copy()


def _ir_shape(shape: Shape) -> ir.Shape:
    return ir.Shape([d if type(d) is int else _symbol(d) for d in shape])


@functools.lru_cache(maxsize=4096)
def _shared_shape(shape: Shape) -> ir.Shape:
    ir_shape = _ir_shape(shape)
    ir_shape.freeze()
    return ir_shape


@functools.lru_cache(maxsize=4096)
def _symbol(dim: Any) -> Any:
    """A dimension that is not a number; it cannot be changed, so that shapes may share it."""
    return ir.SymbolicDim(dim) if dim is None or isinstance(dim, str) else dim


@functools.cache
def _ir_dtype(dtype: DType) -> ir.DataType:
    return ir.DataType(int(dtype))


class OtherType:
    """A type that `onnx_ir` has no form for, as the type of one of its values: a map.

    Args:
        kind: the whole type.
    """

    denotation = None
    dtype = ir.DataType.UNDEFINED

    def __init__(self, kind: OnnxType) -> None:
        self.kind = kind

    @property
    def elem_type(self) -> ir.DataType:
        """What `onnx_ir` asks of every type."""
        return self.dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OtherType) and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"OtherType({self.kind})"


def _ir_type(kind: OnnxType | None) -> Any:
    if isinstance(kind, TensorType):
        return None if kind.dtype is None else ir.TensorType(_ir_dtype(kind.dtype))
    if isinstance(kind, SparseTensorType):
        return None if kind.dtype is None else ir.SparseTensorType(_ir_dtype(kind.dtype))
    if isinstance(kind, SequenceType):
        elem = _ir_type(kind.elem)
        return None if elem is None else ir.SequenceType(elem)
    if isinstance(kind, OptionalType):
        elem = _ir_type(kind.elem)
        return None if elem is None else ir.OptionalType(elem)
    return None


def complete(kind: OnnxType | None) -> bool:
    """Whether a type names an element type all the way down (a model's inputs must)."""
    if isinstance(kind, (SequenceType, OptionalType)):
        return complete(kind.elem)
    if isinstance(kind, MapType):
        return complete(kind.value)
    return kind is not None and kind.dtype is not None


# -- tensors and attributes ------------------------------------------------------------------------


def tensor(array: np.ndarray[Any, Any], name: str | None = None) -> ir.TensorProtocol:
    """An onnx_ir tensor over a numpy array, without a copy; of objects, bytes and text: strings."""
    if array.dtype.kind in "OSU":
        with unicode_checked():
            strings = [s if isinstance(s, bytes) else str(s).encode() for s in array.ravel()]
        return ir.StringTensor(strings, shape=ir.Shape(array.shape), name=name)
    dtype = ir.DataType(int(DType.from_numpy(array.dtype)))
    return ir.Tensor(np.ascontiguousarray(array).reshape(array.shape), dtype=dtype, name=name)


_KIND_TO_IR = {
    AttrKind.INT: ir.AttributeType.INT,
    AttrKind.BOOL: ir.AttributeType.INT,
    AttrKind.FLOAT: ir.AttributeType.FLOAT,
    AttrKind.STRING: ir.AttributeType.STRING,
    AttrKind.INTS: ir.AttributeType.INTS,
    AttrKind.BOOLS: ir.AttributeType.INTS,
    AttrKind.FLOATS: ir.AttributeType.FLOATS,
    AttrKind.STRINGS: ir.AttributeType.STRINGS,
    AttrKind.TENSOR: ir.AttributeType.TENSOR,
    AttrKind.GRAPH: ir.AttributeType.GRAPH,
}


def attribute_type(kind: AttrKind) -> ir.AttributeType:
    """The onnx_ir attribute type of an attribute kind."""
    ir_type = _KIND_TO_IR.get(kind)
    return ir_type if ir_type is not None else ir.AttributeType[kind.name]


_IR_TO_KIND = {attribute_type(kind): kind for kind in AttrKind if kind is kind.stored}


def reference(attr: ir.Attr) -> AttributeReference:
    """A reference attribute of onnx_ir as the value of an attribute."""
    return AttributeReference(attr.ref_attr_name or "", _IR_TO_KIND[attr.type])


def attribute(name: str, value: object, kind: AttrKind | None = None) -> ir.Attr:
    """An onnx_ir attribute from a Python value, of `kind` or of the kind the value suggests.

    Raises:
        TypeError: no ONNX attribute can hold the value.
    """
    if isinstance(value, ir.Attr):
        return value
    if isinstance(value, onnx.AttributeProto):
        converted: Any = ir.from_proto(value)
        return converted  # type: ignore[no-any-return]
    if kind is None:
        kind = guess_kind(value)
    if kind is None:
        raise TypeError(f"no ONNX attribute can hold a value of type {type(value).__name__}")
    type_code = attribute_type(kind)
    return ir.Attr(name, type_code, _attribute_value(value, type_code))


def _attribute_value(value: Any, kind: ir.AttributeType) -> Any:
    if kind is ir.AttributeType.INT:
        return int(value)
    if kind is ir.AttributeType.FLOAT:
        return float(value)
    if kind is ir.AttributeType.STRING:
        return _text(value)
    if kind is ir.AttributeType.INTS:
        return [int(v) for v in value]
    if kind is ir.AttributeType.FLOATS:
        return [float(v) for v in value]
    if kind is ir.AttributeType.STRINGS:
        return [_text(v) for v in value]
    if kind is ir.AttributeType.TENSOR:
        return _tensor_value(value)
    if kind is ir.AttributeType.TENSORS:
        return [_tensor_value(v) for v in value]
    if kind is ir.AttributeType.TYPE_PROTO:
        value = _type_value(value)
    if isinstance(value, onnx.TypeProto):
        return ir.TypeAndShape(
            ir.serde.deserialize_type_proto_for_type(value),
            ir.serde.deserialize_type_proto_for_shape(value),
        )
    if isinstance(value, (onnx.GraphProto, onnx.SparseTensorProto)):
        return ir.from_proto(value)
    if kind is ir.AttributeType.GRAPH and not isinstance(value, ir.Graph):
        raise TypeError(f"a function or a graph is needed, not {type(value).__name__}")
    return value


def _text(value: Any) -> str:
    """A text; onnx_ir holds no others, where a file can hold any bytes."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError as error:
        raise ValueError("its bytes are not text in UTF-8") from error


def _type_value(value: Any) -> Any:
    """A type or an annotation as a TypeProto; what is one already as it is."""
    if isinstance(value, (onnx.TypeProto, ir.TypeAndShape)):
        return value
    if not isinstance(value, get_args(OnnxType)):
        spec = parse_annotation(value)
        value = spec.exact if isinstance(spec, ValueSpec) else None
        if value is None:
            raise TypeError("a type is needed")
    return type_proto(value)


def _tensor_value(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return ir.from_proto(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor(np.asarray(value))
    if isinstance(value, (bool, int, float, list, tuple, str)):
        array = np.array(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        return tensor(array.astype(object) if array.dtype.kind in "US" else array)
    return value


_SCALARS: tuple[tuple[type | tuple[type, ...], AttrKind], ...] = (
    ((bool, np.bool_), AttrKind.INT),
    ((int, np.integer), AttrKind.INT),
    ((float, np.floating), AttrKind.FLOAT),
    ((str, bytes), AttrKind.STRING),
)
_LIST_OF = {
    AttrKind.INT: AttrKind.INTS,
    AttrKind.FLOAT: AttrKind.FLOATS,
    AttrKind.STRING: AttrKind.STRINGS,
}


_TENSORS: dict[type, bool] = {}


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of onnx_ir: asked once for each class, which takes long."""
    kind = type(value)
    answer = _TENSORS.get(kind)
    if answer is None:
        answer = _TENSORS[kind] = isinstance(value, ir.TensorProtocol)
    return answer


def guess_kind(value: object) -> AttrKind | None:
    """The attribute kind a Python value suggests (for operators without a schema)."""
    for types, kind in _SCALARS:
        if isinstance(value, types):
            return kind
    if isinstance(value, (list, tuple)):
        kinds = [guess_kind(v) for v in value]
        if not kinds:
            return AttrKind.INTS
        if all(k is kinds[0] for k in kinds):
            return _LIST_OF.get(kinds[0]) if kinds[0] is not None else None
        if set(kinds) <= {AttrKind.INT, AttrKind.FLOAT}:
            return AttrKind.FLOATS
        return None
    if isinstance(value, (np.ndarray, onnx.TensorProto)) or is_tensor(value):
        return AttrKind.TENSOR
    if isinstance(value, (onnx.GraphProto, ir.Graph)):
        return AttrKind.GRAPH
    if isinstance(value, onnx.TypeProto):
        return AttrKind.TYPE_PROTO
    return None


def attributes(values: Mapping[str, object], kinds: Mapping[str, AttrKind]) -> Sequence[ir.Attr]:
    """Several attributes, each of its schema's kind where there is one."""
    return [attribute(name, value, kinds.get(name)) for name, value in values.items()]
