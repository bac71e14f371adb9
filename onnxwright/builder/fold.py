"""Constant folding: what an operator gives for arrays that are known, if that is small and certain.

Nothing is folded where a run would fail (a division by zero, a number out of range): the node
stays, and the error with it.  Large arrays are left alone, so that no weight is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

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

    Args:
        op: the operator.
        call: the call.

    Returns:
        True where `fold` may be asked.
    """
    if facts(op.name, op.domain).folding is NEVER:
        return False
    total = 0
    for n, present in enumerate(call.present):
        if present:
            array = call.known[n]
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
        call: the call.
        types: the types of its outputs.
        attrs: its attributes.

    Returns:
        One array for each output; None where nothing is certain, or it is too large.
    """
    size = sum(a.nbytes for a in call.known if a is not None)
    if not all(_fits(kind, size) for kind in types):
        return None
    rule = _TABLE.get(op.name)
    try:
        with np.errstate(all="ignore"):
            made = [np.asarray(rule(call))] if rule is not None else _reference(op, call, attrs)
    except UnknownError:
        return None
    except Exception:  # noqa: BLE001 - what fails now will fail when the model runs, and say so
        return None
    if made is None or len(made) != len(types):
        return None
    for array, kind in zip(made, types, strict=True):
        if not _is_of(array, kind) or array.nbytes > size + MOST_GROWTH:
            return None
    return made


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


def _reference(op: Op, call: OpCall, attrs: Sequence[ir.Attr]) -> list[Array] | None:
    """What onnx's own reference implementation gives."""
    from onnx.reference import ReferenceEvaluator

    if any(a.is_ref() for a in attrs):
        return None
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
    feeds = {name: call.known[n] for n, name in enumerate(names) if name}
    return [np.asarray(x) for x in ReferenceEvaluator(model).run(None, feeds)]


# -- numpy -----------------------------------------------------------------------------------------


def _x(call: OpCall, n: int) -> Array:
    array = call.known[n]
    if array is None:
        raise UnknownError
    return array


def _ufunc(function: Callable[..., Any]) -> Callable[[OpCall], Any]:
    def rule(call: OpCall) -> Any:
        return function(*(_x(call, n) for n in range(len(call.known))))

    return rule


def _same_type(function: Callable[..., Any]) -> Callable[[OpCall], Any]:
    """For operators whose result has the type of the operands."""

    def rule(call: OpCall) -> Any:
        arrays = [_x(call, n) for n in range(len(call.known))]
        result = arrays[0]
        if len(arrays) == 1:
            return np.asarray(function(result)).astype(result.dtype, copy=False)
        for other in arrays[1:]:
            result = np.asarray(function(result, other)).astype(result.dtype, copy=False)
        return result

    return rule


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    if not b.all() or (a.dtype.kind == "i" and a.size and a.min() == np.iinfo(a.dtype).min):
        raise UnknownError
    if a.dtype.kind == "u":
        return np.asarray(a // b)
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))


def _mod(call: OpCall) -> Array:
    a, b = _x(call, 0), _x(call, 1)
    if call.attr("fmod", 0):
        if a.dtype.kind in "iu" and not b.all():
            raise UnknownError
        return np.asarray(np.fmod(a, b))
    if a.dtype.kind not in "iu" or not b.all():
        raise UnknownError
    return np.asarray(np.mod(a, b))


def _cast(call: OpCall) -> Array:
    x, to = _x(call, 0), DType(call.attr("to"))
    return cast(x, to)


def cast(x: Array, to: DType) -> Array:
    """An array as another type.

    Args:
        x: the array.
        to: the type; not one of fewer than 16 bits for floats, nor STRING.

    Returns:
        The array.

    Raises:
        UnknownError: the result depends on who computes it.
    """
    source = DType.from_numpy(x.dtype)
    for dtype in (source, to):
        narrow = (dtype.is_float or dtype.is_integer) and dtype.bits < 8
        if (
            dtype is DType.STRING
            or dtype.is_complex
            or narrow
            or (dtype.is_float and dtype.bits < 16)
        ):
            raise UnknownError
    if source.is_float and to.is_integer and x.size:
        wide = x.astype(np.float64)
        low = -(2.0 ** (to.bits - 1)) if to.is_signed else 0.0
        high = 2.0 ** (to.bits - 1 if to.is_signed else to.bits)
        cut = np.trunc(wide)
        if not np.isfinite(wide).all() or cut.min() < low or cut.max() >= high:
            raise UnknownError
    return x.astype(to.numpy)


