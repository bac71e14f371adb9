"""Quantization: rounding to integers with a scale and a zero point, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, scalar, vector
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Arguments, Op, Size, Value, is_value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_UNTESTED = "OpInfo has no samples of quantization; tests/atenlib/test_quantized.py compares"
# What QuantizeLinear of ONNX gives, with kernels for it.
# The unsigned one first: runtimes turn signed activations into unsigned ones, where they can.
_WHOLE = {DType.UINT8: (0, 255), DType.INT8: (-128, 127)}


def _one(op: Op, x: Value | float, dtype: DType) -> Value:
    """A number or tensor of one element as a value without dimensions."""
    value = scalar(op, x, dtype)
    if is_value(x) and value.rank:
        value = op.Reshape(value, op.constant(np.zeros(0, np.int64)))
    return value


def _quantize(
    op: Op, x: Value, scale: Value, zero: Value, low: Any, high: Any, dtype: DType, axis: int | None
) -> Value:
    """`clamp(round(x / scale) + zero, low, high)` as integers, per tensor or along an axis."""
    if not is_value(low) and not is_value(high) and _WHOLE.get(dtype) == (low, high):
        along = {} if axis is None else {"axis": axis}
        return op.QuantizeLinear(x, scale, cast(op, zero, dtype), **along)
    scale, zero = _along(op, x, scale, axis), _along(op, x, cast(op, zero, x.onnx_dtype), axis)
    rounded = op.Add(op.Round(op.Mul(x, op.Reciprocal(scale))), zero)
    low, high = (_one(op, n, x.onnx_dtype) for n in (low, high))
    return op.Cast(op.Min(op.Max(rounded, low), high), to=dtype)


def _dequantize(
    op: Op, x: Value, scale: Value, zero: Value | None, axis: int | None, dtype: DType | None
) -> Value:
    """`(x - zero) * scale` as FLOAT, or as `dtype`."""
    wide = cast(op, x, DType.FLOAT)
    if x.onnx_dtype in _WHOLE:
        along = {} if axis is None else {"axis": axis}
        args = [] if zero is None else [cast(op, zero, x.onnx_dtype)]
        result = op.DequantizeLinear(x, cast(op, scale, DType.FLOAT), *args, **along)
    else:
        shifted = wide
        if zero is not None:
            shifted = op.Sub(wide, _along(op, x, cast(op, zero, DType.FLOAT), axis))
        result = op.Mul(shifted, _along(op, x, cast(op, scale, DType.FLOAT), axis))
    return result if dtype is None else cast(op, result, dtype)


def _along(op: Op, x: Value, values: Value, axis: int | None) -> Value:
    """A vector with an entry for each place of an axis, so that it broadcasts over the others."""
    if axis is None:
        return values
    shape: list[Size] = [1] * x.rank
    shape[axis] = size(op, x, axis)
    return op.Reshape(values, vector(op, shape))


def result_type(arguments: Arguments) -> DType:
    """The element type that the call names."""
    dtype: DType = arguments["dtype"]
    return dtype


def _restored(arguments: Arguments) -> DType:
    return arguments.get("out_dtype") or DType.FLOAT


@aten(
    "quantized_decomposed::quantize_per_tensor",
    "quantized_decomposed::quantize_per_tensor.tensor",
    "quantized_decomposed::quantize_per_tensor.tensor2",
    rule=custom(result_type),
    untested=_UNTESTED,
)
def quantize_per_tensor(
    op: Op,
    input: Value,
    scale: float | Value,
    zero_point: int | Value,
    quant_min: int | Value,
    quant_max: int | Value,
    dtype: DType,
) -> Value:
    """Integers of one scale: ONNX QuantizeLinear where the whole range of the type is used."""
    x = cast(op, input, DType.FLOAT)
    step, zero = _one(op, scale, DType.FLOAT), _one(op, zero_point, DType.INT64)
    return _quantize(op, x, step, zero, quant_min, quant_max, dtype, None)


@aten("quantized_decomposed::quantize_per_channel", rule=custom(result_type), untested=_UNTESTED)
def quantize_per_channel(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: DType,
) -> Value:
    """Integers with a scale for each place of an axis."""
    x, step = cast(op, input, DType.FLOAT), cast(op, scales, DType.FLOAT)
    place = axis_of(axis, x.rank)
    return _quantize(op, x, step, zero_points, quant_min, quant_max, dtype, place)


@aten(
    "quantized_decomposed::dequantize_per_tensor",
    "quantized_decomposed::dequantize_per_tensor.tensor",
    "quantized_decomposed::dequantize_per_tensor.tensor2",
    rule=custom(_restored),
    untested=_UNTESTED,
)
def dequantize_per_tensor(
    op: Op,
    input: Value,
    scale: float | Value,
    zero_point: int | Value,
    quant_min: int | Value,
    quant_max: int | Value,
    dtype: DType,
    *,
    out_dtype: DType | None = None,
) -> Value:
    """The numbers that integers of one scale represent."""
    step, zero = _one(op, scale, DType.FLOAT), _one(op, zero_point, DType.INT64)
    return _dequantize(op, input, step, zero, None, out_dtype)


@aten("quantized_decomposed::dequantize_per_channel", rule=custom(_restored), untested=_UNTESTED)
def dequantize_per_channel(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    *,
    out_dtype: DType | None = None,
) -> Value:
    """The numbers that integers with a scale for each position of an axis represent."""
    return _dequantize(op, input, scales, zero_points, axis_of(axis, input.rank), out_dtype)


def _fake(
    op: Op, x: Value, scale: Value, zero: Value, low: int, high: int, axis: int | None
) -> Value:
    """Numbers rounded as quantization would, by QuantizeLinear where it has the range."""
    wide = cast(op, x, DType.FLOAT)
    step = cast(op, scale, DType.FLOAT)
    stored = next((d for d, (a, b) in _WHOLE.items() if a <= low and high <= b), None)
    if stored is not None and low <= 0 <= high and not zero.onnx_dtype.is_float:
        along = {} if axis is None else {"axis": axis}
        place = cast(op, zero, stored)
        whole = op.QuantizeLinear(wide, step, place, **along)
        if _WHOLE[stored] != (low, high):
            ends = (op.constant(np.array(n, stored.numpy)) for n in (low, high))
            whole = op.Clip(whole, *ends)
        return cast(op, op.DequantizeLinear(whole, step, place, **along), x.onnx_dtype)
    step, shift = _along(op, x, step, axis), _along(op, x, cast(op, zero, DType.FLOAT), axis)
    rounded = op.Add(op.Round(op.Mul(wide, op.Reciprocal(step))), shift)
    kept = op.Min(op.Max(rounded, float(low)), float(high))
    return cast(op, op.Mul(op.Sub(kept, shift), step), x.onnx_dtype)


@aten(
    "aten::fake_quantize_per_tensor_affine",
    "aten::fake_quantize_per_tensor_affine.tensor_qparams",
    rule=like(),
    untested=_UNTESTED,
)
def fake_quantize_per_tensor_affine(
    op: Op,
    self: Value,
    scale: float | Value,
    zero_point: int | Value,
    quant_min: int,
    quant_max: int,
) -> Value:
    """Quantized and back, with one scale."""
    step, zero = _one(op, scale, DType.FLOAT), _one(op, zero_point, DType.INT64)
    return _fake(op, self, step, zero, quant_min, quant_max, None)


@aten("aten::fake_quantize_per_channel_affine", rule=like(), untested=_UNTESTED)
def fake_quantize_per_channel_affine(
    op: Op, self: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int
) -> Value:
    """Quantized and back, with a scale for each place of an axis."""
    place = axis_of(axis, self.rank)
    return _fake(op, self, scale, zero_point, quant_min, quant_max, place)


def _whole(op: Op, zero: Value, low: int, high: int) -> Value:
    """Zero points that were learned as fractions: the nearest integers within the range."""
    ends = (op.constant(np.float32(n)) for n in (low, high))
    return op.Cast(op.Clip(op.Round(cast(op, zero, DType.FLOAT)), *ends), to=DType.INT64)


@aten("aten::_fake_quantize_learnable_per_tensor_affine", rule=like(), untested=_UNTESTED)
def fake_quantize_learnable_per_tensor_affine(
    op: Op,
    self: Value,
    scale: Value,
    zero_point: Value,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Value:
    """Quantized and back, with one scale and zero point that training has learned."""
    step, zero = _one(op, scale, DType.FLOAT), _one(op, zero_point, DType.FLOAT)
    zero = _whole(op, zero, quant_min, quant_max)
    return _fake(op, self, step, zero, quant_min, quant_max, None)


@aten("aten::_fake_quantize_learnable_per_channel_affine", rule=like(), untested=_UNTESTED)
def fake_quantize_learnable_per_channel_affine(
    op: Op,
    self: Value,
    scale: Value,
    zero_point: Value,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Value:
    """Quantized and back, with a learned scale and zero point for each place of an axis."""
    zero = _whole(op, zero_point, quant_min, quant_max)
    return _fake(op, self, scale, zero, quant_min, quant_max, axis)


def _kept(
    op: Op, x: Value, scale: Value, zero: Value, low: int, high: int, axis: int | None
) -> Value:
    """Where quantization does not cut a number off."""
    step = _along(op, x, cast(op, scale, DType.FLOAT), axis)
    shift = _along(op, x, cast(op, zero, DType.FLOAT), axis)
    whole = op.Round(op.Add(op.Mul(cast(op, x, DType.FLOAT), op.Reciprocal(step)), shift))
    return op.And(op.GreaterOrEqual(whole, float(low)), op.LessOrEqual(whole, float(high)))


@aten("aten::fake_quantize_per_tensor_affine_cachemask", rule=like(), untested=_UNTESTED)
def fake_quantize_per_tensor_affine_cachemask(
    op: Op, self: Value, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[Value, ...]:
    """Quantized and back, and where nothing was cut off."""
    step, zero = scalar(op, scale, DType.FLOAT), scalar(op, zero_point, DType.INT64)
    results = _fake(op, self, step, zero, quant_min, quant_max, None)
    return results, _kept(op, self, step, zero, quant_min, quant_max, None)


@aten(
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    rule=like(),
    untested=_UNTESTED,
)
def fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    op: Op,
    self: Value,
    scale: Value,
    zero_point: Value,
    fake_quant_enabled: Value,
    quant_min: int,
    quant_max: int,
) -> tuple[Value, ...]:
    """As before, if `fake_quant_enabled` holds a one; else the tensor itself."""
    step, zero = _one(op, scale, DType.FLOAT), _one(op, zero_point, DType.INT64)
    on = op.Not(op.Equal(_one(op, fake_quant_enabled, DType.INT64), 0))
    results = _fake(op, self, step, zero, quant_min, quant_max, None)
    mask = _kept(op, self, step, zero, quant_min, quant_max, None)
    return op.Where(on, results, self), op.Or(mask, op.Not(on))


@aten("aten::fake_quantize_per_channel_affine_cachemask", rule=like(), untested=_UNTESTED)
def fake_quantize_per_channel_affine_cachemask(
    op: Op, self: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int
) -> tuple[Value, ...]:
    """Quantized and back with a scale for each place of an axis, and where nothing was cut off."""
    place = axis_of(axis, self.rank)
    results = _fake(op, self, scale, zero_point, quant_min, quant_max, place)
    return results, _kept(op, self, scale, zero_point, quant_min, quant_max, place)
