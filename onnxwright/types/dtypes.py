"""Element types: one table of every ONNX tensor element type, its numpy twin and its kind.

Nothing here imports onnx; the numbers are those of `TensorProto.DataType`.  The exotic numpy
dtypes come from `ml_dtypes`, which is imported when one of them is asked for.
"""

from __future__ import annotations

import enum
import functools
from typing import Any, NamedTuple

import numpy as np

from onnxwright.diagnostics.catalogue.annotations import NoOnnxElementType
from onnxwright.diagnostics.diagnostic import fail


class _Facts(NamedTuple):
    """What the table knows of one element type."""

    numpy_name: str
    bits: int
    kind: str  # "f" float, "i" signed, "u" unsigned, "c" complex, "b" bool, "s" string


class DType(enum.IntEnum):
    """The element type of a tensor, numbered as in `TensorProto.DataType`.

    Example:
        >>> DType.FLOAT.numpy
        dtype('float32')
        >>> DType.from_numpy(np.int64)
        <DType.INT64: 7>
        >>> print(DType.BFLOAT16, DType.BFLOAT16.bits, DType.BFLOAT16.is_float)
        BFLOAT16 16 True
    """

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype; strings are `object`, the small types are those of `ml_dtypes`."""
        numpy_type = _NUMPY.get(self)
        if numpy_type is None:
            import ml_dtypes

            numpy_type = _NUMPY[self] = np.dtype(getattr(ml_dtypes, _TABLE[self].numpy_name))
        return numpy_type

    @property
    def bits(self) -> int:
        """The bits of one element; 0 for strings, which have no fixed size."""
        return _TABLE[self].bits

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type, of any width."""
        return _TABLE[self].kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type, signed or not (bool is not one)."""
        return _TABLE[self].kind in "iu"

    @property
    def is_signed(self) -> bool:
        """Whether negative numbers exist in it."""
        return _TABLE[self].kind in "ifc" and self is not DType.FLOAT8E8M0

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer type."""
        return _TABLE[self].kind == "u"

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex type."""
        return _TABLE[self].kind == "c"

    @property
    def is_bool(self) -> bool:
        """Whether it is BOOL."""
        return self is DType.BOOL

    @property
    def is_string(self) -> bool:
        """Whether it is STRING."""
        return self is DType.STRING

    @property
    def onnx_name(self) -> str:
        """How ONNX schemas write a tensor of it, for instance `tensor(float)`."""
        return f"tensor({self.name.lower()})"

    @classmethod
    def from_numpy(cls, dtype: Any) -> DType:
        """The element type of a numpy dtype, or of anything `numpy.dtype` takes.

        Args:
            dtype: a dtype, a scalar type such as `numpy.float32`, or a name.

        Returns:
            The matching element type; text, bytes and object arrays are STRING.

        Raises:
            ScriptTypeError: ONNX has no such type.

        Source:
            `onnx.helper`'s tables of numpy dtypes.

        Example:
            >>> DType.from_numpy("float16"), DType.from_numpy(np.dtype("<U3"))
            (<DType.FLOAT16: 10>, <DType.STRING: 8>)
        """
        try:
            numpy_dtype = np.dtype(dtype)
        except TypeError:
            fail(NoOnnxElementType(dtype=str(dtype)))
        element_type = _element_type(numpy_dtype)
        if element_type is not None:
            return element_type
        fail(NoOnnxElementType(dtype=str(numpy_dtype)))

    @classmethod
    def from_onnx_name(cls, name: str) -> DType:
        """The element type of `tensor(float)` or plain `float`, as schemas write it.

        Args:
            name: the text, with or without `tensor(...)`.

        Returns:
            The element type.

        Raises:
            ScriptTypeError: ONNX has no such type.

        Source:
            `TensorProto.DataType`, in lower case.

        Example:
            >>> DType.from_onnx_name("tensor(int64)")
            <DType.INT64: 7>
        """
        inner = name[7:-1] if name.startswith("tensor(") and name.endswith(")") else name
        dtype = _BY_ONNX_NAME.get(inner)
        if dtype is None:
            fail(NoOnnxElementType(dtype=name))
        return dtype


_TABLE: dict[DType, _Facts] = {
    DType.FLOAT: _Facts("float32", 32, "f"),
    DType.UINT8: _Facts("uint8", 8, "u"),
    DType.INT8: _Facts("int8", 8, "i"),
    DType.UINT16: _Facts("uint16", 16, "u"),
    DType.INT16: _Facts("int16", 16, "i"),
    DType.INT32: _Facts("int32", 32, "i"),
    DType.INT64: _Facts("int64", 64, "i"),
    DType.STRING: _Facts("object", 0, "s"),
    DType.BOOL: _Facts("bool", 8, "b"),
    DType.FLOAT16: _Facts("float16", 16, "f"),
    DType.DOUBLE: _Facts("float64", 64, "f"),
    DType.UINT32: _Facts("uint32", 32, "u"),
    DType.UINT64: _Facts("uint64", 64, "u"),
    DType.COMPLEX64: _Facts("complex64", 64, "c"),
    DType.COMPLEX128: _Facts("complex128", 128, "c"),
    DType.BFLOAT16: _Facts("bfloat16", 16, "f"),
    DType.FLOAT8E4M3FN: _Facts("float8_e4m3fn", 8, "f"),
    DType.FLOAT8E4M3FNUZ: _Facts("float8_e4m3fnuz", 8, "f"),
    DType.FLOAT8E5M2: _Facts("float8_e5m2", 8, "f"),
    DType.FLOAT8E5M2FNUZ: _Facts("float8_e5m2fnuz", 8, "f"),
    DType.UINT4: _Facts("uint4", 4, "u"),
    DType.INT4: _Facts("int4", 4, "i"),
    DType.FLOAT4E2M1: _Facts("float4_e2m1fn", 4, "f"),
    DType.FLOAT8E8M0: _Facts("float8_e8m0fnu", 8, "f"),
    DType.UINT2: _Facts("uint2", 2, "u"),
    DType.INT2: _Facts("int2", 2, "i"),
    DType.FLOAT6E2M3: _Facts("float6_e2m3fn", 6, "f"),
    DType.FLOAT6E3M2: _Facts("float6_e3m2fn", 6, "f"),
}

_ML_DTYPES = frozenset(dtype for dtype in DType if dtype >= DType.BFLOAT16)
# What numpy has by itself; the rest is filled as `ml_dtypes` is asked.
_NUMPY: dict[DType, np.dtype[Any]] = {
    dtype: np.dtype(facts.numpy_name) for dtype, facts in _TABLE.items() if dtype not in _ML_DTYPES
}
_BY_NUMPY_NAME: dict[str, DType] = {
    facts.numpy_name: dtype for dtype, facts in _TABLE.items() if facts.kind != "s"
}
_BY_ONNX_NAME: dict[str, DType] = {dtype.name.lower(): dtype for dtype in DType}


@functools.lru_cache(maxsize=256)
def _element_type(dtype: np.dtype[Any]) -> DType | None:
    """The element type of a numpy dtype; numpy takes long to say the name of one."""
    by_name = _BY_NUMPY_NAME.get(dtype.name)
    return DType.STRING if by_name is None and dtype.kind in "USOT" else by_name
