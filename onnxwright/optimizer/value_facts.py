"""`facts(value)`: what is known of a value while a replacement is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Dim, Shape


@dataclass(frozen=True)
class ValueFacts:
    """What is known of a value.

    Fields:
        kind: its type.
        dtype: its element type.
        shape: its dimensions: numbers, names, expressions of names, None.
        dims: the value as a shape, where it is a small vector of integers; one dimension where it
            is a scalar.
        constant: the array it is known to hold; of weights only if they are in memory.
        is_weight: whether it is held by the model and may be trained: its numbers may change.
        made_by: the operator that makes it, "" for inputs and constants.
    """

    kind: OnnxType | None
    dtype: DType | None
    shape: Shape | None
    dims: Shape | Dim
    constant: np.ndarray[Any, Any] | None
    is_weight: bool
    made_by: str

    @property
    def rank(self) -> int | None:
        """The number of dimensions, where known."""
        return None if self.shape is None else len(self.shape)


def facts(value: Any) -> ValueFacts:
    """What is known of a value.

    Args:
        value: a value that a replacement is given, or one it made.

    Returns:
        The facts.

    Example:
        >>> from onnxwright import FLOAT, GraphBuilder
        >>> g = GraphBuilder(opset=20)
        >>> x = g.input("x", FLOAT["N", 4])
        >>> facts(x).shape, facts(g.op.Shape(x)).dims
        (('N', 4), ('N', 4))
    """
    assert isinstance(value, GraphValue)
    backend: Any = value.backend
    node = value.value.producer()
    held = value.value in backend.pool
    constant = backend.constant_value(value)
    return ValueFacts(
        kind=value.kind,
        dtype=value.dtype,
        shape=value.shape,
        dims=value.dims,
        constant=value.constant,
        is_weight=held and constant is None,
        made_by="" if node is None else node.op_type,
    )
