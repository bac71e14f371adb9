"""Element types, shapes, annotations and signatures: what a value or parameter may be."""

from onnxwright.types import annotations as _annotations
from onnxwright.types.annotations import *  # noqa: F403 - the names users annotate with
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

__all__ = [
    "DType",
    "MapType",
    "OnnxType",
    "OptionalType",
    "SequenceType",
    "SparseTensorType",
    "TensorType",
]
__all__ += _annotations.__all__
