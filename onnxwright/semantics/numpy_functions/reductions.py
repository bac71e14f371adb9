"""Reductions as numpy means them: sums of small integers are INT64, means of integers DOUBLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.semantics.backend import Backend, V
from onnxwright.semantics.literals import (
    cast,
    dtype_of,
    emit1,
    int_constant,
    rank_of,
    shape_of,
)
from onnxwright.semantics.numpy_functions.arguments import (
    as_float,
    axis_numbers,
    flat,
    known_dtype,
    number,
    one_axis,
    operand,
    read_dtype,
    refuse,
    size_of,
    static,
    widened,
)
from onnxwright.semantics.operands import truth
from onnxwright.types.dtypes import DType

_KERNELS = (DType.INT32, DType.INT64, DType.FLOAT16, DType.FLOAT, DType.DOUBLE)


def reduce(b: Backend[V], op: str, x: V, axes: list[int] | None, keepdims: object) -> V:
    """One ONNX reduction; no axes reduce nothing."""
    if axes == []:
        return x
    keep: dict[str, Any] = {} if static(b, "`keepdims`", keepdims) else {"keepdims": 0}
    dtype = dtype_of(b, x)
    if dtype is not None and dtype.is_integer and dtype not in _KERNELS:
        # Runtimes have kernels for the common types.  Sums and products wrap around alike.
        total = reduce(b, op, cast(b, x, DType.INT64), axes, keepdims)
        return cast(b, total, dtype)
    if b.opset.version < (13 if op == "ReduceSum" else 18):
        attributes: dict[str, Any] = {} if axes is None else {"axes": axes}
        return emit1(b, op, (x,), **attributes, **keep)
    inputs = (x,) if axes is None else (x, int_constant(b, axes))
    return emit1(b, op, inputs, **keep)


def _axes(b: Backend[V], function: str, x: V, axis: object) -> list[int] | None:
    return axis_numbers(b, function, rank_of(b, x), axis)


def _added(function: str, op: str) -> Callable[..., V]:
    def apply(
        b: Backend[V], x: object, axis: object = None, dtype: object = None, *,
        keepdims: object = False,
    ) -> V:  # fmt: skip
        value = operand(b, x)
        value = widened(b, value) if dtype is None else _as(b, function, value, dtype)
        return reduce(b, op, value, _axes(b, function, value, axis), keepdims)

    apply.__doc__ = f"ONNX {op}; BOOL and small integers as INT64 or UINT64."
    return apply


def _as(b: Backend[V], function: str, x: V, dtype: object) -> V:
    return x if dtype is None else cast(b, x, read_dtype(b, function, dtype))


sum_ = _added("sum", "ReduceSum")
prod = _added("prod", "ReduceProd")


def mean(
    b: Backend[V], x: object, axis: object = None, dtype: object = None, *,
    keepdims: object = False,
) -> V:  # fmt: skip
    """The mean; of BOOL and integers as DOUBLE."""
    value = _as(b, "mean", as_float(b, operand(b, x)), dtype)
    return reduce(b, "ReduceMean", value, _axes(b, "mean", value, axis), keepdims)


def var(
    b: Backend[V], x: object, axis: object = None, dtype: object = None, *,
    ddof: object = 0, keepdims: object = False, correction: object = None,
) -> V:  # fmt: skip
    """The variance: the mean of squared distances from the mean, over N - ddof."""
    value = _as(b, "var", as_float(b, operand(b, x)), dtype)
    less = static(b, "`ddof` of `var`", ddof if correction is None else correction)
    axes = _axes(b, "var", value, axis)
    away = emit1(b, "Sub", (value, reduce(b, "ReduceMean", value, axes, True)))
    squares = emit1(b, "Mul", (away, away))
    if not less:
        return reduce(b, "ReduceMean", squares, axes, keepdims)
    left = emit1(b, "Sub", (_count(b, value, axes), number(b, value, less)))
    left = emit1(b, "Max", (left, number(b, value, 0)))
    return emit1(b, "Div", (reduce(b, "ReduceSum", squares, axes, keepdims), left))


def _count(b: Backend[V], x: V, axes: list[int] | None) -> V:
    """How many elements are reduced to one, in the element type of `x`."""
    dtype = known_dtype(b, "var", x)
    shape = shape_of(b, x)
    if axes is None:
        if shape is not None and all(isinstance(d, int) for d in shape):
            total = int(np.prod([d for d in shape if isinstance(d, int)], dtype=np.int64))
            return b.constant(np.array(total, dtype.numpy))
        return cast(b, emit1(b, "Size", (x,)), dtype)
    count: int | V = 1
    for axis in axes:
        size = size_of(b, x, axis)
        if isinstance(count, int) and isinstance(size, int):
            count *= size
        else:
            sides = [int_constant(b, s) if isinstance(s, int) else s for s in (count, size)]
            count = emit1(b, "Mul", sides)
    value = int_constant(b, count) if isinstance(count, int) else count
    return cast(b, value, dtype)


def std(
    b: Backend[V], x: object, axis: object = None, dtype: object = None, *,
    ddof: object = 0, keepdims: object = False, correction: object = None,
) -> V:  # fmt: skip
    """The square root of the variance."""
    spread = var(b, x, axis, dtype, ddof=ddof, keepdims=keepdims, correction=correction)
    return emit1(b, "Sqrt", (spread,))


# -- largest and smallest --------------------------------------------------------------------------


def _not_empty(b: Backend[V], function: str, x: V, axes: list[int] | None) -> None:
    shape = shape_of(b, x)
    if shape is not None and any(d == 0 for n, d in enumerate(shape) if axes is None or n in axes):
        refuse(b, function, "there are no elements", "the largest of nothing is not defined")


def _extreme(function: str, op: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, axis: object = None, *, keepdims: object = False) -> V:
        value = operand(b, x)
        axes = _axes(b, function, value, axis)
        _not_empty(b, function, value, axes)
        dtype = dtype_of(b, value)
        if dtype is DType.BOOL:
            narrow = reduce(b, op, cast(b, value, DType.INT32), axes, keepdims)
            return cast(b, narrow, DType.BOOL)
        extremum = reduce(b, op, value, axes, keepdims)
        if axes == [] or (dtype is not None and not dtype.is_float):
            return extremum
        # The runtimes skip NaN, which numpy finds.
        missing = any_(b, emit1(b, "IsNaN", (value,)), axis, keepdims=keepdims)
        return emit1(b, "Where", (missing, number(b, value, float("nan")), extremum))

    apply.__doc__ = f"ONNX {op}; NaN where there is one."
    return apply


max_ = _extreme("max", "ReduceMax")
min_ = _extreme("min", "ReduceMin")


def _position(function: str, op: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, axis: object = None, *, keepdims: object = False) -> V:
        value = operand(b, x)
        if dtype_of(b, value) is DType.BOOL:
            value = cast(b, value, DType.INT32)
        elif _lacks_kernel(b, value):
            value = cast(b, value, DType.INT64)
        keep = bool(static(b, "`keepdims`", keepdims))
        if axis is None:
            _not_empty(b, function, value, None)
            rank = rank_of(b, value)
            position = _first(b, op, flat(b, value), 0, keep=False)
            if not keep:
                return position
            if rank is None:
                refuse(b, function, "the rank is not known", "give `axis=`")
            return emit1(b, "Reshape", (position, int_constant(b, [1] * rank)))
        at = one_axis(b, function, rank_of(b, value), axis)
        _not_empty(b, function, value, [at])
        return _first(b, op, value, at, keep=keep)

    apply.__doc__ = f"ONNX {op}: the first place, as INT64; of the first NaN where there is one."
    return apply


def _lacks_kernel(b: Backend[V], x: V) -> bool:
    dtype = dtype_of(b, x)
    return dtype is not None and dtype.is_integer and dtype not in _KERNELS


def _first(b: Backend[V], op: str, x: V, axis: int, *, keep: bool) -> V:
    """The first place of the largest or smallest; of the first NaN where there is one."""
    position = emit1(b, op, (x,), axis=axis, keepdims=int(keep))
    dtype = dtype_of(b, x)
    if dtype is not None and not dtype.is_float:
        return position
    missing = cast(b, emit1(b, "IsNaN", (x,)), DType.INT32)
    first = emit1(b, "ArgMax", (missing,), axis=axis, keepdims=int(keep))
    some = cast(b, reduce(b, "ReduceMax", missing, [axis], keep), DType.BOOL)
    return emit1(b, "Where", (some, first, position))


argmax = _position("argmax", "ArgMax")
argmin = _position("argmin", "ArgMin")


# -- truth -----------------------------------------------------------------------------------------


def any_(b: Backend[V], x: object, axis: object = None, *, keepdims: object = False) -> V:
    """Whether one element is true; of nothing, none is."""
    flags = cast(b, truth(b, operand(b, x)), DType.INT32)
    count_of_true = reduce(b, "ReduceSum", flags, _axes(b, "any", flags, axis), keepdims)
    return cast(b, count_of_true, DType.BOOL)


def all_(b: Backend[V], x: object, axis: object = None, *, keepdims: object = False) -> V:
    """Whether all elements are true; of nothing, all are."""
    other = emit1(b, "Not", (truth(b, operand(b, x)),))
    return emit1(b, "Not", (any_(b, other, axis, keepdims=keepdims),))


def count_nonzero(b: Backend[V], x: object, axis: object = None, *, keepdims: object = False) -> V:
    """How many elements are not zero, as INT64."""
    flags = cast(b, truth(b, operand(b, x)), DType.INT64)
    return reduce(b, "ReduceSum", flags, _axes(b, "count_nonzero", flags, axis), keepdims)


# -- cumulative ------------------------------------------------------------------------------------


def _cumulative(function: str, op: str) -> Callable[..., V]:
    def apply(b: Backend[V], x: object, axis: object = None, dtype: object = None) -> V:
        value = operand(b, x)
        value = widened(b, value) if dtype is None else _as(b, function, value, dtype)
        if axis is None:
            value = flat(b, value)
        at = 0 if axis is None else one_axis(b, function, rank_of(b, value), axis)
        if _lacks_kernel(b, value):
            wide = emit1(b, op, (cast(b, value, DType.INT64), int_constant(b, at)))
            return cast(b, wide, known_dtype(b, function, value))
        return emit1(b, op, (value, int_constant(b, at)), f"`{function}`")

    apply.__doc__ = f"ONNX {op}, in the types of `sum`."
    return apply


cumsum = _cumulative("cumsum", "CumSum")
cumprod = _cumulative("cumprod", "CumProd")


def norm(
    b: Backend[V], x: object, ord: object = None, axis: object = None, *,  # noqa: A002 - numpy's name
    keepdims: object = False,
) -> V:  # fmt: skip
    """`np.linalg.norm` of vectors: of all elements, or along one axis."""
    value = as_float(b, operand(b, x))
    kind = static(b, "`ord` of `norm`", ord)
    axes = _axes(b, "norm", value, axis)
    single = axes is not None and len(axes) == 1
    if kind is None or (kind in (1, 2) and (single or (axes is None and rank_of(b, value) == 1))):
        return reduce(b, "ReduceL1" if kind == 1 else "ReduceL2", value, axes, keepdims)
    refuse(b, "norm", f"`ord` is {kind!r}", "1 and 2 along one axis, or None, are there")
