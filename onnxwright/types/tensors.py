"""The names users annotate with: `Tensor`, one class per element type, and `Shape[...]`.

`FLOAT["N", 3]` makes (and remembers) a subclass of `FLOAT` with that shape.  The classes are never
instantiated; what type checkers see of a value annotated with them is declared here.
"""

from __future__ import annotations

import copyreg
import operator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, cast

from onnxwright.diagnostics.catalogue.annotations import BadDimension, ShapeGivenTwice
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.types.roles import BackendValue
from onnxwright.types.shapes import Dim, show_shape
from onnxwright.types.shapes import Shape as ShapeTuple


def read_shape(name: str, index: object) -> ShapeTuple | None:
    """What stands between the brackets of an annotation, as a shape.

    Args:
        name: what is being subscripted, for the message.
        index: one dimension or a tuple of them; `...` is any shape, `()` a scalar.

    Returns:
        The shape, None for `...`.

    Raises:
        ScriptValueError: something is not a dimension.

    Source:
        DESIGN section 3, type annotations.

    Example:
        >>> read_shape("FLOAT", ("N", 3)), read_shape("FLOAT", ...), read_shape("FLOAT", ())
        (('N', 3), None, ())
    """
    if index is ...:
        return None
    dims = tuple(index) if isinstance(index, (tuple, list)) else (index,)
    return tuple(_read_dim(name, dim) for dim in dims)


def _read_dim(name: str, dim: object) -> Dim:
    if dim is None or (isinstance(dim, str) and dim.strip()):
        return dim
    if not isinstance(dim, (bool, str, float)):
        try:
            number = operator.index(cast(Any, dim))
        except TypeError:
            number = -1
        if 0 <= number < 1 << 63:
            return number
    shown = "..." if dim is ... else repr(dim)
    fail(BadDimension(annotation=name, dimension=shown))


class TensorMeta(type):
    """The class of `FLOAT`: gives it brackets, a readable name and pickling."""

    # The types made of this one by brackets; False for these.
    _by_shape: dict[ShapeTuple, TensorMeta]
    _takes_shape: bool
    # NOTE: else brackets would make `for x in FLOAT` and `x in FLOAT` endless.
    __iter__ = None
    __contains__ = None

    def __getitem__(cls, index: object) -> type[Any]:
        shape = read_shape(cls.__name__, index)
        if not cls.__dict__.get("_takes_shape", True):
            fail(ShapeGivenTwice(annotation=cls.__name__, shape=show_shape(shape or ())))
        if shape is None:
            return cls
        # NOTE: 1 == True and 1 == 1.0, but only ints get this far.
        cache: dict[ShapeTuple, TensorMeta] = cls.__dict__.get("_by_shape") or {}
        made = cache.get(shape)
        if made is None:
            inside = ", ".join(repr(d) for d in shape) if shape else "()"
            made = TensorMeta(
                f"{cls.__name__}[{inside}]",
                (cls,),
                {"shape": shape, "_takes_shape": False, "__module__": cls.__module__},
            )
            cache[shape] = made
            type.__setattr__(cls, "_by_shape", cache)
        return made

    def __repr__(cls) -> str:
        return cls.__name__

    @property
    def onnx_type(cls) -> TensorType:
        """The type as data."""
        # An eager tensor class may derive from this one; its `dtype` is a property.
        dtype, shape = getattr(cls, "dtype", None), getattr(cls, "shape", None)
        return TensorType(
            dtype if isinstance(dtype, DType) else None, shape if isinstance(shape, tuple) else None
        )

    def to_type_proto(cls) -> Any:
        """The type as an `onnx.TypeProto`.

        Returns:
            A tensor type; its shape is left out when the rank is unknown.

        Raises:
            TypeError: this is `Tensor`, whose element type is unknown.

        Source:
            `TypeProto` in the ONNX IR specification.

        Example:
            >>> FLOAT["N", 3].to_type_proto().tensor_type.elem_type
            1
        """
        import onnx

        kind = cls.onnx_type
        if kind.dtype is None:
            raise TypeError(f"{cls.__name__} has no element type, so it is not an ONNX type")
        return onnx.helper.make_tensor_type_proto(int(kind.dtype), kind.shape)


def _reduce_tensor(cls: TensorMeta) -> Any:
    if cls.__dict__.get("_takes_shape", True):
        return cls.__qualname__  # an ordinary class: found by its name
    return operator.getitem, (cls.__mro__[1], cast(Any, cls).shape)


copyreg.pickle(cast(Any, TensorMeta), _reduce_tensor)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    from onnx import TensorProto
    from typing_extensions import Self