def _gather(call: OpCall) -> Array:
    x, index, axis = _x(call, 0), _x(call, 1), call.attr("axis")
    if index.size and not (-x.shape[axis] <= index.min() and index.max() < x.shape[axis]):
        raise UnknownError
    return np.asarray(np.take(x, index, axis=axis))


def _axes(call: OpCall) -> tuple[int, ...] | None:
    return call.given("axes", 1)


def _squeeze(call: OpCall) -> Array:
    return np.squeeze(_x(call, 0), _axes(call))


def _unsqueeze(call: OpCall) -> Array:
    axes = _axes(call)
    return np.expand_dims(_x(call, 0), axes if axes is not None else ())


def _reshape(call: OpCall) -> Array:
    x = _x(call, 0)
    shape = list(call.attr("shape") if "shape" in call.signature.attributes else call.numbers(1))
    if not call.attr("allowzero", 0):
        shape = [x.shape[n] if d == 0 else d for n, d in enumerate(shape)]
    return x.reshape(shape)


def _slice(call: OpCall) -> Array:
    x = _x(call, 0)
    starts, ends = call.given("starts", 1), call.given("ends", 2)
    assert starts is not None
    assert ends is not None
    axes = call.given("axes", 3)
    steps = call.numbers(4) if call.has(4) else (1,) * len(starts)
    index: list[slice] = [slice(None)] * x.ndim
    places = range(len(starts)) if axes is None else axes
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        index[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(index)]


def _transpose(call: OpCall) -> Array:
    return np.transpose(_x(call, 0), call.attr("perm"))


def _concat(call: OpCall) -> Array:
    return np.concatenate([_x(call, n) for n in range(len(call.known))], axis=call.attr("axis"))


def _expand(call: OpCall) -> Array:
    x = _x(call, 0)
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, call.numbers(1))))


def _range(call: OpCall) -> Array:
    start, limit, delta = (_x(call, n) for n in range(3))
    if start.dtype.kind not in "iu" or not delta.all():
        raise UnknownError
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _constant_of_shape(call: OpCall) -> Array:
    value = call.attr("value", None)
    if value is None:
        fill = np.zeros((1,), np.float32)
    elif isinstance(value, onnx.TensorProto):
        fill = numpy_helper.to_array(value)
    else:
        fill = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return np.full(call.numbers(0), fill.reshape(-1)[0], dtype=fill.dtype)


def _reduce(function: Callable[..., Any]) -> Callable[[OpCall], Any]:
    def rule(call: OpCall) -> Any:
        x, axes = _x(call, 0), _axes(call)
        if x.dtype.kind not in "iu" or x.size == 0:
            raise UnknownError
        if not axes and call.attr("noop_with_empty_axes", 0):
            return x
        keep = bool(call.attr("keepdims"))
        return np.asarray(function(x, axis=axes or None, keepdims=keep)).astype(x.dtype)

    return rule


def _compare(function: Callable[..., Any]) -> Callable[[OpCall], Any]:
    return lambda call: function(_x(call, 0), _x(call, 1))


_TABLE: Mapping[str, Callable[[OpCall], Any]] = {
    "Abs": _same_type(np.abs),
    "Add": _same_type(np.add),
    "And": _ufunc(np.logical_and),
    "BitwiseAnd": _ufunc(np.bitwise_and),
    "BitwiseNot": _ufunc(np.invert),
    "BitwiseOr": _ufunc(np.bitwise_or),
    "BitwiseXor": _ufunc(np.bitwise_xor),
    "Cast": _cast,
    "Ceil": _same_type(np.ceil),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Div": lambda call: _divide(_x(call, 0), _x(call, 1)),
    "Equal": _compare(np.equal),
    "Expand": _expand,
    "Floor": _same_type(np.floor),
    "Gather": _gather,
    "Greater": _compare(np.greater),
    "GreaterOrEqual": _compare(np.greater_equal),
    "Less": _compare(np.less),
    "LessOrEqual": _compare(np.less_equal),
    "Max": _same_type(np.maximum),
    "Min": _same_type(np.minimum),
    "Mod": _mod,
    "Mul": _same_type(np.multiply),
    "Neg": _same_type(np.negative),
    "Not": _ufunc(np.logical_not),
    "Or": _ufunc(np.logical_or),
    "Range": _range,
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "Shape": lambda call: np.array(
        _x(call, 0).shape[slice(call.attr("start", 0) or 0, call.attr("end", None))], np.int64
    ),
    "Size": lambda call: np.array(_x(call, 0).size, np.int64),
    "Slice": _slice,
    "Sqrt": _same_type(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _same_type(np.subtract),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _ufunc(np.where),
    "Xor": _ufunc(np.logical_xor),
}

__all__ = ["MOST_BYTES", "MOST_GROWTH", "cast", "fold", "foldable"]
