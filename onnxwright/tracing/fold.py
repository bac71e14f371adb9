"""Constant folding: what an operator gives for arrays that are known, if that is small and certain.

Nothing is folded where a run would fail (a division by zero, a number out of range): the node
stays, and the error with it.  Large arrays are left alone, so that no weight is made twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from onnxwright.operators import NEVER, facts
from onnxwright.operators.op_call import OpCall, UnknownError
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import size_of

Array: TypeAlias = np.ndarray[Any, Any]

# Inputs of at most this many bytes are folded, and a result may be larger by so many.
MOST_BYTES = 64 * 1024
MOST_GROWTH = 4 * 1024


def foldable(op: Op, call: OpCall) -> bool:
    """Whether the inputs of a call are all known, few, and its operator has one certain result.

    Returns:
        True where `fold` may be asked.
    """
    if facts(op.name, op.domain).folding is NEVER:
        return False
    total = 0
    for n, present in enumerate(call.present):
        if present:
            array = call.arrays[n]
            if array is None or array.dtype == object:
                return False
            total += array.nbytes
    return total <= MOST_BYTES


def fold(
    op: Op, call: OpCall, types: Sequence[OnnxType | None], attrs: Sequence[ir.Attr]
) -> list[Array] | None:
    """The arrays a call gives, of exactly the types that ONNX says.

    Args:
        op: the operator; `foldable` said yes.

    Returns:
        One array for each output; None where nothing is certain, or it is too large.
    """
    size = sum(a.nbytes for a in call.arrays if a is not None)
    if not all(_fits(kind, size) for kind in types):
        return None
    rule = facts(op.name).fold
    try:
        with np.errstate(all="ignore"):
            arrays = [np.asarray(rule(call))] if rule is not None else _reference(op, call, attrs)
    except UnknownError:
        return None
    except Exception:  # noqa: BLE001 - what fails now will fail when the model runs, and say so
        return None
    if arrays is None or len(arrays) != len(types):
        return None
    for array, kind in zip(arrays, types, strict=True):
        if not _is_of(array, kind) or array.nbytes > size + MOST_GROWTH:
            return None
    return arrays


def _fits(kind: OnnxType | None, size: int) -> bool:
    if not isinstance(kind, TensorType) or kind.dtype is None or kind.dtype is DType.STRING:
        return False
    count = size_of(kind.shape)
    return count is None or count * max(kind.dtype.bits, 8) // 8 <= size + MOST_GROWTH


def _is_of(array: Array, kind: OnnxType | None) -> bool:
    if not isinstance(kind, TensorType) or kind.dtype is None or array.dtype != kind.dtype.numpy:
        return False
    if kind.shape is None:
        return True
    return len(kind.shape) == array.ndim and all(
        not isinstance(d, int) or d == n for d, n in zip(kind.shape, array.shape, strict=True)
    )


# -- onnx.reference --------------------------------------------------------------------------------


def _has_nan(array: Array | None) -> bool:
    return array is not None and array.dtype.kind in "fV" and bool(np.isnan(array).any())


def _reference(op: Op, call: OpCall, attrs: Sequence[ir.Attr]) -> list[Array] | None:
    """What onnx's own reference implementation gives."""
    from onnx.reference import ReferenceEvaluator

    if any(a.is_ref() for a in attrs):
        return None
    record = facts(op.name)
    if not (record.elementwise or record.moves_data) and any(map(_has_nan, call.arrays)):
        return None  # which element is the largest beside a NaN, runtimes do not agree on
    names = [f"i{n}" if present else "" for n, present in enumerate(call.present)]
    node = onnx.NodeProto(
        op_type=op.name,
        input=names,
        output=[f"o{n}" for n in range(call.count)],
        attribute=[ir.to_proto(a) for a in attrs],
    )
    graph = helper.make_graph(
        [node],
        "fold",
        [onnx.ValueInfoProto(name=n) for n in names if n],
        [onnx.ValueInfoProto(name=o) for o in node.output],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", op.version)])
    feeds = {name: call.arrays[n] for n, name in enumerate(names) if name}
    return [np.asarray(x) for x in ReferenceEvaluator(model).run(None, feeds)]


def may_round(op: Op, types: Sequence[OnnxType | None]) -> bool:
    """Whether runtimes may differ in the last bit of an operator's result.

    Args:
        op: the operator, of the default domain.

    Returns:
        False for what moves elements, and for the operations of IEEE 754 in single and double
        precision; half precision is computed in a wider type by some runtimes.
    """
    kinds = [k.dtype for k in types if isinstance(k, TensorType) and k.dtype is not None]
    if facts(op.name).moves_data or not any(k.is_float for k in kinds):
        return False
    return not facts(op.name).correctly_rounded or any(k.is_float and k.bits < 32 for k in kinds)
