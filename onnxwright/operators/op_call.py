"""`OpCall`: one operator call as shape rules see it: types, arrays and dimensions of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from onnxwright.opset.registry import OpSignature
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Dim, Shape

Array: TypeAlias = np.ndarray[Any, Any]

# Vectors up to this long are followed as shapes.
MOST_DIMS = 64
_INTEGERS = (DType.INT64, DType.INT32)
_MISSING: Any = object()


class UnknownError(Exception):
    """A rule cannot say: ONNX's own inference is asked."""


class ContradictionError(UnknownError):
    """The inputs of a call contradict each other: no runtime can run it.

    Args:
        expected: what the other inputs and the attributes ask for.
        got: what there is.

    Example:
        >>> str(ContradictionError("4 rows", "5"))
        'expected 4 rows, got 5'
    """

    def __init__(self, expected: str, got: object) -> None:
        super().__init__(f"expected {expected}, got {got}")


class OpCall:
    """A call of an operator, for rules that say what comes out.

    Args:
        signature: the schema of the operator.
        attributes: its attributes as Python values; a reference to an attribute parameter is any
            `AttributeReference`.
        count: how many outputs it has.
        types: the types of its inputs, None for an unknown one.
        arrays: the arrays inputs are known to hold.
        values: inputs as shapes: their dimensions, where they are small vectors or scalars.
        present: which inputs there are; all by default.
        is_bare: whether it is certain that nothing is known of what its inputs hold.
    """

    __slots__ = (
        "arrays",
        "attributes",
        "count",
        "is_bare",
        "is_full",
        "name",
        "present",
        "signature",
        "since",
        "types",
        "values",
    )

    def __init__(
        self,
        signature: OpSignature,
        attributes: Mapping[str, object],
        count: int,
        types: Sequence[OnnxType | None],
        arrays: Sequence[Array | None],
        values: Sequence[Shape | None],
        present: Sequence[bool] | None = None,
        *,
        is_bare: bool = False,
    ) -> None:
        self.signature = signature
        self.name = signature.name
        self.since = signature.since_version
        self.attributes = attributes
        self.count = count
        self.types = types
        self.arrays = arrays
        self.values = values
        self.is_full = present is None
        self.present = (True,) * len(types) if present is None else present
        self.is_bare = is_bare

    # -- inputs ------------------------------------------------------------------------------------

    @property
    def read_types(self) -> Sequence[object]:
        """The types of its inputs, something else for those that are absent."""
        if self.is_full:
            return self.types
        return [kind if here else _MISSING for kind, here in zip(self.types, self.present)]

    def has(self, n: int) -> bool:
        """Whether there is an input `n`."""
        return n < len(self.present) and self.present[n]

    def tensor(self, n: int) -> TensorType:
        """The type of input `n`, a tensor of known element type."""
        kind = self.types[n] if n < len(self.types) else None
        if type(kind) is not TensorType or kind.dtype is None:
            raise UnknownError
        return kind

    def shape(self, n: int) -> Shape:
        """The shape of input `n`."""
        kind = self.types[n] if n < len(self.types) else None
        if type(kind) is not TensorType or kind.shape is None:
            raise UnknownError
        return kind.shape

    def dims(self, n: int) -> Shape:
        """Input `n` as a shape."""
        dims_of_input = self.dims_if_known(n)
        if dims_of_input is None:
            raise UnknownError
        return dims_of_input

    def dims_if_known(self, n: int) -> Shape | None:
        """Input `n` as a shape, or None."""
        if n >= len(self.values):
            return None
        stored = self.values[n]
        return stored if stored is not None else array_dims(self.arrays[n])

    def numbers(self, n: int) -> tuple[int, ...]:
        """Input `n` as numbers."""
        entries = self.dims(n)
        if any(type(d) is not int for d in entries):
            raise UnknownError
        return entries  # type: ignore[return-value]

    # -- attributes --------------------------------------------------------------------------------

    def attr(self, name: str, default: Any = _MISSING) -> Any:
        """An attribute's value: as given, else the schema's default, else `default`."""
        value = self.attributes.get(name)
        if value is None:
            if default is not _MISSING:
                return default
            param = self.signature.attributes.get(name)
            return None if param is None else param.default
        if isinstance(value, AttributeReference):
            raise UnknownError
        return value

    def attr_or_input(self, name: str, position: int) -> tuple[int, ...] | None:
        """Numbers that older versions take as an attribute, newer ones as an input."""
        if name in self.signature.attributes:
            value = self.attr(name)
            return None if value is None else tuple(value)
        return self.numbers(position) if self.has(position) else None


