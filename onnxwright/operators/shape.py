"""Operators that read the shape of a tensor, or make a tensor of a given shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.operators.flops import free
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import (
    Array,
    ContradictionError,
    OpCall,
    UnknownError,
    listed,
    shape_operand,
)
from onnxwright.operators.record import OperatorFacts
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape


def _shape_shape(call: OpCall) -> Shape:
    rank = len(call.shape(0))
    start, end = call.attr("start", 0) or 0, call.attr("end", None)
    return (len(range(rank)[slice(start, end)]),)


def _size_shape(call: OpCall) -> Shape:
    call.shape(0)
    return ()


def _constant_of_shape_types(call: OpCall) -> list[OnnxType | None]:
    to = shape_operand(call, 0)
    if any(type(d) is int and d < 0 for d in to):
        raise ContradictionError("sizes that are not negative", listed(to))
    value = call.attr("value", None)
    dtype = DType.FLOAT if value is None else _element_type(value)
    return [TensorType(dtype, tuple(d if dims.at_least(d, 0) else None for d in to))]


def _element_type(value: Any) -> DType:
    """The element type of a tensor attribute: an array, a TensorProto or a tensor of onnx_ir."""
    number = getattr(value, "data_type", None)
    if number is None:
        dtype = getattr(value, "dtype", None)
        if isinstance(value, (np.ndarray, np.generic)):
            return DType.from_numpy(dtype)
        number = getattr(dtype, "value", None)
    if type(number) is not int:
        raise UnknownError
    return DType(number)


def _range_shape(call: OpCall) -> Shape:
    arrays = [a for a in call.arrays[:3] if a is not None and a.size == 1 and a.dtype != object]
    if len(arrays) == 3:
        if any(a.dtype.kind not in "iu" for a in arrays):
            raise UnknownError
        start, limit, delta = (int(a.item()) for a in arrays)
        if delta == 0:
            raise ContradictionError("a step that is not 0", delta)
        return (len(range(start, limit, delta)),)
    limits = [call.dims_if_known(n) for n in range(3)]
    numbers = [f[0] for f in limits if f is not None and len(f) == 1]
    if len(numbers) != 3:
        return (None,)
    low, high, step = numbers
    if type(step) is not int or step == 0:
        return (None,)
    span = dims.sub(high, low) if step > 0 else dims.sub(low, high)
    return (dims.ceildiv(dims.maximum(span, 0), abs(step)),)


def _shape_dims(call: OpCall) -> Shape:
    shape = call.shape(0)
    rank = len(shape)
    start, end = call.attr("start", 0) or 0, call.attr("end", None)
    start = max(start + rank, 0) if start < 0 else min(start, rank)
    end = rank if end is None else max(end + rank, 0) if end < 0 else min(end, rank)
    return shape[start:end]


def _size_dims(call: OpCall) -> Shape:
    return (dims.product(call.shape(0)),)


def _fold_shape(call: OpCall) -> Array:
    shape = constant(call, 0).shape
    return np.array(shape[slice(call.attr("start", 0) or 0, call.attr("end", None))], np.int64)


def _fold_size(call: OpCall) -> Array:
    return np.array(constant(call, 0).size, np.int64)


def _fold_range(call: OpCall) -> Array:
    start, limit, delta = (constant(call, n) for n in range(3))
    if start.dtype.kind not in "iu" or not delta.all():
        raise UnknownError
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _fold_constant_of_shape(call: OpCall) -> Array:
    value = call.attr("value", None)
    if value is None:
        fill = np.zeros((1,), np.float32)
    elif hasattr(value, "raw_data"):
        from onnx import numpy_helper

        fill = numpy_helper.to_array(value)
    else:
        fill = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return np.full(call.numbers(0), fill.reshape(-1)[0], dtype=fill.dtype)


FACTS = (
    OperatorFacts("Constant", cheap=True, flops=free),
    OperatorFacts(
        "ConstantOfShape",
        takes_sizes=True,
        correctly_rounded=True,
        cheap=True,
        infer=_constant_of_shape_types,
        fold=_fold_constant_of_shape,
        flops=free,
    ),
    OperatorFacts("EyeLike", cheap=True, needs_input_types=True, flops=free),
    OperatorFacts(
        "Range", takes_sizes=True, cheap=True, infer=_range_shape, fold=_fold_range, flops=free
    ),
    OperatorFacts(
        "Shape",
        copies=True,
        cheap=True,
        infer=_shape_shape,
        dims=_shape_dims,
        fold=_fold_shape,
        flops=free,
    ),
    OperatorFacts(
        "Size",
        copies=True,
        cheap=True,
        infer=_size_shape,
        dims=_size_dims,
        fold=_fold_size,
        flops=free,
    ),
)
