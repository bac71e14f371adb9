"""Output shapes of common operators, with names: what ONNX's inference leaves open or does slowly.

A rule gives the shape of the first output, or the types of all.  It raises `UnknownError` where it
cannot say, and where the inputs contradict each other: ONNX's inference then has the word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.ir import moving_rules
from onnxwright.ir.moving_rules import Rule, joined, wanted
from onnxwright.operators.op_call import OpCall, UnknownError, axis_in, same
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape

# -- elementwise -----------------------------------------------------------------------------------


def _first(call: OpCall) -> Shape:
    """The shape of the first input."""
    return call.shape(0)


def _second(call: OpCall) -> Shape:
    """The shape of the second input."""
    call.shape(0)
    return call.shape(1)


def _all_inputs(call: OpCall) -> Shape:
    """The broadcast of all inputs."""
    if len(call.types) == 1:
        return call.shape(0)
    return joined(*map(call.shape, range(len(call.types))))


def _along_axis(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis_in(call.attr("axis"), len(shape))
    return shape


def _square(call: OpCall) -> Shape:
    shape = call.shape(0)
    if len(shape) < 2:
        raise UnknownError
    return shape


def _dropout(call: OpCall) -> list[OnnxType | None]:
    kind = call.tensor(0)
    types: list[OnnxType | None] = [kind, TensorType(DType.BOOL, call.shape(0))]
    return types[: call.count]


def _layer_norm(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis_in(call.attr("axis"), len(shape))
    if call.count != 1:
        raise UnknownError
    return shape


# -- products --------------------------------------------------------------------------------------


def _matmul(call: OpCall) -> Shape:
    a, b = call.shape(0), call.shape(1)
    if not a or not b:
        raise UnknownError
    left = (1, *a) if len(a) == 1 else a
    right = (*b, 1) if len(b) == 1 else b
    same(left[-1], right[-2])
    shape = joined(left[:-2], right[:-2]) if len(left) > 2 or len(right) > 2 else ()
    rows = () if len(a) == 1 else (left[-2],)
    columns = () if len(b) == 1 else (right[-1],)
    return (*shape, *rows, *columns)


def _gemm(call: OpCall) -> Shape:
    a, b = call.shape(0), call.shape(1)
    if len(a) != 2 or len(b) != 2:
        raise UnknownError
    if call.attr("transA"):
        a = a[::-1]
    if call.attr("transB"):
        b = b[::-1]
    same(a[1], b[0])
    return (a[0], b[1])


def _attention(call: OpCall) -> list[OnnxType | None]:
    """Source: ONNX Attention, version 23; its own inference takes a named dimension for 0."""
    q, k, v = call.shape(0), call.shape(1), call.shape(2)
    kinds = [call.tensor(n).dtype for n in range(3)]
    if len(q) == len(k) == len(v) == 3:
        heads, groups = call.attr("q_num_heads", None), call.attr("kv_num_heads", None)
        if not heads or not groups:
            raise UnknownError
        q = (q[0], heads, q[1], dims.floordiv(q[2], heads))
        k = (k[0], groups, k[1], dims.floordiv(k[2], groups))
        v = (v[0], groups, v[1], dims.floordiv(v[2], groups))
        out: Shape = (q[0], q[2], dims.mul(v[3], heads))
    elif len(q) == len(k) == len(v) == 4:
        out = (*q[:3], v[3])
    else:
        raise UnknownError
    length = dims.add(call.shape(4)[2], k[2]) if call.has(4) else k[2]
    types: list[OnnxType | None] = [
        TensorType(kinds[0], out),
        TensorType(kinds[1], (*k[:2], length, k[3])),
        TensorType(kinds[2], (*v[:2], length, v[3])),
        TensorType(kinds[0], (*q[:3], length)),
    ]
    return types[: call.count]


# -- making ----------------------------------------------------------------------------------------


def _shape_of(call: OpCall) -> Shape:
    rank = len(call.shape(0))
    start, end = call.attr("start", 0) or 0, call.attr("end", None)
    return (len(range(rank)[slice(start, end)]),)


def _constant_of_shape(call: OpCall) -> list[OnnxType | None]:
    to = wanted(call, 0)
    if any(type(d) is int and d < 0 for d in to):
        raise UnknownError
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


def _range(call: OpCall) -> Shape:
    arrays = [a for a in call.known[:3] if a is not None and a.size == 1 and a.dtype != object]
    if len(arrays) == 3:
        if any(a.dtype.kind not in "iu" for a in arrays):
            raise UnknownError
        start, limit, delta = (int(a.item()) for a in arrays)
        if delta == 0:
            raise UnknownError
        return (len(range(start, limit, delta)),)
    found = [call.dims_if_known(n) for n in range(3)]
    numbers = [f[0] for f in found if f is not None and len(f) == 1]
    if len(numbers) != 3:
        return (None,)
    low, high, step = numbers
    if type(step) is not int or step == 0:
        return (None,)
    span = dims.sub(high, low) if step > 0 else dims.sub(low, high)
    return (dims.ceildiv(dims.maximum(span, 0), abs(step)),)


def _one_hot(call: OpCall) -> Shape:
    indices = call.shape(0)
    axis = axis_in(call.attr("axis"), len(indices) + 1)
    found = call.dims_if_known(1)
    depth = found[0] if found is not None and len(found) == 1 else None
    return (*indices[:axis], depth if dims.at_least(depth, 0) else None, *indices[axis:])


# -- reducing --------------------------------------------------------------------------------------


def _reduce(call: OpCall) -> Shape:
    shape = call.shape(0)
    axes = call.given("axes", 1)
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


def _arg(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    return (*shape[:axis], *((1,) if call.attr("keepdims") else ()), *shape[axis + 1 :])


def _top_k(call: OpCall) -> list[OnnxType | None]:
    kind, shape = call.tensor(0), call.shape(0)
    axis = axis_in(call.attr("axis"), len(shape))
    found = (call.attr("k"),) if "k" in call.signature.attributes else wanted(call, 1)
    size = shape[axis]
    if len(found) != 1:
        raise UnknownError
    k = found[0]
    if type(k) is int and (k < 0 or (type(size) is int and k > size)):
        raise UnknownError
    out = (*shape[:axis], k if dims.at_least(k, 0) else None, *shape[axis + 1 :])
    types: list[OnnxType | None] = [TensorType(kind.dtype, out), TensorType(DType.INT64, out)]
    return types[: call.count]


_SAME = """
    Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh CumSum Elu Erf Exp Floor
    Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round
    Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Cast
    CastLike Clip ScatterElements ScatterND Scatter InstanceNormalization GroupNormalization
    LpNormalization MeanVarianceNormalization Bernoulli EyeLike RandomNormalLike RandomUniformLike
