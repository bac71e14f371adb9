"""Arithmetic that means the same for real and complex tensors, so that a body is written once.

Every function takes values or `Complex` tensors (never a mix) and gives back the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import cast, number
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.types.dtypes import DType

# Integer types without a matrix product: INT32 wraps around as they do.
_SMALL = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.BOOL)


def each(function: Callable[..., Any], *xs: Any) -> Any:
    """Apply a linear function to values, or to the real and the imaginary parts apart.

    Args:
        function: takes as many values as there are `xs`.
        xs: values, or complex tensors.

    Returns:
        What it gives; a complex tensor of both results.

    Example:
        >>> each(lambda a, b: a + b, 1, 2)
        3
    """
    if isinstance(xs[0], Complex):
        return Complex(function(*(x.real for x in xs)), function(*(x.imag for x in xs)))
    return function(*xs)


def part_type(x: Any) -> DType:
    """The element type of a value, or of the parts of a complex tensor."""
    dtype: DType = x.real.onnx_dtype if isinstance(x, Complex) else x.onnx_dtype
    return dtype


def conj(op: Any, x: Any) -> Any:
    """The complex conjugate; a real value is its own."""
    return Complex(x.real, op.Neg(x.imag)) if isinstance(x, Complex) else x


def add(op: Any, a: Any, b: Any) -> Any:
    """The sum."""
    return each(op.Add, a, b)


def sub(op: Any, a: Any, b: Any) -> Any:
    """The difference."""
    return each(op.Sub, a, b)


def mul(op: Any, a: Any, b: Any) -> Any:
    """The product, element by element."""
    return _bilinear(op, op.Mul, a, b)


def div(op: Any, a: Any, b: Any) -> Any:
    """The quotient, element by element."""
    if not isinstance(a, Complex):
        return op.Div(a, b)
    length = op.Add(op.Mul(b.real, b.real), op.Mul(b.imag, b.imag))
    above = mul(op, a, conj(op, b))
    return Complex(op.Div(above.real, length), op.Div(above.imag, length))


def matmul(op: Any, a: Any, b: Any) -> Any:
    """The matrix product; small integers give INT32, which holds their product modulo 2**32."""
    return _bilinear(op, lambda x, y: _matmul(op, x, y), a, b)


def einsum(op: Any, equation: str, *xs: Any) -> Any:
    """An Einstein sum over one or two tensors; small integers give INT32, as in `matmul`."""

    def run(*parts: Any) -> Any:
        parts = tuple(einsum_operand(op, x) for x in parts)
        return op.Einsum(*parts, equation=equation)

    if len(xs) == 1:
        return each(run, *xs)
    return _bilinear(op, run, *xs)


def einsum_operand(op: Any, x: Any) -> Any:
    """A value in a type that Einsum takes: INT32 for small integers, FLOAT for BFLOAT16."""
    return op.Cast(x, to=DType.FLOAT) if x.onnx_dtype is DType.BFLOAT16 else widen_small(op, x)


def scale(op: Any, x: Any, factor: Any) -> Any:
    """A tensor times a Python number.

    Args:
        op: the operators.
        x: a value or a complex tensor.
        factor: a number; complex only if `x` is.

    Returns:
        The product; `x` itself for the factor 1.
    """
    if factor == 1:
        return x
    if isinstance(x, Complex):
        real, imag = complex(factor).real, complex(factor).imag
        if imag == 0:
            return Complex(op.Mul(x.real, real), op.Mul(x.imag, real))
        return Complex(
            op.Sub(op.Mul(x.real, real), op.Mul(x.imag, imag)),
            op.Add(op.Mul(x.real, imag), op.Mul(x.imag, real)),
        )
    return op.Mul(x, number(factor, x.onnx_dtype))


def transpose(op: Any, x: Any, perm: Sequence[int] | None = None) -> Any:
    """Axes in another order; the last two exchanged by default."""
    if perm is None:
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return each(lambda v: op.Transpose(v, perm=list(perm)), x)


def adjoint(op: Any, x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return conj(op, transpose(op, x))


def unsqueeze(op: Any, x: Any, axes: Sequence[int]) -> Any:
    """New axes of size one."""
    return each(lambda v: op.Unsqueeze(v, list(axes)), x)


def squeeze(op: Any, x: Any, axes: Sequence[int]) -> Any:
    """Without axes of size one."""
    return each(lambda v: op.Squeeze(v, list(axes)), x)


def reshape(op: Any, x: Any, shape: Any) -> Any:
    """The same elements in another shape (a value of rank 1 or a list of ints)."""
    return each(lambda v: op.Reshape(v, shape, allowzero=0), x)


def reduce_sum(op: Any, x: Any, axes: Sequence[int], *, keepdims: bool = False) -> Any:
    """The sum over axes."""
    # ONNX Runtime gives a wrong shape for negative axes of empty tensors.
    front = [axis_of(a, x.rank) for a in axes]
    return each(lambda v: op.ReduceSum(v, front, keepdims=int(keepdims)), x)


def widen_small(op: Any, x: Any) -> Any:
    """Small integers as INT32, in which sums and products are done; others as they are."""
    if isinstance(x, Complex) or x.onnx_dtype not in _SMALL:
        return x
    return cast(op, x, DType.INT32)


def _matmul(op: Any, a: Any, b: Any) -> Any:
    a, b = widen_small(op, a), widen_small(op, b)
    turned = _turned(op, a) if b.rank == 1 and a.rank > 1 else None
    if turned is None:
        return op.MatMul(a, b)
    # ONNX Runtime (1.31) fuses the Transpose with the product, and then takes the matrix for one
    # that is not turned if the other operand is a vector.
    node = op.backend.made_by(a, "Transpose")
    if node is not None and turned == [*range(a.rank - 2), a.rank - 1, a.rank - 2]:
        return op.MatMul(b, op.backend.value_of(node.inputs[0]))
    return op.Squeeze(op.MatMul(a, op.Unsqueeze(b, [1])), [a.rank - 1])


def _turned(op: Any, x: Any) -> list[int] | None:
    """The order of axes of the Transpose that makes a value of a graph, seen through a Cast."""
    made_by = getattr(op.backend, "made_by", None)
    if made_by is None:
        return None
    cast_node = made_by(x, "Cast")
    if cast_node is not None:
        x = op.backend.value_of(cast_node.inputs[0])
    node = made_by(x, "Transpose")
    if node is None:
        return None
    perm = node.attributes.get("perm")
    return list(range(x.rank))[::-1] if perm is None else list(perm.as_ints())


def _bilinear(op: Any, product: Callable[..., Any], a: Any, b: Any) -> Any:
    if not isinstance(a, Complex):
        return product(a, b)
    return Complex(
        op.Sub(product(a.real, b.real), product(a.imag, b.imag)),
        op.Add(product(a.real, b.imag), product(a.imag, b.real)),
    )
