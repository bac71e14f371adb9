"""Scatter, and its kin that combine."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import (
    cast,
    full_like,
    greatest,
    least,
    number,
    scalar,
    shape_vector,
)
from onnxwright.atenlib.helpers.index_positions import as_index
from onnxwright.atenlib.helpers.scatter import into, scatter_elements, touched
from onnxwright.atenlib.helpers.shape import flat
from onnxwright.atenlib.helpers.sizes import axis_of, same_shape, static
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.types.dtypes import DType

_REDUCTIONS = {
    "add": "add",
    "multiply": "mul",
    "sum": "add",
    "prod": "mul",
    "amax": "max",
    "amin": "min",
}


_SCATTER = (
    OpTest(
        "scatter",
        xfail=[
            XFail(
                "ONNX multiplies only real numbers that meet in one place",
                dtypes=("complex64",),
                matcher=lambda s: s.kwargs.get("reduce") == "multiply",
            )
        ],
    ),
)


def _nothing(x: Value) -> bool:
    return static(x.shape) and 0 in x.shape


def _fitted(op: Op, index: Value, source: Value) -> Value:
    """The part of a source that an index has positions for."""
    if index.rank == 0 and source.rank == 0:
        return op.Unsqueeze(source, [0])
    if same_shape(index, source):
        return source
    if index.rank == 0:
        return op.Slice(flat(op, source), [0], [1])
    if source.rank == 0:
        return op.Unsqueeze(source, [0])
    return op.Slice(source, [0] * index.rank, shape_vector(op, index))


def _as_row(op: Op, x: Value) -> Value:
    return x if x.rank else op.Unsqueeze(x, [0])


def scattered(
    op: Op, x: Value, dim: int, index: Value, source: Value, reduction: str = "none"
) -> Value:
    """The elements of a source written along an axis, at an index for every place."""
    if _nothing(index):
        return x
    updates = _fitted(op, index, source)
    axis = axis_of(dim, max(x.rank, 1))
    scattered_row = scatter_elements(
        op, _as_row(op, x), _as_row(op, index), updates, axis, reduction
    )
    return scattered_row if x.rank else op.Squeeze(scattered_row, [0])


@aten("aten::scatter.src", rule=into("src"), complex="parts", tests=_SCATTER)
def scatter_src(op: Op, self: Value, dim: int, index: Value, src: Value) -> Value:
    """Elements written along a dimension, at an index for every other place."""
    return scattered(op, self, dim, index, src)


@aten("aten::scatter.value", rule=into("value"), complex="parts", tests=_SCATTER)
def scatter_value(op: Op, self: Value, dim: int, index: Value, value: Number) -> Value:
    """One number written along a dimension, at an index for every other place."""
    return scattered(op, self, dim, index, _everywhere(op, index, value, self.onnx_dtype))


def _everywhere(op: Op, index: Value, value: Value | Number, dtype: DType) -> Value:
    return full_like(op, index, value, dtype)


@aten("aten::scatter.reduce", rule=into("src"), tests=_SCATTER)
def scatter_reduce_src(
    op: Op, self: Value, dim: int, index: Value, src: Value, *, reduce: str
) -> Value:
    """Elements added or multiplied along a dimension, at an index for every other place."""
    return scattered(op, self, dim, index, src, _REDUCTIONS[reduce])


@scatter_reduce_src.on_complex
def _scatter_reduce_complex(
    op: Op, self: Complex, dim: int, index: Value, src: Complex, *, reduce: str
) -> Complex:
    if reduce != "add":
        unsupported("complex numbers that meet in one place cannot be multiplied")
    return Complex(
        scattered(op, self.real, dim, index, src.real, "add"),
        scattered(op, self.imag, dim, index, src.imag, "add"),
    )


@aten("aten::scatter.value_reduce", rule=into("value"), tests=_SCATTER)
def scatter_reduce_value(
    op: Op, self: Value, dim: int, index: Value, value: Number, *, reduce: str
) -> Value:
    """One number added or multiplied along a dimension, at an index for every other place."""
    source = _everywhere(op, index, value, self.onnx_dtype)
    return scattered(op, self, dim, index, source, _REDUCTIONS[reduce])


@aten("aten::scatter_add", rule=into("src"), complex="parts")
def scatter_add(op: Op, self: Value, dim: int, index: Value, src: Value) -> Value:
    """Elements added along a dimension, at an index for every other place."""
    return scattered(op, self, dim, index, src, "add")


@scatter_reduce_value.on_complex
def _scatter_reduce_value_complex(
    op: Op, self: Complex, dim: int, index: Value, value: Complex, *, reduce: str
) -> Complex:
    part = self.real.onnx_dtype
    source = Complex(*(_everywhere(op, index, v, part) for v in (value.real, value.imag)))
    combined_values: Complex = _scatter_reduce_complex(op, self, dim, index, source, reduce=reduce)
    return combined_values


_REDUCED = tuple(OpTest(f"scatter_reduce:{how}") for how in ("sum", "prod", "mean", "amin", "amax"))


@aten("aten::scatter_reduce.two", rule=into("src"), tests=_REDUCED)
def scatter_reduce(
    op: Op,
    self: Value,
    dim: int,
    index: Value,
    src: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    """Elements combined along a dimension, at an index for every other place."""
    if _nothing(index):
        return self
    axis = axis_of(dim, max(self.rank, 1))
    row = _as_row(op, self)
    updates = _fitted(op, index, src)
    reduced = combined(op, row, axis, _as_row(op, index), updates, reduce, include_self)
    return reduced if self.rank else op.Squeeze(reduced, [0])


@scatter_reduce.on_complex
def _scatter_reduce_two_complex(
    op: Op,
    self: Complex,
    dim: int,
    index: Value,
    src: Complex,
    reduce: str,
    *,
    include_self: bool = True,
) -> Complex:
    if reduce not in ("sum", "mean"):
        unsupported(f"`{reduce}` of complex numbers that meet in one place is not in ONNX")
    parts = [
        scatter_reduce.body(op, x, dim, index, y, reduce, include_self=include_self)
        for x, y in ((self.real, src.real), (self.imag, src.imag))
    ]
    return Complex(*parts)


def combined(
    op: Op, x: Value, axis: int, index: Value, updates: Any, reduce: str, include_self: bool
) -> Any:
    """A scatter that combines what meets in one place.

    Args:
        x: the value that is written to, of rank one or more.
        axis: the axis that `index` counts along.
        index, updates: values of one shape and of the rank of `x`.
        reduce: `"sum"`, `"prod"`, `"mean"`, `"amax"`, `"amin"`.

    Returns:
        A value like `x`; places that nothing is written to stay.
    """
    dtype = x.onnx_dtype
    if not include_self:
        neutral = scalar(op, _neutral(reduce, dtype), dtype)
        start = op.Where(touched(op, x, index, axis), neutral, x)
    else:
        start = x
    if reduce != "mean":
        return scatter_elements(op, start, index, updates, axis, _REDUCTIONS[reduce])
    computed = DType.FLOAT if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    wide, wide_updates = cast(op, start, computed), cast(op, updates, computed)
    total = scatter_elements(op, wide, index, wide_updates, axis, "add")
    ones = full_like(op, index, 1, computed)
    counts = scatter_elements(
        op, full_like(op, x, int(include_self), computed), as_index(op, index), ones, axis, "add"
    )
    if not include_self:
        counts = op.Max(counts, op.constant(np.array(1, computed.numpy)))
    return cast(op, _divided(op, total, counts, computed), dtype)


def _divided(op: Op, total: Size, counts: Any, dtype: DType) -> Value:
    if dtype.is_float:
        return op.Div(total, counts)
    quotient = op.Div(total, counts)
    if dtype.is_unsigned:
        return quotient
    # Div cuts towards zero, torch rounds down.
    rest = op.Sub(total, op.Mul(quotient, counts))
    zero = op.constant(np.array(0, dtype.numpy))
    return op.Sub(quotient, op.Cast(op.Less(rest, zero), to=dtype))


def _neutral(reduce: str, dtype: DType) -> int | float:
    values = {"amax": least(dtype), "amin": greatest(dtype), "prod": 1}
    return number(values.get(reduce, 0), dtype)
