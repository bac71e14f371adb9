"""What may be given as a type: annotations, element types of any spelling, TypeProtos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import onnx

from onnxwright.diagnostics.catalogue.builder import BadTypeArgument
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.adapters import from_type_proto
from onnxwright.semantics.literals import describe
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)
from onnxwright.types.tensors import TensorMeta, read_shape

_KINDS = (TensorType, SparseTensorType, SequenceType, OptionalType, MapType)


def read_type(name: str, type_argument: Any, shape: Any = None) -> OnnxType | None:
    """A type as a caller writes it.

    Args:
        name: what it is the type of, for the message.
        type_argument: `FLOAT["N", 3]`, a `DType`, a numpy dtype or its name, a number of
            `TensorProto.DataType`, a TypeProto or ValueInfoProto, a type object, or None.
        shape: the shape, where `type_argument` is an element type: a sequence of numbers, names
            and None.

    Returns:
        The type; None where nothing is given.

    Raises:
        ScriptTypeError: it is none of these (OW548).

    Example:
        >>> str(read_type("x", "float32", ("N", 3))), str(read_type("x", 7))
        ('FLOAT[N, 3]', 'INT64')
    """
    kind = _read(name, type_argument)
    if shape is None:
        return kind
    if isinstance(kind, TensorType) or kind is None:
        dims = read_shape(name, tuple(shape) if isinstance(shape, Sequence) else shape)
        if kind is not None and kind.shape is not None and kind.shape != dims:
            _bad(name, f"{kind} with the shape {shape}")
        return TensorType(None if kind is None else kind.dtype, dims)
    _bad(name, type_argument)


def _read(name: str, type_argument: Any) -> OnnxType | None:
    if type_argument is None or isinstance(type_argument, _KINDS):
        return type_argument
    if isinstance(type_argument, TensorMeta):
        return type_argument.onnx_type
    if isinstance(type_argument, DType):
        return TensorType(type_argument)
    if isinstance(type_argument, onnx.ValueInfoProto):
        type_argument = type_argument.type
    if isinstance(type_argument, onnx.TypeProto):
        return from_type_proto(type_argument)
    if isinstance(type_argument, int) and not isinstance(type_argument, bool):
        try:
            return TensorType(DType(int(type_argument)))
        except ValueError:
            _bad(name, type_argument)
    if isinstance(type_argument, str) and type_argument in DType.__members__:
        return TensorType(DType[type_argument])
    try:
        return TensorType(DType.from_numpy(type_argument))
    except (OnnxwrightError, TypeError):
        pass
    try:
        spec = parse_annotation(type_argument)
    except (OnnxwrightError, TypeError):
        _bad(name, type_argument)
    if isinstance(spec, ValueSpec) and len(spec.types) == 1:
        return spec.types[0]
    _bad(name, type_argument)


def _bad(name: str, argument: Any) -> NoReturn:
    shown = describe(argument).replace("{", "(").replace("}", ")")
    fail(BadTypeArgument(value=shown, name=name))
