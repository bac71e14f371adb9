"""Triangles of matrices, and the matrices of Vandermonde."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType


def _trilu(op: Op, x: Value, diagonal: Any, upper: int) -> Value:
    if isinstance(diagonal, int) and diagonal == 0:
        return op.Trilu(x, upper=upper)
    return op.Trilu(x, scalar(op, diagonal, DType.INT64), upper=upper)


@aten("aten::tril", rule=like(), complex="parts")
def tril(op: Op, self: Value, diagonal: Size = 0) -> Value:
    """The matrices with zeros above a diagonal."""
    return _trilu(op, self, diagonal, 0)


@aten("aten::triu", rule=like(), complex="parts")
def triu(op: Op, self: Value, diagonal: Size = 0) -> Value:
    """The matrices with zeros below a diagonal."""
    return _trilu(op, self, diagonal, 1)


def _index_type(arguments: Arguments) -> DType:
    # torch's schema has the number of its INT64 as the default.
    if not isinstance(arguments["dtype"], DType):
        arguments["dtype"] = DType.INT64
    dtype: DType = arguments["dtype"]
    return dtype


@aten("aten::tril_indices", rule=custom(_index_type))
def tril_indices(
    op: Op, row: int, col: int, offset: int = 0, *, dtype: DType | int | None = 4
) -> Value:
    """The positions on and below a diagonal, row by row, as two rows."""
    return _indices(op, row, col, offset, 0, dtype)


@aten("aten::triu_indices", rule=custom(_index_type))
def triu_indices(
    op: Op, row: int, col: int, offset: int = 0, *, dtype: DType | int | None = 4
) -> Value:
    """The positions on and above a diagonal, row by row, as two rows."""
    return _indices(op, row, col, offset, 1, dtype)


def _indices(
    op: Op, row: Size, col: Size, offset: int, upper: int, dtype: DType | int | None
) -> Value:
    """`[2, count]`: the rows and the columns of one triangle."""
    assert isinstance(dtype, DType)  # the rule fills it in
    places = op.NonZero(_trilu(op, full(op, [row, col], 1, DType.INT64), offset, upper))
    if isinstance(row, int) and isinstance(col, int):
        above = [min(max(n + offset + 1 - upper, 0), col) for n in range(row)]
        count = row * col - sum(above) if upper else sum(above)
        places = op.Reshape(places, [2, count])
    return cast(op, places, dtype)


def _powers_type(arguments: Arguments) -> DType:
    """Integers are INT64, as in torch's cumprod."""
    own: DType = arguments["x"].onnx_dtype
    return own if own.is_float or own.is_complex else DType.INT64


_POWERS = custom(_powers_type)


@aten("aten::vander", rule=_POWERS, untested="tests/atenlib/test_tril_triu.py", complex="same")
def vander(op: Op, x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """The powers of each element, as rows, the highest first unless `increasing`."""
    return powers(op, x, N, increasing)


@aten("aten::linalg_vander", rule=_POWERS, tests=[OpTest("linalg.vander")], complex="same")
def linalg_vander(op: Op, x: Value, *, N: Size | None = None) -> Value:
    """The powers of each element from 0 on, in a new last dimension."""
    return powers(op, x, N, increasing=True)


def powers(op: Op, x: Value, count: Size | None, increasing: bool) -> Value:
    """The powers from 0 to `count - 1` (the size of the last dimension without it)."""
    if real_part(x).rank == 0:
        x = algebra.each(lambda part: op.Unsqueeze(part, [0]), x)
    part = real_part(x)
    n = size(op, part, -1) if count is None else count
    if isinstance(x, Complex):
        if not isinstance(n, int):
            unsupported("the number of powers of complex numbers is known only to the run")
        return _complex_powers(op, x, n, increasing)
    exponents = iota(op, n)
    if not increasing:
        exponents = op.Sub(scalar(op, arithmetic(op, "Sub", n, 1), DType.INT64), exponents)
    base = op.Unsqueeze(x, [-1])
    if x.onnx_dtype.is_integer or x.onnx_dtype.is_bool:
        return op.Pow(cast(op, base, DType.INT64), exponents)
    return op.Pow(base, cast(op, exponents, x.onnx_dtype))


def _complex_powers(op: Op, x: Complex, n: int, increasing: bool) -> Value:
    """Powers by repeated multiplication."""
    if n == 0:
        return algebra.each(lambda part: op.Slice(op.Unsqueeze(part, [-1]), [0], [0], [-1]), x)
    ones = op.Add(op.Mul(x.real, 0.0), 1.0)
    powers = [(ones, op.Mul(x.real, 0.0))]
    for _ in range(1, n):
        a, b = powers[-1]
        powers.append(
            (
                op.Sub(op.Mul(a, x.real), op.Mul(b, x.imag)),
                op.Add(op.Mul(a, x.imag), op.Mul(b, x.real)),
            )
        )
    if not increasing:
        powers.reverse()
    reals, imags = zip(*powers, strict=True)
    return Complex(
        op.Concat(*(op.Unsqueeze(r, [-1]) for r in reals), axis=-1),
        op.Concat(*(op.Unsqueeze(i, [-1]) for i in imags), axis=-1),
    )
