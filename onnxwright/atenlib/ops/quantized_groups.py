"""Quantization with scales found at run time, for each token, and for groups of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full_like, scalar, vector
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.quantized import result_type
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_UNTESTED = "OpInfo has no samples of quantization; tests/atenlib/test_quantized.py compares"
_BLOCKS_SINCE = 21
_EPSILON = float(np.finfo(np.float32).eps)


def _output(arguments: Arguments) -> DType:
    dtype: DType = arguments["output_dtype"]
    return dtype


def _ends(op: Op, x: Value, axes: list[int] | None) -> tuple[Any, Any]:
    """The least and the greatest number, and zero, over all axes or some; FLOAT."""
    x = cast(op, x, DType.FLOAT)
    keep = int(axes is not None)
    axes_list = [] if axes is None else [axes]
    low, high = (
        op.ReduceMin(x, *axes_list, keepdims=keep),
        op.ReduceMax(x, *axes_list, keepdims=keep),
    )
    return op.Min(low, 0.0), op.Max(high, 0.0)


@aten("quantized_decomposed::choose_qparams.tensor", rule=custom(), untested=_UNTESTED)
def choose_qparams(
    op: Op, input: Value, quant_min: int, quant_max: int, eps: float, dtype: DType
) -> tuple[Value, ...]:
    """The scale and the zero point with which the numbers of a tensor fill the range."""
    del dtype
    low, high = _ends(op, input, None)
    step = op.Max(op.Div(op.Sub(high, low), float(quant_max - quant_min)), float(eps))
    zero = op.Sub(float(quant_min), op.Round(op.Div(low, step)))
    zero = op.Min(op.Max(zero, float(quant_min)), float(quant_max))
    return _parameters(op, step, zero)


@aten("quantized_decomposed::choose_qparams_symmetric.tensor", rule=custom(), untested=_UNTESTED)
def choose_qparams_symmetric(
    op: Op, input: Value, quant_min: int, quant_max: int, eps: float, dtype: DType
) -> tuple[Value, ...]:
    """As `choose_qparams`, with a zero point in the middle."""
    low, high = _ends(op, input, None)
    most = op.Max(op.Neg(low), high)
    step = op.Max(op.Div(most, (quant_max - quant_min) / 2), float(eps))
    middle = 128.0 if dtype is DType.UINT8 else 0.0
    return _parameters(op, step, scalar(op, middle, DType.FLOAT))


def _parameters(op: Op, step: Any, zero: Value) -> tuple[Any, Any]:
    step, zero = op.Reshape(step, [1]), op.Reshape(zero, [1])
    return cast(op, step, DType.DOUBLE), cast(op, zero, DType.INT64)


@aten("quantized_decomposed::choose_qparams_per_token", rule=custom(), untested=_UNTESTED)
def choose_qparams_per_token(op: Op, input: Value, dtype: DType) -> tuple[Value, ...]:
    """A scale for each row, by its largest number; zero points are zeros."""
    if dtype is not DType.INT8:
        unsupported("a type other than int8")
    wide = input
    if input.onnx_dtype is DType.FLOAT16:  # torch divides in FLOAT what it finds in FLOAT16
        wide = cast(op, input, DType.FLOAT)
    most = op.ReduceMax(op.Abs(wide), [wide.rank - 1], keepdims=1)
    step = op.Div(op.Max(most, 1e-5), 127.0)
    return step, full_like(op, step, 0)


@aten(
    "quantized_decomposed::choose_qparams_per_token_asymmetric",
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl",
    rule=custom(),
    untested=_UNTESTED,
)
def choose_qparams_per_token_asymmetric(op: Op, input: Value, dtype: DType) -> tuple[Value, ...]:
    """A scale and a zero point for each row, for the range of INT8."""
    del dtype  # torch takes the range of INT8 for all
    low, high = _ends(op, input, [input.rank - 1])
    step = op.Max(op.Div(op.Sub(high, low), 255.0), _EPSILON)
    below, above = op.Div(low, step), op.Div(high, step)
    nearer = op.Greater(op.Add(op.Add(below, -128.0), op.Add(above, 127.0)), 0.0)
    zero = op.Where(nearer, op.Sub(-128.0, below), op.Sub(127.0, above))
    zero = op.Round(op.Min(op.Max(zero, -128.0), 127.0))
    return cast(op, step, DType.DOUBLE), cast(op, zero, DType.INT64)


def _whole(op: Op, x: Value, scales: Any, zeros: Any, low: int, high: int, dtype: DType) -> Value:
    """`clamp(round(x / scale + zero), low, high)`; torch rounds after the zero point is added."""
    wide = DType.DOUBLE if DType.DOUBLE in (x.onnx_dtype, scales.onnx_dtype) else DType.FLOAT
    scales = cast(op, op.Reciprocal(scales), wide)
    moved = op.Add(op.Mul(cast(op, x, wide), scales), cast(op, zeros, wide))
    return op.Cast(op.Min(op.Max(op.Round(moved), float(low)), float(high)), to=dtype)


@aten("quantized_decomposed::quantize_per_token", rule=custom(result_type), untested=_UNTESTED)
def quantize_per_token(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value,
    quant_min: int,
    quant_max: int,
    dtype: DType,
) -> Value:
    """Integers with a scale for each row."""
    return _whole(op, input, scales, zero_points, quant_min, quant_max, dtype)


@aten("quantized_decomposed::dequantize_per_token", rule=custom(_output), untested=_UNTESTED)
def dequantize_per_token(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    output_dtype: DType,
) -> Value:
    """The numbers that integers with a scale for each row represent."""
    del quant_min, quant_max, dtype
    wide = scales.onnx_dtype
    shifted = op.Sub(cast(op, input, wide), cast(op, zero_points, wide))
    return cast(op, op.Mul(shifted, scales), output_dtype)


def _group(x: Value, scales: Any, group_size: int) -> int:
    """How many columns share a scale."""
    columns = x.shape[-1]
    if isinstance(columns, int) and group_size > columns and scales.shape[-1] == 1:
        return columns
    return group_size


def _grouped(op: Op, x: Value, group: int) -> Value:
    return op.Reshape(x, [-1, group])


@aten(
    "quantized_decomposed::quantize_per_channel_group", rule=custom(result_type), untested=_UNTESTED
)
def quantize_per_channel_group(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    group_size: int,
) -> Value:
    """Integers with a scale for each group of columns of each row."""
    apart = _grouped(op, input, _group(input, scales, group_size))
    steps, zeros = op.Reshape(scales, [-1, 1]), op.Reshape(zero_points, [-1, 1])
    quantized = _whole(op, apart, steps, zeros, quant_min, quant_max, dtype)
    return op.Reshape(quantized, vector(op, sizes(op, input)))


@aten(
    "quantized_decomposed::dequantize_per_channel_group",
    rule=custom(_output),
    untested=_UNTESTED,
)
def dequantize_per_channel_group(
    op: Op,
    input: Value,
    scales: Value,
    zero_points: Value | None,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    group_size: int,
    output_dtype: DType,
) -> Value:
    """The numbers that integers with a scale for each group of columns represent."""
    del quant_min, quant_max, dtype
    group = _group(input, scales, group_size)
    whole = input.onnx_dtype in (DType.INT8, DType.UINT8) and scales.onnx_dtype is DType.FLOAT
    if whole and scales.rank == 2 and op.version >= _BLOCKS_SINCE:
        extra = [] if zero_points is None else [cast(op, zero_points, input.onnx_dtype)]
        values = op.DequantizeLinear(input, scales, *extra, axis=1, block_size=group)
        return cast(op, values, output_dtype)
    wide = scales.onnx_dtype
    apart = cast(op, _grouped(op, input, group), wide)
    if zero_points is not None:
        apart = op.Sub(apart, cast(op, op.Reshape(zero_points, [-1, 1]), wide))
    values = op.Mul(apart, op.Reshape(scales, [-1, 1]))
    return cast(op, op.Reshape(values, vector(op, sizes(op, input))), output_dtype)


@aten("aten::_weight_int8pack_mm", rule=like(), untested=_UNTESTED)
def weight_int8pack_mm(op: Op, self: Value, mat2: Value, scales: Value) -> Value:
    """`self @ mat2.T` with a matrix of INT8 and a scale for each of its rows."""
    turned = op.Transpose(cast(op, mat2, self.onnx_dtype), perm=[1, 0])
    return op.Mul(op.MatMul(self, turned), cast(op, scales, self.onnx_dtype))


@aten(
    "aten::_scaled_mm",
    rule=custom(lambda a: a["out_dtype"] or a["self"].onnx_dtype),
    untested=_UNTESTED,
)
def scaled_mm(
    op: Op,
    self: Value,
    mat2: Value,
    scale_a: Value,
    scale_b: Value,
    bias: Value | None = None,
    scale_result: Value | None = None,
    out_dtype: DType | None = None,
    use_fast_accum: bool = False,
) -> Value:
    """The product of matrices of FLOAT8 with scales, for the whole or for rows and columns."""
    del use_fast_accum
    target = out_dtype or self.onnx_dtype
    a, b = (_scaled(op, x, s) for x, s in ((self, scale_a), (mat2, scale_b)))
    product = op.MatMul(a, b)
    if bias is not None:
        product = op.Add(product, cast(op, bias, DType.FLOAT))
    if scale_result is not None and target.bits == 8:
        product = op.Mul(product, cast(op, scale_result, DType.FLOAT))
    return cast(op, product, target)


def _scaled(op: Op, x: Value, factor: Value) -> Value:
    """A matrix times its scale: one number, or one for each row (or column)."""
    if factor.onnx_dtype is not DType.FLOAT:
        unsupported("blocks with scales of FLOAT8")
    rows, columns = factor.shape if factor.rank == 2 else (1, 1)
    lengths = [size(op, x, n) for n in (0, 1)]
    if rows not in (1, lengths[0]) or columns not in (1, lengths[1]):
        unsupported("scales for blocks of a matrix")
    return op.Mul(cast(op, x, DType.FLOAT), factor)