class Tensor(metaclass=TensorMeta):
    """Any tensor: an annotation without an element type; `Tensor["N", 3]` gives a shape only."""

    if TYPE_CHECKING:
        dtype: ClassVar[DType]

        @property
        def shape(self) -> Value:
            """The shape."""
            ...

        @property
        def T(self) -> Self:  # noqa: N802 - numpy's name
            """The transposed tensor."""
            ...

        @property
        def ndim(self) -> int:
            """The rank."""
            ...

        @property
        def value(self) -> Any:
            """The numpy array, in eager mode."""
            ...

        def __hash__(self) -> int: ...
        def __add__(self, other: Operand, /) -> Self: ...
        def __radd__(self, other: Operand, /) -> Self: ...
        def __sub__(self, other: Operand, /) -> Self: ...
        def __rsub__(self, other: Operand, /) -> Self: ...
        def __mul__(self, other: Operand, /) -> Self: ...
        def __rmul__(self, other: Operand, /) -> Self: ...
        def __truediv__(self, other: Operand, /) -> Self: ...
        def __rtruediv__(self, other: Operand, /) -> Self: ...
        def __floordiv__(self, other: Operand, /) -> Self: ...
        def __rfloordiv__(self, other: Operand, /) -> Self: ...
        def __mod__(self, other: Operand, /) -> Self: ...
        def __rmod__(self, other: Operand, /) -> Self: ...
        def __pow__(self, other: Operand, /) -> Self: ...
        def __rpow__(self, other: Operand, /) -> Self: ...
        def __matmul__(self, other: Operand, /) -> Self: ...
        def __rmatmul__(self, other: Operand, /) -> Self: ...
        def __and__(self, other: Operand, /) -> Self: ...
        def __rand__(self, other: Operand, /) -> Self: ...
        def __or__(self, other: Operand, /) -> Self: ...
        def __ror__(self, other: Operand, /) -> Self: ...
        def __xor__(self, other: Operand, /) -> Self: ...
        def __rxor__(self, other: Operand, /) -> Self: ...
        def __lshift__(self, other: Operand, /) -> Self: ...
        def __rlshift__(self, other: Operand, /) -> Self: ...
        def __rshift__(self, other: Operand, /) -> Self: ...
        def __rrshift__(self, other: Operand, /) -> Self: ...
        def __neg__(self) -> Self: ...
        def __pos__(self) -> Self: ...
        def __abs__(self) -> Self: ...
        def __invert__(self) -> Self: ...
        def __lt__(self, other: Operand, /) -> BOOL: ...
        def __le__(self, other: Operand, /) -> BOOL: ...
        def __gt__(self, other: Operand, /) -> BOOL: ...
        def __ge__(self, other: Operand, /) -> BOOL: ...
        def __eq__(self, other: Operand, /) -> BOOL: ...  # type: ignore[override]  # elementwise
        def __ne__(self, other: Operand, /) -> BOOL: ...  # type: ignore[override]  # elementwise
        def __getitem__(self, index: Any, /) -> Self: ...
        def __iter__(self) -> Iterator[Self]: ...
        def __len__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __round__(self, digits: int = 0, /) -> Self: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...


if TYPE_CHECKING:
    # What may stand where a tensor is wanted.
    Operand: TypeAlias = (
        Tensor
        | BackendValue
        | bool
        | int
        | float
        | complex
        | str
        | npt.NDArray[Any]
        | np.generic
        | TensorProto
        | Sequence[Any]
        | Mapping[Any, Any]
    )
else:
    Operand = Any


class FLOAT(Tensor):
    """A tensor of 32-bit floats."""

    dtype = DType.FLOAT


class DOUBLE(Tensor):
    """A tensor of 64-bit floats."""

    dtype = DType.DOUBLE


class FLOAT16(Tensor):
    """A tensor of 16-bit (half) floats."""

    dtype = DType.FLOAT16


class BFLOAT16(Tensor):
    """A tensor of brain floats of 16 bits."""

    dtype = DType.BFLOAT16


class FLOAT8E4M3FN(Tensor):
    """A tensor of 8-bit floats, 4 bits of exponent and 3 of mantissa, finite."""

    dtype = DType.FLOAT8E4M3FN


class FLOAT8E4M3FNUZ(Tensor):
    """A tensor of 8-bit floats, 4 bits of exponent and 3 of mantissa, finite, no negative zero."""

    dtype = DType.FLOAT8E4M3FNUZ


class FLOAT8E5M2(Tensor):
    """A tensor of 8-bit floats, 5 bits of exponent and 2 of mantissa."""

    dtype = DType.FLOAT8E5M2


class FLOAT8E5M2FNUZ(Tensor):
    """A tensor of 8-bit floats, 5 bits of exponent and 2 of mantissa, finite, no negative zero."""

    dtype = DType.FLOAT8E5M2FNUZ


class FLOAT8E8M0(Tensor):
    """A tensor of 8-bit floats, 8 bits of exponent and 0 of mantissa."""

    dtype = DType.FLOAT8E8M0


class FLOAT6E2M3(Tensor):
    """A tensor of 6-bit floats, 2 bits of exponent and 3 of mantissa."""

    dtype = DType.FLOAT6E2M3


class FLOAT6E3M2(Tensor):
    """A tensor of 6-bit floats, 3 bits of exponent and 2 of mantissa."""

    dtype = DType.FLOAT6E3M2


