"""Reductions along axes, cumulative sums and products, and what sorts or searches along an axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import per_input
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import (
    ContradictionError,
    OpCall,
    UnknownError,
    axis_in,
    shape_operand,
)
from onnxwright.operators.record import ALWAYS, DimsRule, FoldRule, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape


def _reduce_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.attr_or_input("axes", 1)
    keep = bool(call.attr("keepdims"))
    if not axes:
        if axes is None and call.has(1):
            raise UnknownError
        if call.attr("noop_with_empty_axes", 0):
            return shape
        gone = set(range(len(shape)))
    else:
        gone = {axis_in(a, len(shape)) for a in axes}
    if keep:
        return tuple(1 if n in gone else d for n, d in enumerate(shape))
    return tuple(d for n, d in enumerate(shape) if n not in gone)


def _arg_shape(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    return (*shape[:axis], *((1,) if call.attr("keepdims") else ()), *shape[axis + 1 :])


def _top_k_types(call: OpCall) -> list[OnnxType | None]:
    kind, shape = call.tensor(0), call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    k_operand = (call.attr("k"),) if "k" in call.signature.attributes else shape_operand(call, 1)
    size = shape[axis]
    if len(k_operand) != 1:
        raise UnknownError
    k = k_operand[0]
    if type(k) is int and (k < 0 or (type(size) is int and k > size)):
        if type(size) is int:
            raise ContradictionError(f"`K` from 0 to {size}, the length of axis {axis}", k)
        raise ContradictionError("`K` that is not negative", k)
    out = (*shape[:axis], k if dims.at_least(k, 0) else None, *shape[axis + 1 :])
    types: list[OnnxType | None] = [TensorType(kind.dtype, out), TensorType(DType.INT64, out)]
    return types[: call.count]


def _reduce_dims(function: Callable[[Shape], Dim]) -> DimsRule:
    def rule(call: OpCall) -> Shape:
        dims = call.dims(0)
        axes = call.attr_or_input("axes", 1)
        if not axes and call.attr("noop_with_empty_axes", 0):
            return dims
        if not call.shape(0):
            return dims
        return (function(dims),)

    return rule


def _extreme(function: Callable[..., Dim]) -> Callable[[Shape], Dim]:
    return lambda sizes: function(*sizes) if sizes else None


def _fold_reduce(function: Callable[..., Any]) -> FoldRule:
    def rule(call: OpCall) -> Any:
        x, axes = constant(call, 0), call.attr_or_input("axes", 1)
        if x.dtype.kind not in "iu" or x.size == 0:
            raise UnknownError
        if not axes and call.attr("noop_with_empty_axes", 0):
            return x
        keep = bool(call.attr("keepdims"))
        return np.asarray(function(x, axis=axes or None, keepdims=keep)).astype(x.dtype)

    return rule


_reduces = partial(OperatorFacts, reduces=True, infer=_reduce_shape, flops=per_input(1))

FACTS = (
    OperatorFacts("ArgMax", exact_on_integers=True, infer=_arg_shape, flops=per_input(1)),
    OperatorFacts("ArgMin", exact_on_integers=True, infer=_arg_shape, flops=per_input(1)),
    OperatorFacts("CumProd", flops=per_input(1)),
    OperatorFacts(
        "CumSum", modular=True, exact_on_integers=True, infer=first_input, flops=per_input(1)
    ),
    _reduces("ReduceL1", modular=True, flops=per_input(2)),
    _reduces("ReduceL2", folding=ALWAYS, flops=per_input(2)),
    _reduces("ReduceLogSum", flops=per_input(2)),
    _reduces("ReduceLogSumExp", flops=per_input(2)),
    _reduces(
        "ReduceMax",
        exact_on_integers=True,
        dims=_reduce_dims(_extreme(dims.maximum)),
        folding=ALWAYS,
        fold=_fold_reduce(np.max),
    ),
    _reduces("ReduceMean", folding=ALWAYS),
    _reduces(
        "ReduceMin",
        exact_on_integers=True,
        dims=_reduce_dims(_extreme(dims.minimum)),
        folding=ALWAYS,
        fold=_fold_reduce(np.min),
    ),
    _reduces(
        "ReduceProd", modular=True, dims=_reduce_dims(dims.product), fold=_fold_reduce(np.prod)
    ),
    _reduces(
        "ReduceSum",
        modular=True,
        dims=_reduce_dims(dims.total),
        folding=ALWAYS,
        fold=_fold_reduce(np.sum),
    ),
    _reduces("ReduceSumSquare", modular=True, flops=per_input(2)),
    OperatorFacts("TopK", exact_on_integers=True, infer=_top_k_types),
    OperatorFacts("Unique", copies=True, droppable_outputs=True),
)

# The operators that reduce over a list of axes.
REDUCTIONS = tuple(f.name for f in FACTS if f.name.startswith("Reduce"))
