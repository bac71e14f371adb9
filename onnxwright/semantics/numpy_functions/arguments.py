"""Arguments of numpy's functions: operands, axes, shapes, element types, as numpy writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import numpy_functions as messages
from onnxwright.diagnostics.catalogue import ops, types
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.operators import facts
from onnxwright.semantics.backend import Backend, Promotable, V, is_value
from onnxwright.semantics.literals import (
    as_value,
    cast,
    concat,
    describe,
    dtype_of,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
    vector,
)
from onnxwright.semantics.operands import is_strong
from onnxwright.types.dtypes import DType


def operand(b: Backend[V], x: object) -> V:
    """An argument as a tensor with an element type of its own."""
    return as_value(b, x)


def operands(b: Backend[V], name: str, items: Sequence[object]) -> list[V]:
    """Arguments as tensors of one element type: numbers take the type of the tensors beside them.

    Raises:
        ScriptTypeError: two of them have different types (OW401).
    """
    strong = [i for i in items if is_strong(b, i)]
    like = as_value(b, strong[0]) if strong else None
    if like is None:
        dtype = np.result_type(*[_default(b, i) for i in items])
        return [cast(b, as_value(b, i), DType.from_numpy(dtype)) for i in items]
    values = [like if i is strong[0] else as_value(b, i, like=like) for i in items]
    dtypes = {d.name: d for d in (dtype_of(b, v) for v in values) if d is not None}
    if len(dtypes) > 1:
        left, right = list(dtypes)[:2]
        fail(types.MixedTypes(operation=name, left=left, right=right, span=b.here()))
    return values


def _default(b: Backend[V], x: object) -> np.dtype[Any]:
    dtype = dtype_of(b, as_value(b, x))
    return np.dtype(np.float32) if dtype is None else dtype.numpy


def refuse(b: Backend[V], function: str, reason: str, advice: str) -> NoReturn:
    """Refuse arguments that numpy or ONNX does not have.

    Raises:
        ScriptTypeError: always (OW867).
    """
    fail(messages.NumpyArguments(name=function, reason=reason, advice=advice, span=b.here()))


def static(b: Backend[V], what: str, x: object) -> Any:
    """A Python object; a value that is known now is what it holds.

    Raises:
        StaticTypeError: it is known only when the model runs (OW534).
    """
    if isinstance(x, (list, tuple)):
        return type(x)(static(b, what, item) for item in x)
    constant = None
    if is_value(x):
        constant = b.constant_value(x)
    elif isinstance(x, np.ndarray):
        constant = x
    elif not isinstance(x, Promotable):
        return x.item() if isinstance(x, np.generic) else x
    if constant is None:
        advice = "numpy's functions take it as a number known when compiling"
        fail(ops.ValueNeededNow(what=what, advice=advice, span=b.here()))
    return constant.item() if constant.ndim == 0 else constant.tolist()


def axis_numbers(b: Backend[V], function: str, rank: int | None, axis: object) -> list[int] | None:
    """The axes of `axis=`; None for all of them.

    They are counted from the start where the rank is known.

    Raises:
        ScriptTypeError: they are not integers, or appear twice (OW867).
        ScriptValueError: the axis is out of range (OW866).
    """
    numbers = static(b, f"`axis` of `{function}`", axis)
    if numbers is None:
        return None
    many = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]
    axes: list[int] = []
    for one in many:
        if isinstance(one, bool) or not isinstance(one, int):
            advice = "an axis is an integer, or a tuple of integers"
            refuse(b, function, f"`axis` is {describe(one)}", advice)
        if rank is not None and not -rank <= one < rank:
            fail(messages.NoSuchAxis(name=function, axis=one, rank=rank, span=b.here()))
        axes.append(one % rank if rank else one)
    if len(set(axes)) != len(axes):
        refuse(b, function, "an axis is given twice", "name each axis once")
    return axes


def one_axis(b: Backend[V], function: str, rank: int | None, axis: object) -> int:
    """The one axis of `axis=`, counted from the start where the rank is known."""
    axes = axis_numbers(b, function, rank, axis)
    if axes is None or len(axes) != 1:
        refuse(b, function, f"`axis` is {describe(axis)}", "give one integer")
    return axes[0]


def known_rank(b: Backend[V], function: str, x: V) -> int:
    """The rank of a value.

    Raises:
        ScriptTypeError: it is not known (OW414).
    """
    rank = rank_of(b, x)
    if rank is None:
        fail(types.UnknownRank(what=f"`{function}`", span=b.here()))
    return rank


def known_dtype(b: Backend[V], function: str, x: V) -> DType:
    """The element type of a value.

    Raises:
        ScriptTypeError: it is not known (OW408).
    """
    dtype = dtype_of(b, x)
    if dtype is None:
        fail(types.UnknownElementType(operation=function, span=b.here()))
    return dtype


def read_dtype(b: Backend[V], function: str, dtype: Any) -> DType:
    """An element type: a `DType`, an annotation such as `FLOAT`, or what numpy takes.

    Raises:
        ScriptTypeError: it is none (OW867).
    """
    if isinstance(dtype, DType):
        return dtype
    declared = getattr(dtype, "dtype", None) if isinstance(dtype, type) else None
    if isinstance(declared, DType):
        return declared
    try:
        return DType.from_numpy(dtype)
    except (TypeError, ValueError):
        advice = "give a numpy dtype such as `np.float32`, or a type such as `FLOAT`"
        refuse(b, function, f"{describe(dtype)} is not an element type", advice)


def size_of(b: Backend[V], x: V, axis: int) -> int | V:
    """The size of an axis: a number where known, else a scalar INT64 value."""
    shape = shape_of(b, x)
    size = None if shape is None else shape[axis]
    if isinstance(size, int):
        return size
    return gather(b, emit1(b, "Shape", (x,)), int_constant(b, axis))


def flat(b: Backend[V], x: V) -> V:
    """The elements in order, along one axis."""
    return x if rank_of(b, x) == 1 else emit1(b, "Reshape", (x, int_constant(b, [-1])))


def shape_vector(b: Backend[V], function: str, shape: object, of: V | None = None) -> V:
    """A shape as an INT64 vector: numbers, values, a vector, or names of dimensions of `of`."""
    if isinstance(shape, Promotable):
        return cast(b, as_value(b, shape), DType.INT64)
    if is_value(shape):
        whole = b.as_weak(shape, None)
        if rank_of(b, whole) != 0:
            return cast(b, whole, DType.INT64)
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    parts = []
    for size in sizes:
        part = _dimension(b, function, size, of)
        parts.append(part)
    numbers = [p for p in parts if isinstance(p, int)]
    if len(numbers) == len(parts):
        return int_constant(b, numbers)
    return concat(b, [vector(b, p) for p in parts], axis=0)


def _dimension(b: Backend[V], function: str, size: Any, of: V | None) -> int | V:
    if isinstance(size, Promotable):
        return as_value(b, size, dtype=DType.INT64)
    if is_value(size):
        size_array = b.constant_value(size)
        value: V = size
        return int(size_array.item()) if size_array is not None and size_array.size == 1 else value
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        return int(size)
    named = None if of is None else shape_of(b, of)
    if of is not None and named is not None and isinstance(size, str) and size in named:
        return size_of(b, of, named.index(size))
    advice = "a shape has integers, -1 for one that follows, and sizes such as `x.shape[0]`"
    refuse(b, function, f"{describe(size)} is not a size", advice)


def run_on(b: Backend[V], name: str, x: V, inputs: Sequence[V], **attributes: object) -> V:
    """An operator on BOOL or integers; by way of INT64 where ONNX Runtime has no kernel for them.

    Args:
        b: the backend.
        name: the operator; what it does is the same in each integer type, rounded off to its bits.
        x: the input whose element type is the one of the result.
        inputs: all inputs; those of the type of `x` are converted with it.
        attributes: its attributes.
    """
    dtype = dtype_of(b, x)
    if dtype is None or dtype.is_float or dtype.is_complex or facts(name).has_kernel(dtype):
        return emit1(b, name, inputs, f"`{name}`", **attributes)
    wide = [cast(b, v, DType.INT64) if dtype_of(b, v) is dtype else v for v in inputs]
    return cast(b, emit1(b, name, wide, f"`{name}`", **attributes), dtype)


def widened(b: Backend[V], x: V) -> V:
    """BOOL and integers in the type that numpy adds and multiplies them in."""
    dtype = dtype_of(b, x)
    if dtype is None or not (dtype.is_integer or dtype is DType.BOOL):
        return x
    return cast(b, x, DType.UINT64 if dtype.is_unsigned else DType.INT64)


def as_float(b: Backend[V], x: V) -> V:
    """BOOL and integers as DOUBLE, as numpy's means have it; floats as they are."""
    dtype = dtype_of(b, x)
    if dtype is None or dtype.is_float or dtype.is_complex:
        return x
    return cast(b, x, DType.DOUBLE)


def number(b: Backend[V], x: V, value: float) -> V:
    """A constant of the element type of `x`; of BOOL, whether it is not zero."""
    return as_value(b, bool(value) if dtype_of(b, x) is DType.BOOL else value, like=x)
