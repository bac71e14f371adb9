"""Types of ONNX values and kinds of attributes, as plain data.

A type may be partial: a dtype or shape of None is unknown.  `fits` answers whether a value of one
type may be used where another is wanted, and says no only to contradictions.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import TypeAlias

from onnxwright.diagnostics.catalogue.annotations import NoOnnxElementType
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Shape, compatible, refine, show_shape, unify


class AttrKind(enum.Enum):
    """The kind of an attribute.  BOOL and BOOLS are stored as INT and INTS.

    Example:
        >>> AttrKind.INTS.is_list, AttrKind.INTS.element, AttrKind.BOOL.stored
        (True, <AttrKind.INT: 'INT'>, <AttrKind.INT: 'INT'>)
    """

    FLOAT = "FLOAT"
    INT = "INT"
    STRING = "STRING"
    BOOL = "BOOL"
    TENSOR = "TENSOR"
    GRAPH = "GRAPH"
    SPARSE_TENSOR = "SPARSE_TENSOR"
    TYPE_PROTO = "TYPE_PROTO"
    FLOATS = "FLOATS"
    INTS = "INTS"
    STRINGS = "STRINGS"
    BOOLS = "BOOLS"
    TENSORS = "TENSORS"
    GRAPHS = "GRAPHS"
    SPARSE_TENSORS = "SPARSE_TENSORS"
    TYPE_PROTOS = "TYPE_PROTOS"

    @property
    def is_list(self) -> bool:
        """Whether it holds several elements."""
        return self.value.endswith("S")

    @property
    def element(self) -> AttrKind:
        """The kind of one element of a list kind; a single kind is its own element."""
        return AttrKind(self.value[:-1]) if self.is_list else self

    @property
    def list_of(self) -> AttrKind:
        """The list kind with elements of this kind."""
        return self if self.is_list else AttrKind(self.value + "S")

    @property
    def stored(self) -> AttrKind:
        """The kind as it is written in a model: BOOL is INT, BOOLS is INTS."""
        return _STORED.get(self, self)

    @property
    def number(self) -> int:
        """The number of the stored kind in `AttributeProto.AttributeType`."""
        return _NUMBERS[self.stored]

    @property
    def python(self) -> str:
        """What to write in Python, for messages and signatures."""
        return _PYTHON[self]


_STORED = {AttrKind.BOOL: AttrKind.INT, AttrKind.BOOLS: AttrKind.INTS}
_NUMBERS = {
    AttrKind.FLOAT: 1,
    AttrKind.INT: 2,
    AttrKind.STRING: 3,
    AttrKind.TENSOR: 4,
    AttrKind.GRAPH: 5,
    AttrKind.FLOATS: 6,
    AttrKind.INTS: 7,
    AttrKind.STRINGS: 8,
    AttrKind.TENSORS: 9,
    AttrKind.GRAPHS: 10,
    AttrKind.SPARSE_TENSOR: 11,
    AttrKind.SPARSE_TENSORS: 12,
    AttrKind.TYPE_PROTO: 13,
    AttrKind.TYPE_PROTOS: 14,
}
_PYTHON = {
    AttrKind.FLOAT: "float",
    AttrKind.INT: "int",
    AttrKind.STRING: "str",
    AttrKind.BOOL: "bool",
    AttrKind.TENSOR: "tensor",
    AttrKind.GRAPH: "graph",
    AttrKind.SPARSE_TENSOR: "sparse tensor",
    AttrKind.TYPE_PROTO: "type",
    AttrKind.FLOATS: "list[float]",
    AttrKind.INTS: "list[int]",
    AttrKind.STRINGS: "list[str]",
    AttrKind.BOOLS: "list[bool]",
    AttrKind.TENSORS: "list of tensors",
    AttrKind.GRAPHS: "list of graphs",
    AttrKind.SPARSE_TENSORS: "list of sparse tensors",
    AttrKind.TYPE_PROTOS: "list of types",
}


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor; None where dtype or shape are unknown.

    Example:
        >>> str(TensorType(DType.FLOAT, ("N", 3))), str(TensorType())
        ('FLOAT[N, 3]', 'Tensor')
    """

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return _show_tensor("Tensor", self.dtype, self.shape)

    @property
    def rank(self) -> int | None:
        """The number of dimensions where it is known."""
        return None if self.shape is None else len(self.shape)

    @property
    def onnx_name(self) -> str:
        """How schemas write it: `tensor(float)`; `tensor(?)` for an unknown dtype."""
        return "tensor(?)" if self.dtype is None else self.dtype.onnx_name


