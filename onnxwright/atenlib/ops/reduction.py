"""Reductions to sums, means, extremes and truth values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.complex_math import multiply
from onnxwright.atenlib.helpers.constants import cast, full, scalar
from onnxwright.atenlib.helpers.index_positions import truth
from onnxwright.atenlib.helpers.reduce import extreme, in_working_type, reduce, reduced_axes
from onnxwright.atenlib.helpers.shape import slice_axis
from onnxwright.atenlib.helpers.sizes import (
    count_along,
    is_known_one,
    is_known_zero,
    size,
    sizes,
    sizes_with,
)
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Arguments, Number, Op, Size, Value, is_value
from onnxwright.atenlib.rules import custom, like, reduction
from onnxwright.types.dtypes import DType


@aten(
    "aten::sum",
    "aten::sum.dim_IntList",
    "aten::_sparse_sum",
    rule=reduction(promote="bool_to_long"),
    complex="parts",
)
def sum_(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The sum over axes; integers and truth values are summed as INT64."""
    return reduce(op, "ReduceSum", self, reduced_axes(dim, self.rank), keepdim)


@aten("aten::nansum", rule=reduction(promote="bool_to_long"))
def nansum(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The sum over axes, NaN counted as zero."""
    if self.onnx_dtype.is_float:
        self = op.Where(op.IsNaN(self), scalar(op, 0, self.onnx_dtype), self)
    return reduce(op, "ReduceSum", self, reduced_axes(dim, self.rank), keepdim)


@aten("aten::mean", "aten::mean.dim", rule=reduction(), complex="parts")
def mean(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The mean over axes; NaN over nothing."""
    axes = reduced_axes(dim, self.rank)
    if not is_known_zero(count_along(op, self, axes)):
        return reduce(op, "ReduceMean", self, axes, keepdim)
    # ONNX does not define the mean of no elements.
    return op.Div(reduce(op, "ReduceSum", self, axes, keepdim), 0)


@aten("aten::nanmean", rule=reduction())
def nanmean(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The mean over axes of what is not NaN."""
    axes = reduced_axes(dim, self.rank)
    x = in_working_type(op, self)
    missing = op.IsNaN(x)
    total = reduce(
        op, "ReduceSum", op.Where(missing, scalar(op, 0, x.onnx_dtype), x), axes, keepdim
    )
    present = op.Cast(op.Not(missing), to=x.onnx_dtype)
    return op.Div(total, reduce(op, "ReduceSum", present, axes, keepdim))


@aten(
    "aten::prod",
    "aten::prod.dim_int",
    rule=reduction(promote="bool_to_long"),
    # Half types are multiplied in another order than torch does, with roundings of their own.
    tests=[OpTest("prod", tol={"float16": Tol(3e-3, 1e-3), "bfloat16": Tol(3e-2, 1e-2)})],
)
def prod(
    op: Op, self: Value, dim: int | None = None, keepdim: bool = False, dtype: DType | None = None
) -> Value:
    """The product over axes; integers and truth values are multiplied as INT64."""
    axes = reduced_axes(dim, self.rank)
    if self.onnx_dtype.is_bool:
        return reduce(op, "ReduceMin", self, axes, keepdim)
    return reduce(op, "ReduceProd", self, axes, keepdim)


@prod.on_complex
def _prod_complex(
    op: Op, self: Complex, dim: int | None = None, keepdim: bool = False, dtype: DType | None = None
) -> Complex:
    for axis in reduced_axes(dim, self.rank):
        self = _complex_product(op, self, axis)
    if keepdim or not self.rank:
        return self
    dropped = reduced_axes(dim, self.rank)
    return Complex(op.Squeeze(self.real, dropped), op.Squeeze(self.imag, dropped))


def _complex_product(op: Op, x: Complex, axis: int) -> Complex:
    """The product along one axis, which stays: halves are multiplied until one is left."""
    length = x.shape[axis]
    if not isinstance(length, int):
        return _complex_product_unknown(op, x, axis)
    if length == 0:
        shape = [1 if n == axis else s for n, s in enumerate(sizes(op, x.real))]
        part = x.real.onnx_dtype
        return Complex(full(op, shape, 1, part), full(op, shape, 0, part))
    while length > 1:
        half = length // 2
        first, second, rest = (
            Complex(slice_axis(op, x.real, axis, a, b), slice_axis(op, x.imag, axis, a, b))
            for a, b in ((0, half), (half, 2 * half), (2 * half, length))
        )
        x = multiply(op, first, second)
        if length % 2:
            x = Complex(
                op.Concat(x.real, rest.real, axis=axis), op.Concat(x.imag, rest.imag, axis=axis)
            )
        length -= half
    return x


def _complex_product_unknown(op: Op, x: Complex, axis: int) -> Complex:
    """`_complex_product` along a length that only the run knows: one after the other."""
    shape = sizes_with(op, x.real, axis, 1)
    start = [full(op, shape, n, x.real.onnx_dtype) for n in (1, 0)]

    def step(i: Any, go: Any, real: Value, imag: Value) -> tuple[Any, ...]:
        place = op.Unsqueeze(i, [0])
        next_one = Complex(*(op.Gather(part, place, axis=axis) for part in (x.real, x.imag)))
        product = multiply(op, Complex(real, imag), next_one)
        return go, product.real, product.imag

    length = size(op, x.real, axis)
    return Complex(*op.Loop(length, op.constant(np.array(True)), *start, body=step))


def _type_of_truth(arguments: Arguments) -> DType:
    """Torch keeps UINT8, which held truth values before BOOL."""
    dtype = arguments["self"].onnx_dtype
    return DType.UINT8 if dtype is DType.UINT8 else DType.BOOL


def _truth_axes(dim: int | Sequence[int] | None, rank: int, several: bool) -> list[int]:
    """As `axes_of`, but an empty list of axes reduces nothing."""
    return [] if several and dim is not None and not dim else reduced_axes(dim, rank)


def _all_or_any(op: Op, x: Value, name: str, axes: list[int], keepdim: bool) -> Value:
    """Truth values reduced; those of nothing, too, for which ONNX Runtime's BOOL has no kernel."""
    lengths = [x.shape[n] for n in axes]
    sure = all(isinstance(n, int) and n > 0 for n in lengths)
    x = truth(op, x)
    if sure:
        return reduce(op, name, x, axes, keepdim)
    flags = reduce(op, name, op.Cast(x, to=DType.UINT8), axes, keepdim)
    return op.Cast(flags, to=DType.BOOL)


@aten(
    "aten::any",
    "aten::any.dim",
    "aten::any.dims",
    "aten::_is_any_true",
    rule=custom(_type_of_truth),
    complex="same",
)
def any_(
    op: Op, self: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False
) -> Value:
    """Whether any element over axes is not zero."""
    axes = _truth_axes(dim, self.rank, isinstance(dim, (list, tuple)))
    return _all_or_any(op, self, "ReduceMax", axes, keepdim)


@aten(
    "aten::all",
    "aten::all.dim",
    "aten::all.dims",
    "aten::_is_all_true",
    rule=custom(_type_of_truth),
    complex="same",
)
def all_(
    op: Op, self: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False
) -> Value:
    """Whether all elements over axes are not zero."""
    axes = _truth_axes(dim, self.rank, isinstance(dim, (list, tuple)))
    return _all_or_any(op, self, "ReduceMin", axes, keepdim)


@aten("aten::amax", rule=like())
def amax(op: Op, self: Value, dim: int | Sequence[int] = (), keepdim: bool = False) -> Value:
    """The largest element over axes; NaN where there is one."""
    return extreme(op, self, reduced_axes(dim, self.rank), keepdim, largest=True)


@aten("aten::amin", rule=like())
def amin(op: Op, self: Value, dim: int | Sequence[int] = (), keepdim: bool = False) -> Value:
    """The smallest element over axes; NaN where there is one."""
    return extreme(op, self, reduced_axes(dim, self.rank), keepdim, largest=False)


@aten("aten::max", rule=like(), tests=[OpTest("max:reduction_no_dim")])
def max_(op: Op, self: Value) -> Value:
    """The largest of all elements; NaN if there is one."""
    return extreme(op, self, reduced_axes(None, self.rank), False, largest=True)


@aten("aten::min", rule=like(), tests=[OpTest("min:reduction_no_dim")])
def min_(op: Op, self: Value) -> Value:
    """The smallest of all elements; NaN if there is one."""
    return extreme(op, self, reduced_axes(None, self.rank), False, largest=False)


@aten("aten::aminmax", rule=like())
def aminmax(
    op: Op, self: Value, dim: int | None = None, keepdim: bool = False
) -> tuple[Value, ...]:
    """The smallest and the largest element, of all or along one axis."""
    axes = reduced_axes(dim, self.rank)
    return (
        extreme(op, self, axes, keepdim, largest=False),
        extreme(op, self, axes, keepdim, largest=True),
    )


@aten("aten::count_nonzero", "aten::count_nonzero.dim_IntList", rule=custom(), complex="same")
def count_nonzero(op: Op, self: Value, dim: int | Sequence[int] | None = None) -> Value:
    """How many elements over axes are not zero."""
    ones = op.Cast(truth(op, self), to=DType.INT64)
    return reduce(op, "ReduceSum", ones, reduced_axes(dim, self.rank), False)


@aten("aten::sum_to_size", rule=custom(), complex="parts")
def sum_to_size(op: Op, self: Value, size: Sequence[Size]) -> Value:
    """The sum over the axes along which a tensor of another shape would be broadcast."""
    new = self.rank - len(size)
    over = [
        n
        for n, length in enumerate(size, new)
        if is_known_one(length) and not is_known_one(self.shape[n])
    ]
    if (over or new or not size) and not self.onnx_dtype.is_float:
        self = cast(op, self, DType.INT64)
    summed = reduce(op, "ReduceSum", self, over, keepdim=True)
    return reduce(op, "ReduceSum", summed, list(range(new)), False)


def norm_of(op: Op, x: Value, order: float, axes: list[int], keepdim: bool) -> Value:
    """The vector norm of an order over axes.

    Args:
        order: any number; infinities mean the largest and the smallest modulus, 0 counts.
        axes: the axes, counted from the front.

    Returns:
        A value of the type of `x`.
    """
    if math.isinf(order):
        return extreme(op, op.Abs(x), axes, keepdim, largest=order > 0)
    if order == 0:
        nonzero = op.Cast(op.Cast(x, to=DType.BOOL), to=x.onnx_dtype)
        return reduce(op, "ReduceSum", nonzero, axes, keepdim)
    if order in (1, 2):
        return reduce(op, f"ReduceL{int(order)}", x, axes, keepdim)
    powers = op.Pow(op.Abs(x), scalar(op, order, x.onnx_dtype))
    return op.Pow(
        reduce(op, "ReduceSum", powers, axes, keepdim), scalar(op, 1 / order, x.onnx_dtype)
    )


def modulus(op: Op, x: Complex) -> Value:
    """The absolute value of complex numbers."""
    return op.Sqrt(op.Add(op.Mul(x.real, x.real), op.Mul(x.imag, x.imag)))


def _norm_type(arguments: Arguments) -> DType | None:
    from_argument = arguments.get("dtype") or arguments["self"].onnx_dtype
    real = {DType.COMPLEX64: DType.FLOAT, DType.COMPLEX128: DType.DOUBLE}
    return real.get(from_argument, from_argument)


# Orders of norms that one reduction computes, rounding once.
_AT_ONCE = (1.0, 2.0, math.inf, -math.inf)


def _norm(
    op: Op,
    x: Value,
    order: Any,
    dim: int | Sequence[int] | None,
    keepdim: bool,
    dtype: DType | None,
) -> Value:
    if isinstance(x, Complex):
        x = modulus(op, x)
    if dtype is not None and not dtype.is_complex:
        x = cast(op, x, dtype)
    if is_value(order):
        unsupported("a norm of an order that is known only at run time")
    axes = reduced_axes(dim, x.rank)
    if x.onnx_dtype is not DType.FLOAT16 or float(order) not in _AT_ONCE:
        x = in_working_type(op, x)
    return norm_of(op, x, float(order), axes, keepdim)


@aten(
    "aten::linalg_vector_norm",
    rule=custom(_norm_type),
    tests=[
        OpTest("linalg.vector_norm"),
        OpTest("norm"),
        OpTest("norm:fro"),
        OpTest("norm:inf"),
        OpTest("nn.functional.normalize"),
    ],
    complex="same",
)
def linalg_vector_norm(
    op: Op,
    self: Value,
    ord: Number = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The vector norm of any order over axes."""
    return _norm(op, self, ord, dim, keepdim, dtype)


@aten(
    "aten::norm.Scalar",
    rule=custom(_norm_type),
    untested="torch.norm calls linalg_vector_norm",
    complex="same",
)
def norm(op: Op, self: Value, p: Number = 2) -> Value:
    """The vector norm of all elements."""
    return _norm(op, self, p, None, False, None)


@aten(
    "aten::norm.ScalarOpt_dim",
    "aten::norm.ScalarOpt_dim_dtype",
    "aten::norm.ScalarOpt_dtype",
    rule=custom(_norm_type),
    untested="torch.norm calls linalg_vector_norm",
    complex="same",
)
def norm_dim(
    op: Op,
    self: Value,
    p: Number | None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Value:
    """The vector norm over axes; of order 2 if none is given."""
    return _norm(op, self, 2 if p is None else p, dim, keepdim, dtype)


@aten(
    "aten::frobenius_norm.dim",
    rule=custom(_norm_type),
    untested="torch.norm calls linalg_vector_norm",
    complex="same",
)
def frobenius_norm(op: Op, self: Value, dim: int | Sequence[int], keepdim: bool = False) -> Value:
    """The root of the sum of squares over axes."""
    return _norm(op, self, 2, dim, keepdim, None)
