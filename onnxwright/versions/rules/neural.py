"""Other versions of normalizations, Dropout, arithmetic of more types and other layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.versions.call import BY_BODY, KEEP, Call, Refused, down, up


@down(9, "BatchNormalization")
def batch_norm_is_spatial(op: Ops, call: Call) -> Any:
    """`spatial` is 1 by default: statistics are per channel.  Source: ONNX BatchNormalization 7."""
    del op, call
    return KEEP


@down(14, "BatchNormalization")
def batch_norm_of_inference(op: Ops, call: Call) -> Any:
    """Without `training_mode`.  Source: ONNX BatchNormalization 9 and 14."""
    if call.attr("training_mode", 0):
        raise Refused(
            "`training_mode=1` came with opset 14; before, runtimes chose the mode",
            "export the model for inference",
        )
    results = op.backend.emit(
        op.opset["BatchNormalization"], call.inputs, call.without("training_mode"), 1
    )
    return [results[0]]


@down(12, "Dropout")
def ratio_becomes_an_attribute(op: Ops, call: Call) -> Any:
    """`ratio` is an attribute, and there is no training mode.  Source: ONNX Dropout 10."""
    training = call.constant(2)
    if training is not None and bool(training):
        raise Refused("training mode came with opset 12", "export the model for inference")
    ratio, x = call.constant(1), call.input(0)
    rate = 0.5 if ratio is None else float(ratio)
    attributes = call.without("seed", ratio=rate)
    results = op.backend.emit(op.opset["Dropout"], [x], attributes, 1)
    if not any(call.used[1:]):
        return [results[0]]
    # Older versions do not say what the mask of inference holds.
    kept = op.constant(np.ones((), dtype=bool))
    return [results[0], op.Expand(kept, op.Shape(x))]


@down(10, "Dropout")
def mask_has_the_type_of_the_data(op: Ops, call: Call) -> Any:
    """The mask of version 7 has the type of the data.  Source: ONNX Dropout 7."""
    if not any(call.used[1:]):
        return KEEP
    results = call.same(op)
    return [results[0], op.Cast(results[1], to=int(DType.BOOL))]


@down(21, "GroupNormalization")
def group_norm_by_its_body(op: Ops, call: Call) -> Any:
    """Scales per channel: normalized by groups, then scaled.

    Source: ONNX GroupNormalization 21, InstanceNormalization.
    """
    groups, x = call.attr("num_groups"), call.input(0)
    scale, bias, dtype = call.input(1), call.input(2), call.dtype(0)
    rank = call.rank(0)
    wide = dtype in (DType.FLOAT16, DType.BFLOAT16) and call.attr("stash_type", 1) == 1
    flat = op.Reshape(x, call.int64(op, [0, groups, -1]))
    flat = op.Cast(flat, to=int(DType.FLOAT)) if wide else flat
    kind = np.float32 if wide else dtype.numpy
    mean = op.ReduceMean(flat, [2])
    centred = op.Sub(flat, mean)
    variance = op.ReduceMean(op.Mul(centred, centred), [2])
    epsilon = op.constant(np.array(call.attr("epsilon", 1e-5), dtype=kind))
    normal = op.Div(centred, op.Sqrt(op.Add(variance, epsilon)))
    normal = op.Cast(normal, to=int(dtype)) if wide else normal
    whole = op.Reshape(normal, op.Shape(x))
    column = call.int64(op, [-1] + [1] * (rank - 2))
    return [op.Add(op.Mul(whole, op.Reshape(scale, column)), op.Reshape(bias, column))]


@down(14, "RNN", "GRU", "LSTM")
def layout_by_transposing(op: Ops, call: Call) -> Any:
    """`layout=1` has the batch first: transposed before and after.

    Source: ONNX RNN, GRU and LSTM 14.
    """
    attributes = call.without("layout")
    if not call.attr("layout", 0):
        return call.same(op, None, attributes) if call.has_attr("layout") else KEEP
    swapped = [1, 0, 2]
    states = (5, 6) if call.name == "LSTM" else (5,)
    inputs = [
        op.Transpose(v, perm=swapped) if v is not None and (n == 0 or n in states) else v
        for n, v in enumerate(call.inputs)
    ]
    results = call.same(op, inputs, attributes)
    return [
        op.Transpose(v, perm=[2, 0, 1, 3]) if n == 0 else op.Transpose(v, perm=swapped)
        for n, v in enumerate(results)
    ]


@down(14, "Relu")
def relu_of_integers(op: Ops, call: Call) -> Any:
    """Integers: the maximum with 0.  Source: ONNX Relu 14, Max 12."""
    dtype = call.input(0).dtype
    if dtype is None or dtype.is_float:
        return KEEP
    zero = op.constant(np.zeros((), dtype=dtype.numpy))
    if dtype in (DType.INT8, DType.INT16):
        wide = op.Cast(call.input(0), to=int(DType.INT32))
        largest = op.Max(wide, op.constant(np.zeros((), dtype=np.int32)))
        return [op.Cast(largest, to=int(dtype))]
    return [op.Max(call.input(0), zero)]


@down(15, "Pow")
@down(13, "Pow")
def pow_of_floats(op: Ops, call: Call) -> Any:
    """BFLOAT16 in FLOAT.  Source: ONNX Pow 12 to 15."""
    x, y = call.input(0), call.input(1)
    if DType.BFLOAT16 not in (x.dtype, y.dtype):
        return KEEP
    wide = [op.Cast(v, to=int(DType.FLOAT)) if v.dtype is DType.BFLOAT16 else v for v in (x, y)]
    results = call.same(op, wide)
    return [op.Cast(results[0], to=int(x.dtype)) if x.dtype is DType.BFLOAT16 else results[0]]


@down(12, "Pow")
def pow_of_one_type(op: Ops, call: Call) -> Any:
    """Base and exponent have one type of floats.  Source: ONNX Pow 7."""
    x, y = call.input(0), call.input(1)
    base, power = call.dtype(0), call.dtype(1)
    if base is power and base.is_float:
        return KEEP
    if base.is_float:
        if power.is_float and power.bits > base.bits:
            raise Refused("a wider exponent came with opset 12")
        return call.same(op, [x, op.Cast(y, to=int(base))])
    if base.bits > 32 or power.bits > 32:
        raise Refused("powers of integers came with opset 12")
    wide = [op.Cast(v, to=int(DType.DOUBLE)) for v in (x, y)]
    return [op.Cast(call.same(op, wide)[0], to=int(base))]


@down(13, "DequantizeLinear")
def dequantize_per_tensor(op: Ops, call: Call) -> Any:
    """Scales of an axis are applied by Mul.  Source: ONNX DequantizeLinear 10 and 13."""
    attributes = call.without("axis")
    if call.input(1).rank == 0 or call.input(1).shape == (1,):
        return call.same(op, None, attributes)
    column = call.int64(op, [-1] + [1] * (call.rank(0) - 1 - call.axis(1)))
    x = op.Cast(call.input(0), to=int(DType.INT32))
    if call.has(2):
        zero = op.Cast(call.input(2), to=int(DType.INT32))
        x = op.Sub(x, op.Reshape(zero, column))
    return [op.Mul(op.Cast(x, to=int(DType.FLOAT)), op.Reshape(call.input(1), column))]


@down(13, "QuantizeLinear")
def quantize_per_tensor(op: Ops, call: Call) -> Any:
    """Only one scale for the whole tensor.  Source: ONNX QuantizeLinear 10 and 13."""
    if call.input(1).rank == 0 or call.input(1).shape == (1,):
        return call.same(op, None, call.without("axis"))
    column = call.int64(op, [-1] + [1] * (call.rank(0) - 1 - call.axis(1)))
    dtype = call.dtype(2) if call.has(2) else DType.UINT8
    if dtype not in (DType.INT8, DType.UINT8) or op.version < 11:
        raise Refused("scales of an axis came with opset 13")
    low, high = (-128, 127) if dtype is DType.INT8 else (0, 255)
    rounded = op.Round(op.Div(call.input(0), op.Reshape(call.input(1), column)))
    if call.has(2):
        zero = op.Cast(call.input(2), to=int(DType.FLOAT))
        rounded = op.Add(rounded, op.Reshape(zero, column))
    limits = [op.constant(np.array(v, dtype=np.float32)) for v in (low, high)]
    return [op.Cast(op.Clip(rounded, *limits), to=int(dtype))]


@down(11, "Equal")
def equal_floats(op: Ops, call: Call) -> Any:
    """Floats are equal where neither is less, and both are numbers.  Source: ONNX Equal 7."""
    a, b, dtype = call.input(0), call.input(1), call.dtype(0)
    if not dtype.is_float:
        return KEEP
    zero, one = (op.constant(np.array(v, dtype=dtype.numpy)) for v in (0, 1))

    def is_number(value: Any) -> Any:
        return op.Or(op.Less(value, one), op.Greater(value, zero))

    same = op.Not(op.Or(op.Less(a, b), op.Greater(a, b)))
    return [op.And(same, op.And(is_number(a), is_number(b)))]


@down(10, "Mod")
def mod_of_integers(op: Ops, call: Call) -> Any:
    """The remainder of a division that truncates, brought to the sign of the divisor.

    Source: ONNX Mod 10, Div 7.
    """
    a, b, dtype = call.input(0), call.input(1), call.dtype(0)
    if dtype not in (DType.INT32, DType.INT64):
        raise Refused("the older version has no such operator, except for INT32 and INT64")
    rest = op.Sub(a, op.Mul(op.Div(a, b), b))
    if call.attr("fmod", 0):
        return [rest]
    zero = op.constant(np.zeros((), dtype=dtype.numpy))
    other_sign = op.Less(op.Mul(op.Sign(rest), op.Sign(b)), zero)
    return [op.Where(other_sign, op.Add(rest, b), rest)]


@down(12, "Max", "Min")
def extremes_of_integers(op: Ops, call: Call) -> Any:
    """Integers are compared two by two.  Source: ONNX Max 8, Where and Less 9."""
    dtype = call.input(0).dtype
    if dtype is None or dtype.is_float:
        return KEEP
    clipped = call.input(0)
    for other in call.inputs[1:]:
        less = op.Less(clipped, other)
        clipped = (
            op.Where(less, other, clipped) if call.name == "Max" else op.Where(less, clipped, other)
        )
    return [clipped if call.count < len(call.inputs) else op.Identity(clipped)]


@down(12, "Clip")
def clip_of_integers(op: Ops, call: Call) -> Any:
    """Integers are compared with the limits.  Source: ONNX Clip 11."""
    dtype = call.input(0).dtype
    if dtype is None or dtype.is_float:
        return KEEP
    clipped = call.input(0)
    if call.has(1):
        clipped = op.Where(op.Less(clipped, call.input(1)), call.input(1), clipped)
    if call.has(2):
        clipped = op.Where(op.Less(call.input(2), clipped), call.input(2), clipped)
    return [clipped]


@down(8, "Sum", "Mean", "Max", "Min")
def without_broadcasting(op: Ops, call: Call) -> Any:
    """Inputs have one shape; Sum and Mean are written with Add.  Source: ONNX Sum 6."""
    shapes = [v.shape for v in call.inputs if v is not None]
    first = shapes[0]
    has_static_shape = first is not None and None not in first
    if len(shapes) == 1 or (has_static_shape and all(s == first for s in shapes)):
        return KEEP
    if call.name in ("Max", "Min"):
        raise Refused("broadcasting came with opset 8")
    aligned = call.input(0)
    for n in range(1, len(call.inputs)):
        aligned = op.Add(aligned, call.input(n))
    if call.name == "Sum":
        return [aligned]
    return [op.Div(aligned, op.constant(np.array(len(call.inputs), dtype=call.dtype(0).numpy)))]


@down(11, "Gemm")
def gemm_with_zeros(op: Ops, call: Call) -> Any:
    """`C` is required.  Source: ONNX Gemm 9."""
    if call.has(2):
        return KEEP
    zero = op.constant(np.zeros(1, dtype=call.dtype(0).numpy))
    return call.same(op, [call.input(0), call.input(1), zero])


@down(12, "ArgMax", "ArgMin")
def first_index(op: Ops, call: Call) -> Any:
    """The last index is the first one of the reversed axis.  Source: ONNX ArgMax 12."""
    if not call.attr("select_last_index", 0):
        return KEEP
    axis, size = call.attr("axis", 0), call.shape(0)[call.axis(0)]
    x, attributes = call.input(0), call.without("select_last_index")
    turned = op.Slice(x, [-1], [-(2**31)], [axis], [-1])
    if isinstance(size, int):
        last = call.int64(op, size - 1)
    else:
        last = op.Sub(op.Gather(op.Shape(x), call.int64(op, call.axis(0))),
                      call.int64(op, 1))  # fmt: skip
    return [op.Sub(last, call.same(op, [turned], attributes)[0])]


@down(24, "Attention")
def attention_with_older_masks(op: Ops, call: Call) -> Any:
    """Causal masks beside a cache start elsewhere.  Source: ONNX Attention 23 and 24."""
    del op
    return BY_BODY if meant_otherwise(call) else KEEP


@up(9, "BatchNormalization")
def batch_norm_per_channel(op: Ops, call: Call) -> Any:
    """Statistics are per channel; those per element are written out.

    Source: ONNX BatchNormalization 7 (`spatial`) and 9.
    """
    if call.attr("spatial", 1) == 1:
        return call.same(op, None, call.without("spatial"))
    if any(call.used[1:]):
        raise Refused("training statistics per element (`spatial=0`) have no newer equivalent")
    x, scale, bias, mean, var = (call.input(n) for n in range(5))
    epsilon = op.constant(np.array(call.attr("epsilon", 1e-5), dtype=call.dtype(0).numpy))
    normalized = op.Div(op.Sub(x, mean), op.Sqrt(op.Add(var, epsilon)))
    return [op.Add(op.Mul(normalized, scale), bias)]


@up(14, "BatchNormalization")
def batch_norm_says_training(op: Ops, call: Call) -> Any:
    """Training is an attribute; before, more outputs than one meant it.

    Source: ONNX BatchNormalization 9 and 14.
    """
    if not any(call.used[1:]):
        results = op.backend.emit(op.opset["BatchNormalization"], call.inputs, call.attributes, 1)
        return [results[0]]
    if any(call.used[3:]):
        raise Refused("its outputs `saved_mean` and `saved_var` have no newer equivalent")
    attributes = call.without(training_mode=1)
    return op.backend.emit(op.opset["BatchNormalization"], call.inputs, attributes, 3)


@up(13, "Erf")
@up(28, "ReduceLogSum", "ReduceLogSumExp")
def floats_only(op: Ops, call: Call) -> Any:
    """Integers are not allowed any more.  Source: ONNX Erf 13, ReduceLogSum 28."""
    del op
    dtype = call.input(0).dtype
    if dtype is not None and not dtype.is_float:
        raise Refused(f"newer versions take no {dtype.name}", "cast its input to FLOAT")
    return KEEP


@up(10, "Dropout")
def dropout_mask_is_bool(op: Ops, call: Call) -> Any:
    """The mask is BOOL; before, it had the type of the data.  Source: ONNX Dropout 7 and 10."""
    if not any(call.used[1:]):
        return KEEP
    results = call.same(op)
    return [results[0], op.Cast(results[1], to=int(call.dtype(0)))]


@up(12, "Dropout")
def dropout_ratio_is_an_input(op: Ops, call: Call) -> Any:
    """`ratio` is an input.  Source: ONNX Dropout 12; version 10 is that of inference."""
    ratio = call.attr("ratio", 0.5)
    ratio_input = op.constant(np.array(ratio, dtype=np.float32))
    return call.same(op, [call.input(0), ratio_input], call.without("ratio"))


@up(21, "GroupNormalization")
def group_norm_scales_channels(op: Ops, call: Call) -> Any:
    """`scale` and `bias` are per channel; before, per group.

    Source: ONNX GroupNormalization 18 and 21.
    """
    groups = call.attr("num_groups")
    x = call.input(0)
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    if isinstance(channels, int):
        sizes = call.int64(op, [groups, channels // groups])
    else:
        each = op.Div(op.Slice(op.Shape(x), [1], [2]), call.int64(op, [groups]))
        sizes = op.Concat(call.int64(op, [groups]), each, axis=0)

    def spread(value: Any) -> Any:
        column = op.Reshape(value, call.int64(op, [groups, 1]))
        return op.Reshape(op.Expand(column, sizes), call.int64(op, [-1]))

    return call.same(op, [x, spread(call.input(1)), spread(call.input(2))])


def meant_otherwise(call: Call) -> bool:
    """Whether an Attention means something else in version 23 than in 24."""
    return bool((call.attr("is_causal", 0) and call.has(4)) or (call.count > 3 and call.used[3]))


@up(24, "Attention")
def attention_with_newer_masks(op: Ops, call: Call) -> Any:
    """Causal masks beside a cache start elsewhere.  Source: ONNX Attention 23 and 24."""
    del op
    return BY_BODY if meant_otherwise(call) else KEEP