"""
_JOINED = """
    Add Sub Mul Div Pow Min Max Mean Sum Mod And Or Xor BitwiseAnd BitwiseOr BitwiseXor BitShift
    Equal Less LessOrEqual Greater GreaterOrEqual Where PRelu
"""
_REDUCING = """
    ReduceSum ReduceMean ReduceProd ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSum
    ReduceLogSumExp ReduceSumSquare
"""

RULES: dict[str, Rule] = {
    **moving_rules.RULES,
    **dict.fromkeys(_SAME.split(), _first),
    **dict.fromkeys(_JOINED.split(), _all_inputs),
    **dict.fromkeys(_REDUCING.split(), _reduce),
    "ArgMax": _arg,
    "ArgMin": _arg,
    "Attention": _attention,
    "ConstantOfShape": _constant_of_shape,
    "Dropout": _dropout,
    "GatherElements": _second,
    "Gemm": _gemm,
    "Hardmax": _along_axis,
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _along_axis,
    "MatMul": _matmul,
    "OneHot": _one_hot,
    "RMSNormalization": _layer_norm,
    "Range": _range,
    "Shape": _shape_of,
    "Size": lambda call: (call.shape(0), ())[1],
    "Softmax": _along_axis,
    "TopK": _top_k,
    "Trilu": _square,
}

__all__ = ["RULES", "Rule"]