class FLOAT4E2M1(Tensor):
    """A tensor of 4-bit floats, 2 bits of exponent and 1 of mantissa."""

    dtype = DType.FLOAT4E2M1


class INT2(Tensor):
    """A tensor of signed integers of 2 bits."""

    dtype = DType.INT2


class INT4(Tensor):
    """A tensor of signed integers of 4 bits."""

    dtype = DType.INT4


class INT8(Tensor):
    """A tensor of signed integers of 8 bits."""

    dtype = DType.INT8


class INT16(Tensor):
    """A tensor of signed integers of 16 bits."""

    dtype = DType.INT16


class INT32(Tensor):
    """A tensor of signed integers of 32 bits."""

    dtype = DType.INT32


class INT64(Tensor):
    """A tensor of signed integers of 64 bits."""

    dtype = DType.INT64


class UINT2(Tensor):
    """A tensor of unsigned integers of 2 bits."""

    dtype = DType.UINT2


class UINT4(Tensor):
    """A tensor of unsigned integers of 4 bits."""

    dtype = DType.UINT4


class UINT8(Tensor):
    """A tensor of unsigned integers of 8 bits."""

    dtype = DType.UINT8


class UINT16(Tensor):
    """A tensor of unsigned integers of 16 bits."""

    dtype = DType.UINT16


class UINT32(Tensor):
    """A tensor of unsigned integers of 32 bits."""

    dtype = DType.UINT32


class UINT64(Tensor):
    """A tensor of unsigned integers of 64 bits."""

    dtype = DType.UINT64


class BOOL(Tensor):
    """A tensor of booleans."""

    dtype = DType.BOOL


class STRING(Tensor):
    """A tensor of strings."""

    dtype = DType.STRING


class COMPLEX64(Tensor):
    """A tensor of complex numbers of 64 bits."""

    dtype = DType.COMPLEX64


class COMPLEX128(Tensor):
    """A tensor of complex numbers of 128 bits."""

    dtype = DType.COMPLEX128


ANNOTATIONS: dict[DType, type[Tensor]] = {
    cls.dtype: cls
    for cls in (
        FLOAT,
        DOUBLE,
        FLOAT16,
        BFLOAT16,
        FLOAT8E4M3FN,
        FLOAT8E4M3FNUZ,
        FLOAT8E5M2,
        FLOAT8E5M2FNUZ,
        FLOAT8E8M0,
        FLOAT6E2M3,
        FLOAT6E3M2,
        FLOAT4E2M1,
        INT2,
        INT4,
        INT8,
        INT16,
        INT32,
        INT64,
        UINT2,
        UINT4,
        UINT8,
        UINT16,
        UINT32,
        UINT64,
        BOOL,
        STRING,
        COMPLEX64,
        COMPLEX128,
    )
}


class _ShapeMeta(type):
    """Gives `Shape` its brackets."""

    def __getitem__(cls, index: object) -> ShapeMark:
        return ShapeMark(read_shape("Shape", index))


class ShapeMark:
    """What `Shape["N", 3]` makes: a shape to stand in `Annotated`."""

    __slots__ = ("dims",)

    def __init__(self, dims: ShapeTuple | None) -> None:
        self.dims = dims

    def __repr__(self) -> str:
        dims = self.dims
        inside = "..." if dims is None else ", ".join(repr(d) for d in dims) if dims else "()"
        return f"Shape[{inside}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeMark) and self.dims == other.dims

    def __hash__(self) -> int:
        return hash((ShapeMark, self.dims))


class Shape(metaclass=_ShapeMeta):
    """The shape of an annotation in the form type checkers accept.

    Example:
        >>> from typing import Annotated
        >>> Annotated[FLOAT, Shape["N", 3]].__metadata__
        (Shape['N', 3],)
    """


if TYPE_CHECKING:
    # Any: a result fits wherever a tensor, a sequence or a map is declared.  Protocol: a variable
    # that held a result may take a tensor next, `y = op.Relu(x)` and then `y = x + 1`.  Numbers:
    # mypy asks the reflected method of a subclass first, so `1 - op.Exp(x)` is a `Value`.
    class Value(Tensor, int, float, complex, Protocol, Any):  # type: ignore[misc]  # checkers take both for mistakes
        """What operators return, for type checkers."""

        @property
        def value(self) -> Any:
            """What tells a tensor from a number, for the protocol."""
            ...

else:
    Value = Tensor

__all__ = [
    "ANNOTATIONS",
    "BFLOAT16",
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "DOUBLE",
    "FLOAT",
    "FLOAT4E2M1",
    "FLOAT6E2M3",
    "FLOAT6E3M2",
    "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ",
    "FLOAT8E8M0",
    "FLOAT16",
    "INT2",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "UINT2",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "Shape",
    "ShapeMark",
    "Tensor",
    "TensorMeta",
    "Value",
    "read_shape",
]
