"""Operators that read or write elements at indices: Gather, Scatter, OneHot, NonZero."""

from __future__ import annotations

import numpy as np

from onnxwright.operators.attribute_faults import batch_fault
from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import (
    Array,
    ContradictionError,
    OpCall,
    UnknownError,
    axis_in,
    listed,
    same_shape,
)
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts, moves_data
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape


def _gather_elements_shape(call: OpCall) -> Shape:
    _check_elements(call, call.shape(0), call.shape(1))
    return call.shape(1)


def _scatter_elements_shape(call: OpCall) -> Shape:
    data, indices = call.shape(0), call.shape(1)
    _check_elements(call, data, indices)
    same_shape(indices, call.shape(2), "updates")
    return data


def _check_elements(call: OpCall, data: Shape, indices: Shape) -> None:
    """Check that `indices` lies inside of `data`, along its axis by its numbers."""
    axis = axis_in(call.attr("axis"), len(data))
    if len(data) != len(indices):
        raise ContradictionError(f"indices with {len(data)} axes, as the data", listed(indices))
    for n, (limit, size) in enumerate(zip(data, indices)):
        if n != axis and type(limit) is int and type(size) is int and size > limit:
            raise ContradictionError(f"at most {limit} indices along axis {n}", size)
    _check_indices(call, data[axis])


def _check_indices(call: OpCall, size: Dim) -> None:
    """Check that indices that are known lie in an axis of `size`."""
    indices = call.arrays[1]
    if type(size) is not int or indices is None or not indices.size or indices.dtype.kind != "i":
        return
    low, high = int(indices.min()), int(indices.max())
    if low < -size or high >= size:
        raise ContradictionError(
            f"indices from {-size} to {size - 1}" if size else "no index into an empty axis",
            low if low < -size else high,
        )


def _scatter_nd_shape(call: OpCall) -> Shape:
    """Source: ONNX ScatterND: updates have indices.shape[:-1] + data.shape[indices.shape[-1]:]."""
    data, indices = call.shape(0), call.shape(1)
    depth = indices[-1] if indices else None
    if type(depth) is int:
        if depth > len(data):
            raise ContradictionError(f"indices into at most {len(data)} axes", depth)
        same_shape((*indices[:-1], *data[depth:]), call.shape(2), "updates")
    return data


def _gather_shape(call: OpCall) -> Shape:
    data, indices = call.shape(0), call.shape(1)
    axis = axis_in(call.attr("axis"), len(data))
    _check_indices(call, data[axis])
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_nd_shape(call: OpCall) -> Shape:
    """Source: ONNX GatherND: indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]."""
    data, indices = call.shape(0), call.shape(1)
    depth = indices[-1] if indices else None
    batch = call.attr("batch_dims", 0)
    if type(depth) is not int:
        raise UnknownError
    if batch + depth > len(data):
        raise ContradictionError(f"indices into at most {len(data) - batch} axes", depth)
    return (*indices[:-1], *data[batch + depth :])


def _one_hot_shape(call: OpCall) -> Shape:
    indices = call.shape(0)
    axis = axis_in(call.attr("axis"), len(indices) + 1)
    depths = call.dims_if_known(1)
    depth = depths[0] if depths is not None and len(depths) == 1 else None
    return (*indices[:axis], depth if dims.at_least(depth, 0) else None, *indices[axis:])


def _gather_dims(call: OpCall) -> Shape:
    dims = call.dims(0)
    if len(call.shape(0)) != 1:
        raise UnknownError
    return tuple(_index(dims, n) for n in call.numbers(1))


def _index(values: Shape, index: int) -> Dim:
    return values[axis_in(index, len(values))]


def _fold_gather(call: OpCall) -> Array:
    x, index, axis = constant(call, 0), constant(call, 1), call.attr("axis")
    if index.size and not (-x.shape[axis] <= index.min() and index.max() < x.shape[axis]):
        raise UnknownError
    return np.asarray(np.take(x, index, axis=axis))


FACTS = (
    moves_data("Gather", infer=_gather_shape, dims=_gather_dims, folding=ALWAYS, fold=_fold_gather),
    moves_data("GatherElements", infer=_gather_elements_shape, dims=_gather_dims),
    moves_data("GatherND", infer=_gather_nd_shape, attribute_fault=batch_fault),
    OperatorFacts("NonZero", exact_on_integers=True, flops=free),
    OperatorFacts(
        "OneHot",
        copies=True,
        infer=_one_hot_shape,
        flops=free,
    ),
    OperatorFacts(
        "Scatter",
        infer=first_input,
        flops=free,
        changes={11: Change("deprecated: ScatterElements takes its place")},
    ),
    OperatorFacts("ScatterElements", copies=True, infer=_scatter_elements_shape, flops=free),
    OperatorFacts("ScatterND", copies=True, infer=_scatter_nd_shape, flops=free),
    OperatorFacts("TensorScatter", flops=free),
)