@functools.lru_cache(maxsize=4096)
def tensor_type(dtype: DType | None, shape: Shape | None) -> TensorType:
    """The type of a tensor; few of those of a model differ, and equal ones are one object.

    Args:
        dtype: the element type, None where it is unknown.
        shape: the shape, None where it is unknown.

    Example:
        >>> tensor_type(DType.FLOAT, (2,)) is tensor_type(DType.FLOAT, (2,))
        True
    """
    return TensorType(dtype, shape)


@dataclass(frozen=True, slots=True)
class SparseTensorType:
    """A sparse tensor; None where dtype or shape are unknown."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"Sparse[{_show_tensor('Tensor', self.dtype, self.shape)}]"

    @property
    def onnx_name(self) -> str:
        """How schemas write it: `sparse_tensor(float)`."""
        return "sparse_" + TensorType(self.dtype).onnx_name


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A sequence of values of one type; `elem` is None where that is unknown."""

    elem: OnnxType | None = None

    def __str__(self) -> str:
        return f"Sequence[{'?' if self.elem is None else self.elem}]"

    @property
    def onnx_name(self) -> str:
        """How schemas write it: `seq(tensor(float))`."""
        return f"seq({'?' if self.elem is None else self.elem.onnx_name})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value that may be absent; `elem` is None where its type is unknown."""

    elem: OnnxType | None = None

    def __str__(self) -> str:
        return f"Optional[{'?' if self.elem is None else self.elem}]"

    @property
    def onnx_name(self) -> str:
        """How schemas write it: `optional(tensor(float))`."""
        return f"optional({'?' if self.elem is None else self.elem.onnx_name})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map from keys of an integer or string type to values."""

    key: DType
    value: OnnxType | None = None

    def __str__(self) -> str:
        return f"Map[{self.key}, {'?' if self.value is None else self.value}]"

    @property
    def onnx_name(self) -> str:
        """How schemas write it: `map(string,tensor(float))`."""
        value = "?" if self.value is None else self.value.onnx_name
        return f"map({self.key.name.lower()},{value})"


OnnxType: TypeAlias = TensorType | SparseTensorType | SequenceType | OptionalType | MapType


def _show_tensor(any_name: str, dtype: DType | None, shape: Shape | None) -> str:
    name = any_name if dtype is None else dtype.name
    return name if shape is None else f"{name}[{show_shape(shape)}]"


def fits(actual: OnnxType | None, expected: OnnxType | None) -> bool:
    """Whether a value of type `actual` may be used where `expected` is asked for.

    Args:
        actual: what is known of the value; None is nothing at all.
        expected: the type asked for; None is anything.

    Returns:
        False only for a contradiction.  A value is accepted as an optional one, not
        the other way round.

    Example:
        >>> fits(TensorType(DType.FLOAT), TensorType(DType.FLOAT, ("N", 3)))
        True
        >>> fits(TensorType(DType.FLOAT), TensorType(DType.INT64))
        False
        >>> fits(TensorType(DType.FLOAT), OptionalType(TensorType(DType.FLOAT)))
        True
    """
    if actual is None or expected is None:
        return True
    if isinstance(expected, OptionalType):
        inner = actual.elem if isinstance(actual, OptionalType) else actual
        return fits(inner, expected.elem)
    if isinstance(actual, (TensorType, SparseTensorType)):
        if not isinstance(expected, type(actual)):
            return False
        same = actual.dtype is None or expected.dtype is None or actual.dtype == expected.dtype
        return same and compatible(actual.shape, expected.shape)
    if isinstance(actual, SequenceType):
        return isinstance(expected, SequenceType) and fits(actual.elem, expected.elem)
    if isinstance(actual, MapType):
        return (
            isinstance(expected, MapType)
            and actual.key == expected.key
            and fits(actual.value, expected.value)
        )
    return False


