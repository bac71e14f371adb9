"""Which element type an operation computes in: PyTorch's type promotion as pure functions.

An operand is a tensor with dimensions, a tensor without, or a Python number; a weaker kind of
operand decides the type only where its category (bool, integer, float, complex) is higher.
Source: PyTorch, "Type promotion" (torch.result_type, torch.promote_types).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Literal

from onnxwright.types.dtypes import DType

Strength = Literal["tensor", "zerodim", "number"]
Operand = tuple[DType, Strength]
Promotion = Literal[
    "default", "int_to_float", "always_bool", "complex_to_float", "bool_to_long", "none"
]

_REAL_OF = {DType.COMPLEX64: DType.FLOAT, DType.COMPLEX128: DType.DOUBLE}
_FLOAT_ORDER = (DType.FLOAT16, DType.FLOAT, DType.DOUBLE)


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex type; any other type itself.

    Example:
        >>> real_of(DType.COMPLEX64).name, real_of(DType.INT8).name
        ('FLOAT', 'INT8')
    """
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex type whose parts have this type (COMPLEX64 for anything but DOUBLE).

    Example:
        >>> complex_of(DType.DOUBLE).name, complex_of(DType.FLOAT16).name
        ('COMPLEX128', 'COMPLEX64')
    """
    if dtype.is_complex:
        return dtype
    return DType.COMPLEX128 if dtype is DType.DOUBLE else DType.COMPLEX64


@functools.cache
def promote_types(a: DType, b: DType) -> DType:
    """The smallest type that holds both, by PyTorch's table.

    Raises:
        ValueError: PyTorch has no common type for them (strings; wide unsigned with signed).

    Source: torch.promote_types.

    Example:
        >>> promote_types(DType.UINT8, DType.INT8).name
        'INT16'
        >>> (
        ...     promote_types(DType.FLOAT16, DType.BFLOAT16).name,
        ...     promote_types(DType.INT64, DType.FLOAT16).name,
        ... )
        ('FLOAT', 'FLOAT16')
    """
    if a is b or b.is_bool:
        return a
    if a.is_bool:
        return b
    if a.is_string or b.is_string:
        raise ValueError(f"{a.name} and {b.name} have no common type")
    if a.is_complex or b.is_complex:
        return complex_of(promote_types(real_of(a), real_of(b)))
    if a.is_float and b.is_float:
        if DType.BFLOAT16 in (a, b):
            other = b if a is DType.BFLOAT16 else a
            return DType.FLOAT if other is DType.FLOAT16 else other
        return max(a, b, key=_FLOAT_ORDER.index)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return _promote_integers(a, b)


def _promote_integers(a: DType, b: DType) -> DType:
    if a.is_unsigned == b.is_unsigned:
        return max(a, b, key=lambda d: d.bits)
    unsigned, signed = (a, b) if a.is_unsigned else (b, a)
    if unsigned is not DType.UINT8:
        raise ValueError(f"{a.name} and {b.name} have no common type in PyTorch")
    return DType.INT16 if signed is DType.INT8 else signed


def _category(dtype: DType) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_float:
        return 2
    return 0 if dtype.is_bool else 1


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """What a stronger kind of operand makes of a weaker one."""
    if higher is None or lower is None:
        return higher if lower is None else lower
    if _category(higher) >= _category(lower):
        return higher
    if higher.is_float:  # the weaker is complex: keep the width of the stronger
        return complex_of(higher)
    return promote_types(higher, lower)


def result_type(operands: Iterable[Operand]) -> DType:
    """The type in which operands are computed together.

    Args:
        operands: element type and strength of each; a Python number has the type its kind stands
            for (BOOL, INT64, FLOAT, COMPLEX64).

    Raises:
        ValueError: there is no operand, or they have no common type.

    Source: torch.result_type.

    Example:
        >>> result_type([(DType.INT32, "tensor"), (DType.FLOAT, "number")]).name
        'FLOAT'
        >>> result_type([(DType.FLOAT16, "tensor"), (DType.DOUBLE, "zerodim")]).name
        'FLOAT16'
    """
    dtypes: dict[str, DType | None] = {"tensor": None, "zerodim": None, "number": None}
    for dtype, strength in operands:
        before = dtypes[strength]
        dtypes[strength] = dtype if before is None else promote_types(before, dtype)
    result = _combine(dtypes["tensor"], _combine(dtypes["zerodim"], dtypes["number"]))
    if result is None:
        raise ValueError("no operand has a type")
    return result


def compute_type(promotion: Promotion, operands: Iterable[Operand]) -> DType:
    """The type operands are cast to before an operation of a category of promotion.

    Args:
        operands: as for `result_type`.

    Raises:
        ValueError: as `result_type`.

    Source: torch's elementwise promotion kinds (torch._prims_common).

    Example:
        >>> compute_type("int_to_float", [(DType.INT64, "tensor")]).name
        'FLOAT'
    """
    common = result_type(operands)
    if promotion == "int_to_float" and _category(common) < 2:
        return DType.FLOAT
    if promotion == "bool_to_long" and common.is_bool:
        return DType.INT64
    return common


def output_type(promotion: Promotion, computed: DType) -> DType:
    """The type of the result of an operation computed in a type.

    Example:
        >>> output_type("always_bool", DType.FLOAT).name
        'BOOL'
        >>> output_type("complex_to_float", DType.COMPLEX64).name
        'FLOAT'
    """
    if promotion == "always_bool":
        return DType.BOOL
    return real_of(computed) if promotion == "complex_to_float" else computed
