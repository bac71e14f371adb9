"""`GraphValue`: a value of a graph being built, with Python's operators and what is known of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend
from onnxwright.semantics.literals import emit1
from onnxwright.semantics.numpy_functions.arguments import known_rank
from onnxwright.semantics.values import ValueOperators
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.roles import SymbolicValue
from onnxwright.types.shapes import Dim, Shape


class ValueContext(Backend[Any], Protocol):
    """What a value asks of the backend that builds its graph, beside what every backend has."""

    def dims_of(self, value: GraphValue) -> Shape | None:
        """A value as a shape, or None."""


class GraphValue(ValueOperators, SymbolicValue):
    """A value of a graph being built, with Python's operators.

    Attributes:
        value: the onnx_ir value.
        kind: its type as far as known.
        weak: the Python kind it represents (a number known only at run time), or None.
    """

    __slots__ = ("__weakref__", "_memory", "_part_of", "backend", "kind", "value", "weak")

    # What shares memory with it in Python, for writing into it; the front ends differ.
    _memory: Any
    _part_of: Any

    def __init__(
        self,
        backend: ValueContext,
        value: ir.Value,
        kind: OnnxType | None,
        weak: str | None = None,
    ) -> None:
        self.backend = backend
        self.value = value
        self.kind = kind
        self.weak = weak

    def _backend(self) -> ValueContext:
        return self.backend

    def _become(self, other: GraphValue) -> None:
        self.value, self.kind, self.weak = other.value, other.kind, other.weak

    def __repr__(self) -> str:
        return f"<{self.value.name}: {self.kind if self.kind is not None else 'unknown type'}>"

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        fail(messages.NoTruthWhileBuilding(name=str(self.value.name), span=self.backend.here()))

    @property
    def dtype(self) -> DType | None:
        """The element type, where known."""
        return self.kind.dtype if isinstance(self.kind, TensorType) else None

    @property
    def onnx_dtype(self) -> DType | None:
        """As `dtype`; an eager tensor has the same attribute."""
        return self.dtype

    @property
    def shape(self) -> Shape | None:
        """Its dimensions (numbers, names, None), where the rank is known."""
        return self.kind.shape if isinstance(self.kind, TensorType) else None

    @property
    def rank(self) -> int | None:
        """The number of dimensions, where known."""
        return None if self.shape is None else len(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        Raises:
            ScriptTypeError: it is not known (OW414).
        """
        return known_rank(self.backend, "ndim", self)

    @property
    def size(self) -> Any:
        """The number of elements: an int where the shape is known, else a value."""
        shape = self.shape
        if shape is not None and all(isinstance(d, int) for d in shape):
            return int(np.prod([d for d in shape if isinstance(d, int)], dtype=np.int64))
        return emit1(self.backend, "Size", (self,))

    @property
    def constant(self) -> np.ndarray[Any, Any] | None:
        """The array it is known to hold."""
        return self.backend.constant_value(self)

    @property
    def dims(self) -> Shape | Dim:
        """The value as a shape: dimensions of a vector of INT64 or INT32, one for a scalar.

        None where nothing is known; single dimensions may be None too.
        """
        dims_of_value = self.backend.dims_of(self)
        return dims_of_value[0] if dims_of_value is not None and self.rank == 0 else dims_of_value