def unify_types(a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    """The most precise type that values of both types have (what holds after an `if`).

    Args:
        a: one type; None is unknown.

    Returns:
        The common type; None where they have none.

    Source:
        What ONNX asks of the outputs of the branches of `If`.

    Example:
        >>> str(unify_types(TensorType(DType.FLOAT, (2, 3)), TensorType(DType.FLOAT, (4, 3))))
        'FLOAT[None, 3]'
    """
    if a is None or b is None:
        return None
    if a == b:
        return a
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return TensorType(a.dtype if a.dtype == b.dtype else None, unify(a.shape, b.shape))
    if isinstance(a, SparseTensorType) and isinstance(b, SparseTensorType):
        return SparseTensorType(a.dtype if a.dtype == b.dtype else None, unify(a.shape, b.shape))
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        return SequenceType(unify_types(a.elem, b.elem))
    if isinstance(a, MapType) and isinstance(b, MapType) and a.key == b.key:
        return MapType(a.key, unify_types(a.value, b.value))
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner_a = a.elem if isinstance(a, OptionalType) else a
        inner_b = b.elem if isinstance(b, OptionalType) else b
        return OptionalType(unify_types(inner_a, inner_b))
    return None


def refine_types(a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    """What is known of one value when both types describe it; `a` wins contradictions.

    Args:
        a: one description; None says nothing.

    Returns:
        The combined description.

    Example:
        >>> str(refine_types(TensorType(DType.FLOAT), TensorType(None, ("N",))))
        'FLOAT[N]'
    """
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return TensorType(b.dtype if a.dtype is None else a.dtype, refine(a.shape, b.shape))
    if isinstance(a, SparseTensorType) and isinstance(b, SparseTensorType):
        return SparseTensorType(b.dtype if a.dtype is None else a.dtype, refine(a.shape, b.shape))
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        return SequenceType(refine_types(a.elem, b.elem))
    if isinstance(a, OptionalType) and isinstance(b, OptionalType):
        return OptionalType(refine_types(a.elem, b.elem))
    if isinstance(a, MapType) and isinstance(b, MapType):
        return MapType(a.key, refine_types(a.value, b.value))
    return a


def parse_onnx_name(text: str) -> OnnxType:
    """The type that a schema writes as `seq(tensor(float))`.

    Args:
        text: the type as `onnx.defs` spells it.

    Returns:
        The type, without a shape.

    Raises:
        ScriptTypeError: the text is not an ONNX type.

    Source:
        The type strings of `onnx.defs`.

    Example:
        >>> str(parse_onnx_name("optional(seq(tensor(int64)))"))
        'Optional[Sequence[INT64]]'
    """
    head, paren, rest = text.strip().partition("(")
    if not paren or not rest.endswith(")"):
        fail(NoOnnxElementType(dtype=text))
    inner = rest[:-1]
    if head == "tensor":
        return TensorType(DType.from_onnx_name(inner))
    if head == "sparse_tensor":
        return SparseTensorType(DType.from_onnx_name(inner))
    if head == "seq":
        return SequenceType(parse_onnx_name(inner))
    if head == "optional":
        return OptionalType(parse_onnx_name(inner))
    if head == "map":
        key, _, value = inner.partition(",")
        return MapType(DType.from_onnx_name(key.strip()), parse_onnx_name(value))
    fail(NoOnnxElementType(dtype=text))
