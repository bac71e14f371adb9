"""Estimated floating point operations of a node, where the shapes are known.

The formulas are those of the operators' records (`OperatorFacts.flops`); `operators.flops`
describes what they count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from onnxwright.operators import facts
from onnxwright.operators.flops import Sizes, UnknownSizeError
from onnxwright.types.kinds import OnnxType, TensorType


class _Node:
    """What the formulas see of a node: shapes of its inputs and outputs, its attributes."""

    def __init__(self, node: Any, types: Mapping[str, OnnxType], dims: Mapping[str, int]) -> None:
        self.node = node
        self.types = types
        self.dims = dims

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.node.input)

    def _shape(self, names: Sequence[str], index: int) -> Sizes:
        kind = self.types.get(names[index]) if index < len(names) else None
        if not isinstance(kind, TensorType) or kind.shape is None:
            raise UnknownSizeError
        sizes = []
        for dim in kind.shape:
            size = dim if isinstance(dim, int) else self.dims.get(dim or "")
            if size is None:
                raise UnknownSizeError
            sizes.append(size)
        return tuple(sizes)

    def input(self, index: int) -> Sizes:
        """The shape of an input."""
        return self._shape(self.node.input, index)

    def output(self, index: int = 0) -> Sizes:
        """The shape of an output."""
        return self._shape(self.node.output, index)

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.node.input) and bool(self.node.input[index])

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return onnx.helper.get_attribute_value(attribute)
        return default


def flops_of(
    node: Any, types: Mapping[str, OnnxType], dims: Mapping[str, int] | None = None
) -> int | None:
    """How many floating point operations a node is estimated to take.

    Args:
        node: a NodeProto of the standard domain, without subgraphs.
        types: types of values by name.
        dims: sizes of symbolic dimensions, such as `{"N": 1}`.

    Returns:
        The estimate; None where a shape is unknown, or the operator has no formula.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> kinds = {
        ...     "a": TensorType(DType.FLOAT, (2, 3)),
        ...     "b": TensorType(DType.FLOAT, (3, 4)),
        ...     "c": TensorType(DType.FLOAT, (2, 4)),
        ... }
        >>> flops_of(onnx.helper.make_node("MatMul", ["a", "b"], ["c"]), kinds)
        48
    """
    formula = facts(node.op_type, node.domain).flops
    if formula is None:
        return None
    try:
        return formula(_Node(node, types, dims or {}))
    except (UnknownSizeError, IndexError, ValueError, TypeError):
        return None  # a shape that is not known, or does not fit the operator
