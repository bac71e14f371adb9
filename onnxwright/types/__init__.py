"""Element types, shapes, annotations and signatures: what a value or parameter may be."""

from onnxwright.types import tensors
from onnxwright.types.annotations import (
    AttributeSpec,
    Spec,
    ValueSpec,
    parse_annotation,
    show_annotation,
)
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
from onnxwright.types.tensors import *  # noqa: F403 - the names that users write

__all__ = [
    "AttrKind",
    "AttributeSpec",
    "DType",
    "MapType",
    "OnnxType",
    "OptionalType",
    "SequenceType",
    "SparseTensorType",
    "Spec",
    "TensorType",
    "ValueSpec",
    "parse_annotation",
    "show_annotation",
]
__all__ += tensors.__all__
