"""The names users annotate with: `Tensor`, one class per element type, and `Shape[...]`.

`FLOAT["N", 3]` makes (and remembers) a subclass of `FLOAT` with that shape.  The classes are never
instantiated; what type checkers see of a value annotated with them is declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from onnxwright.types.array_methods import ArrayMethods
from onnxwright.types.brackets import Shape, ShapeMark, TensorMeta, read_shape
from onnxwright.types.dtypes import DType
from onnxwright.types.roles import BackendValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    from onnx import TensorProto
    from typing_extensions import Self


class Tensor(ArrayMethods, metaclass=TensorMeta):
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
        def __setitem__(self, index: Any, value: Any, /) -> None: ...
        def __iter__(self) -> Iterator[Self]: ...
        def __len__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __round__(self, digits: int = 0, /) -> Self: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...


if TYPE_CHECKING:
    # What is accepted as a tensor.
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


ANNOTATIONS: dict[DType, type[Tensor]] = {cls.dtype: cls for cls in Tensor.__subclasses__()}


if TYPE_CHECKING:
    # Any: a result fits wherever a tensor, a sequence or a map is declared.  Protocol: a variable
    # that held a result may take a tensor next, `y = op.Relu(x)` and then `y = x + 1`.  Numbers:
    # mypy asks the reflected method of a subclass first, so `1 - op.Exp(x)` is a `Value`.
    class Value(Tensor, int, float, complex, Protocol, Any):  # type: ignore[misc]  # checkers take both for mistakes
        """What operators return, for type checkers."""

        @property
        def value(self) -> Any:
            """Distinguishes a tensor from a number, for the protocol."""
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