def shape_operand(call: OpCall, n: int) -> Shape:
    """Input `n` as a shape: its dimensions where they are known, else as many unknown ones."""
    dims = call.dims_if_known(n)
    if dims is not None:
        return dims
    shape = call.shape(n)
    length = shape[0] if len(shape) == 1 else None
    if type(length) is not int or length > MOST_DIMS:
        raise UnknownError
    return (None,) * length


def array_dims(array: Array | None) -> Shape | None:
    """The numbers in a small array of integers of rank 0 or 1."""
    if array is None or array.ndim > 1 or array.size > MOST_DIMS or array.dtype.kind not in "iu":
        return None
    return tuple(array.ravel().tolist())


def as_array(dims: Shape, kind: TensorType) -> Array | None:
    """The array a shape is as a value of type `kind`; None unless all of it is numbers."""
    if any(type(d) is not int for d in dims) or kind.dtype is None or kind.shape is None:
        return None
    try:
        array = np.array(dims, dtype=kind.dtype.numpy)
    except OverflowError:
        return None
    return array.reshape(()) if not kind.shape else array


def axis_in(axis: int | None, rank: int) -> int:
    """An axis counted from the start.

    Raises:
        ContradictionError: there is no such axis.
    """
    if axis is None:
        raise UnknownError
    if not -rank <= axis < rank:
        if rank == 0:
            raise ContradictionError("a tensor that has axes", f"axis {axis} of a scalar")
        raise ContradictionError(f"an axis from {-rank} to {rank - 1}", axis)
    return axis + rank if axis < 0 else axis


def same_shape(expected: Shape, shape: Shape, name: str) -> None:
    """Check that an input has a shape.

    Raises:
        ContradictionError: another number of axes, or two different numbers.
    """
    if len(expected) != len(shape) or any(
        type(a) is int and type(b) is int and a != b for a, b in zip(expected, shape)
    ):
        raise ContradictionError(f"`{name}` of shape {listed(expected)}", listed(shape))


def listed(shape: Shape) -> str:
    """A shape in brackets, as messages write it.

    Example:
        >>> listed(("N", 3)), listed(())
        ('[N, 3]', '[]')
    """
    return f"[{', '.join(map(str, shape))}]"


def is_shape_like(kind: OnnxType | None) -> bool:
    """Whether a value of this type may be a shape: integers, rank 0 or 1, not long."""
    if type(kind) is not TensorType or kind.dtype not in _INTEGERS:
        return False
    shape = kind.shape
    if shape is None or len(shape) > 1:
        return False
    return not shape or (type(shape[0]) is int and shape[0] <= MOST_DIMS)


def same(a: Dim, b: Dim, expected: str) -> Dim:
    """One dimension described twice.

    Args:
        b: the same dimension as another input has it.
        expected: what is expected of the other input, `{}` for the number of the first.

    Returns:
        What is known of it: a number before a name.

    Raises:
        ContradictionError: two different numbers.

    Example:
        >>> same("N", 3, "{} rows"), same(None, "N", "{} rows")
        (3, 'N')
    """
    if a == b or b is None:
        return a
    if a is None:
        return b
    if type(a) is int and type(b) is int:
        raise ContradictionError(expected.format(a), b)
    return a if type(a) is int else b if type(b) is int else a
