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


def read_type(name: str, given: Any, shape: Any = None) -> OnnxType | None:
    """A type as a caller writes it.

    Args:
        name: what it is the type of, for the message.
        given: `FLOAT["N", 3]`, a `DType`, a numpy dtype or its name, a number of
            `TensorProto.DataType`, a TypeProto or ValueInfoProto, a type object, or None.
        shape: the shape, where `given` is an element type: a sequence of numbers, names and None.

    Returns:
        The type; None where nothing is given.

    Raises:
        ScriptTypeError: it is none of these (OW548).

    Example:
        >>> str(read_type("x", "float32", ("N", 3))), str(read_type("x", 7))
        ('FLOAT[N, 3]', 'INT64')
    """
    kind = _read(name, given)
    if shape is None:
        return kind
    if isinstance(kind, TensorType) or kind is None:
        dims = read_shape(name, tuple(shape) if isinstance(shape, Sequence) else shape)
        if kind is not None and kind.shape is not None and kind.shape != dims:
            _bad(name, f"{kind} with the shape {shape}")
        return TensorType(None if kind is None else kind.dtype, dims)
    _bad(name, given)


def _read(name: str, given: Any) -> OnnxType | None:
    if given is None or isinstance(given, _KINDS):
        return given
    if isinstance(given, TensorMeta):
        return given.onnx_type
    if isinstance(given, DType):
        return TensorType(given)
    if isinstance(given, onnx.ValueInfoProto):
        given = given.type
    if isinstance(given, onnx.TypeProto):
        return from_type_proto(given)
    if isinstance(given, int) and not isinstance(given, bool):
        try:
            return TensorType(DType(int(given)))
        except ValueError:
            _bad(name, given)
    if isinstance(given, str) and given in DType.__members__:
        return TensorType(DType[given])
    try:
        return TensorType(DType.from_numpy(given))
    except (OnnxwrightError, TypeError):
        pass
    try:
        spec = parse_annotation(given)
    except (OnnxwrightError, TypeError):
        _bad(name, given)
    if isinstance(spec, ValueSpec) and len(spec.types) == 1:
        return spec.types[0]
    _bad(name, given)


def _bad(name: str, given: Any) -> NoReturn:
    shown = describe(given).replace("{", "(").replace("}", ")")
    fail(BadTypeArgument(value=shown, name=name))
