"""Arithmetic that means the same for real and complex tensors, so that a body is written once.

Every function takes values or `Complex` tensors (never a mix) and gives back the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from typing import cast as cast_type

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import cast, number
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.protocols import GraphBackend, Number, Op, Value
from onnxwright.types.dtypes import DType

# Real or complex, and the same for all arguments of a call.
T = TypeVar("T", bound=Value)

# Integer types without a matrix product: INT32 wraps around as they do.
_SMALL = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.BOOL)


def each(function: Callable[..., Value], *xs: T) -> T:
    """Apply a linear function to values, or to the real and the imaginary parts apart.

    Args:
        function: takes as many values as there are `xs`.
        xs: values, or complex tensors.

    Returns:
        What it gives; a complex tensor of both results.

    Example:
        >>> from onnxwright.eager.tensor import wrap
        >>> import numpy as np
        >>> each(lambda a, b: a + b, wrap(np.array(1)), wrap(np.array(2)))
        Tensor(3, INT64[()])
    """
    pairs = [x for x in xs if isinstance(x, Complex)]
    if not pairs:
        return _kind_of(xs[0], function(*xs))
    result = Complex(function(*(x.real for x in pairs)), function(*(x.imag for x in pairs)))
    return _kind_of(xs[0], result)


def _kind_of(_: T, result: Value) -> T:
    """What was made of `x`: real or complex, as `x` is."""
    return cast_type("T", result)


def part_type(x: Value) -> DType:
    """The element type of a value, or of the parts of a complex tensor."""
    dtype: DType = x.real.onnx_dtype if isinstance(x, Complex) else x.onnx_dtype
    return dtype


def conj(op: Op, x: T) -> T:
    """The complex conjugate; a real value is its own."""
    return _kind_of(x, Complex(x.real, op.Neg(x.imag))) if isinstance(x, Complex) else x


def add(op: Op, a: T, b: T) -> T:
    """The sum."""
    return each(op.Add, a, b)


def sub(op: Op, a: T, b: T) -> T:
    """The difference."""
    return each(op.Sub, a, b)


def mul(op: Op, a: T, b: T) -> T:
    """The product, element by element."""
    return _bilinear(op, op.Mul, a, b)


def div(op: Op, a: T, b: T) -> T:
    """The quotient, element by element."""
    if not (isinstance(a, Complex) and isinstance(b, Complex)):
        return _kind_of(a, op.Div(a, b))
    length = op.Add(op.Mul(b.real, b.real), op.Mul(b.imag, b.imag))
    above = mul(op, a, conj(op, b))
    return _kind_of(a, Complex(op.Div(above.real, length), op.Div(above.imag, length)))


def matmul(op: Op, a: T, b: T) -> T:
    """The matrix product; small integers give INT32, which holds their product modulo 2**32."""
    return _bilinear(op, lambda x, y: _matmul(op, x, y), a, b)


def einsum(op: Op, equation: str, *xs: T) -> T:
    """An Einstein sum over one or two tensors; small integers give INT32, as in `matmul`."""

    def run(*parts: Value) -> Value:
        return op.Einsum(*(einsum_operand(op, x) for x in parts), equation=equation)

    if len(xs) == 1:
        return each(run, *xs)
    return _bilinear(op, run, *xs)


def einsum_operand(op: Op, x: Value) -> Value:
    """A value in a type that Einsum takes: INT32 for small integers, FLOAT for BFLOAT16."""
    return op.Cast(x, to=DType.FLOAT) if x.onnx_dtype is DType.BFLOAT16 else widen_small(op, x)


def scale(op: Op, x: T, factor: Number) -> T:
    """A tensor times a Python number.

    Args:
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
            return _kind_of(x, Complex(op.Mul(x.real, real), op.Mul(x.imag, real)))
        product = Complex(
            op.Sub(op.Mul(x.real, real), op.Mul(x.imag, imag)),
            op.Add(op.Mul(x.real, imag), op.Mul(x.imag, real)),
        )
        return _kind_of(x, product)
    return _kind_of(x, op.Mul(x, number(factor, x.onnx_dtype)))


def transpose(op: Op, x: T, perm: Sequence[int] | None = None) -> T:
    """Axes in another order; the last two exchanged by default."""
    if perm is None:
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return each(lambda v: op.Transpose(v, perm=list(perm)), x)


def adjoint(op: Op, x: T) -> T:
    """The conjugate transpose of matrices."""
    return conj(op, transpose(op, x))


def unsqueeze(op: Op, x: T, axes: Sequence[int]) -> T:
    """New axes of size one."""
    return each(lambda v: op.Unsqueeze(v, list(axes)), x)


def squeeze(op: Op, x: T, axes: Sequence[int]) -> T:
    """Without axes of size one."""
    return each(lambda v: op.Squeeze(v, list(axes)), x)


def reshape(op: Op, x: T, shape: Value | Sequence[int]) -> T:
    """The same elements in another shape (a value of rank 1 or a list of ints)."""
    return each(lambda v: op.Reshape(v, shape, allowzero=0), x)


def reduce_sum(op: Op, x: T, axes: Sequence[int], *, keepdims: bool = False) -> T:
    """The sum over axes."""
    # ONNX Runtime gives a wrong shape for negative axes of empty tensors.
    front = [axis_of(a, x.rank) for a in axes]
    return each(lambda v: op.ReduceSum(v, front, keepdims=int(keepdims)), x)


def widen_small(op: Op, x: T) -> T:
    """Small integers as INT32, in which sums and products are done; others as they are."""
    if isinstance(x, Complex) or x.onnx_dtype not in _SMALL:
        return x
    return _kind_of(x, cast(op, x, DType.INT32))


def _matmul(op: Op, a: Value, b: Value) -> Value:
    a, b = widen_small(op, a), widen_small(op, b)
    product = _turned(op, a) if b.rank == 1 and a.rank > 1 else None
    if product is None:
        return op.MatMul(a, b)
    backend, turned = product
    # ONNX Runtime (1.31) fuses the Transpose with the product, and then takes the matrix for one
    # that is not turned if the other operand is a vector.
    node = backend.made_by(a, "Transpose")
    if node is not None and turned == [*range(a.rank - 2), a.rank - 1, a.rank - 2]:
        return op.MatMul(b, backend.value_of(node.inputs[0]))
    return op.Squeeze(op.MatMul(a, op.Unsqueeze(b, [1])), [a.rank - 1])


def _turned(op: Op, x: Value) -> tuple[GraphBackend, list[int]] | None:
    """The order of axes of the Transpose that makes a value of a graph, seen through a Cast."""
    backend = op.backend
    if not hasattr(backend, "made_by"):
        return None
    graph: GraphBackend = backend  # type: ignore[assignment] # only a graph knows its nodes
    cast_node = graph.made_by(x, "Cast")
    if cast_node is not None:
        x = graph.value_of(cast_node.inputs[0])
    node = graph.made_by(x, "Transpose")
    if node is None:
        return None
    perm = node.attributes.get("perm")
    return graph, list(range(x.rank))[::-1] if perm is None else list(perm.as_ints())


def _bilinear(op: Op, product: Callable[[Value, Value], Value], a: T, b: T) -> T:
    if not (isinstance(a, Complex) and isinstance(b, Complex)):
        return _kind_of(a, product(a, b))
    result = Complex(
        op.Sub(product(a.real, b.real), product(a.imag, b.imag)),
        op.Add(product(a.real, b.imag), product(a.imag, b.real)),
    )
    return _kind_of(a, result)
