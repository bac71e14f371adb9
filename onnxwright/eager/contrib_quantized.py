"""Operators of com.microsoft on integers with a scale and a zero point, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.eager.contrib_attention import attention
from onnxwright.eager.contrib_rows import Array, sigmoid
from onnxwright.eager.reference_calls import reference_results
from onnxwright.opset.opsets import Opset


def _real(x: Array, scale: Array, zero: Array | None = None, axis: int | None = None) -> Array:
    """The numbers that integers stand for; a vector of scales is along an axis."""
    values = x.astype(np.float32)
    if zero is not None:
        values = values - _along(zero.astype(np.float32), x.ndim, axis)
    real_values: Array = values * _along(scale.astype(np.float32), x.ndim, axis)
    return real_values


def _along(vector: Array, rank: int, axis: int | None) -> Array:
    if axis is None or vector.size == 1:
        return vector.reshape(()) if vector.size == 1 else vector
    shape = [1] * rank
    shape[axis] = vector.size
    return vector.reshape(shape)


def _whole(x: Array, scale: Array, zero: Array | None, kind: Any, axis: int | None = None) -> Array:
    """Numbers as integers of a type: halves to the even one, what is too large to the largest."""
    rounded = np.rint(x / _along(scale.astype(np.float32), x.ndim, axis))
    if zero is not None:
        rounded = rounded + _along(zero.astype(np.float32), x.ndim, axis)
    limits = np.iinfo(kind)
    return np.clip(rounded, limits.min, limits.max).astype(kind)


def _kind(zero: Array | None, otherwise: Any = np.uint8) -> Any:
    return otherwise if zero is None else zero.dtype


def quantize_linear(
    x: Array, scale: Array, zero: Array | None = None, *, axis: int = 1
) -> tuple[Array]:
    """QuantizeLinear, to integers of 16 bits as well."""
    return (_whole(x.astype(np.float32), scale, zero, _kind(zero), axis),)


def dequantize_linear(
    x: Array, scale: Array, zero: Array | None = None, *, axis: int = 1
) -> tuple[Array]:
    """DequantizeLinear, of integers of 16 and 32 bits as well."""
    return (_real(x, scale, zero, axis).astype(scale.dtype),)


def dynamic_quantize_matmul(
    a: Array, b: Array, b_scale: Array, b_zero: Array | None = None, bias: Array | None = None
) -> tuple[Array]:
    """A product of rows, which are made integers as DynamicQuantizeLinear does, and of integers."""
    whole, scale, zero = reference_results(Opset("", 18).DynamicQuantizeLinear, [a], {}, 3)
    assert isinstance(whole, np.ndarray)
    return matmul_integer_to_float(
        whole, b, np.asarray(scale), b_scale, np.asarray(zero), b_zero, bias
    )


def matmul_integer_to_float(
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero: Array | None = None,
    b_zero: Array | None = None,
    bias: Array | None = None,
) -> tuple[Array]:
    """MatMulInteger times both scales, and a bias; scales of `b` may be one for each column."""
    product = np.matmul(_less(a, a_zero), _less(b, b_zero)).astype(np.float32)
    product = product * (a_scale * b_scale)
    return ((product if bias is None else product + bias).astype(a_scale.dtype),)


def _less(x: Array, zero: Array | None) -> Array:
    values = x.astype(np.int64)
    return values if zero is None else values - zero.astype(np.int64)


def qgemm(
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero: Array | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803 - as the operator calls them
    transB: int = 0,  # noqa: N803
) -> tuple[Array]:
    """Gemm of integers; real numbers where no scale of the result is given."""
    left = _less(a.T if transA else a, a_zero)
    product = left @ _less(b.T if transB else b, b_zero)
    total = product if c is None else product + c
    scaled = (total * (np.float32(alpha) * a_scale * b_scale)).astype(np.float32)
    return (scaled if y_scale is None else _whole(scaled, y_scale, y_zero, _kind(y_zero)),)


def _binary(function: Callable[[Array, Array], Array]) -> Callable[..., tuple[Array]]:
    def kernel(
        a: Array, a_scale: Array, a_zero: Array | None, b: Array, b_scale: Array,
        b_zero: Array | None, c_scale: Array, c_zero: Array | None = None,
    ) -> tuple[Array]:  # fmt: skip
        combined = function(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
        return (_whole(combined, c_scale, c_zero, a.dtype),)

    return kernel


def _unary(function: Callable[..., Array]) -> Callable[..., tuple[Array]]:
    def kernel(
        x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array,
        y_zero: Array | None = None, **attributes: Any,
    ) -> tuple[Array]:  # fmt: skip
        return (
            _whole(function(_real(x, x_scale, x_zero), **attributes), y_scale, y_zero, x.dtype),
        )

    return kernel


def _pooled(x: Array, *, channels_last: int = 0, **attributes: Any) -> Array:
    return _of_channels("AveragePool", [x], attributes, channels_last)


def _global_mean(x: Array, *, channels_last: int = 0) -> Array:
    axes = range(1, x.ndim - 1) if channels_last else range(2, x.ndim)
    mean: Array = x.mean(axis=tuple(axes), keepdims=True)
    return mean


def _softmax(x: Array, *, axis: int = -1, opset: int) -> Array:
    rows = x.reshape(int(np.prod(x.shape[: axis % x.ndim])), -1) if opset < 13 else x
    along = -1 if opset < 13 else axis
    e = np.exp(rows - rows.max(axis=along, keepdims=True))
    softmax: Array = (e / e.sum(axis=along, keepdims=True)).reshape(x.shape)
    return softmax


def _of_channels(
    name: str, inputs: list[Array | None], attributes: dict[str, Any], last: int
) -> Array:
    """An operator of the standard domain, of values whose channels come first or last."""
    (x, *others) = inputs
    assert x is not None
    channels_last = np.moveaxis(x, -1, 1) if last else x
    (result,) = reference_results(
        getattr(Opset("", 18), name), [channels_last, *others], attributes, 1
    )
    assert isinstance(result, np.ndarray)
    return np.moveaxis(result, 1, -1) if last else result


def qlinear_concat(y_scale: Array, y_zero: Array, *parts: Array, axis: int) -> tuple[Array]:
    """Concat of integers with scales of their own."""
    groups = [parts[n : n + 3] for n in range(0, len(parts), 3)]
    joined = np.concatenate([_real(x, scale, zero) for x, scale, zero in groups], axis=axis)
    return (_whole(joined, y_scale, y_zero, _kind(y_zero)),)


def qlinear_where(
    condition: Array, x: Array, x_scale: Array, x_zero: Array, y: Array, y_scale: Array,
    y_zero: Array, z_scale: Array, z_zero: Array,
) -> tuple[Array]:  # fmt: skip
    """Where of integers with scales of their own."""
    chosen = np.where(condition, _real(x, x_scale, x_zero), _real(y, y_scale, y_zero))
    return (_whole(chosen, z_scale, z_zero, x.dtype),)


def qlinear_conv(
    x: Array, x_scale: Array, x_zero: Array, w: Array, w_scale: Array, w_zero: Array,
    y_scale: Array, y_zero: Array, bias: Array | None = None, *, channels_last: int = 0,
    **attributes: Any,
) -> tuple[Array]:  # fmt: skip
    """QLinearConv of values whose channels come first or last; the filter's always first."""
    filters = _less(w, _along(w_zero, w.ndim, 0)).astype(np.float32)
    whole = _less(x, x_zero).astype(np.float32)
    total = _of_channels("Conv", [whole, filters], attributes, 0 if not channels_last else 1)
    axis = -1 if channels_last else 1
    if bias is not None:
        total = total + _along(bias.astype(np.float32), total.ndim, axis)
    factors = x_scale.reshape(()) * w_scale.astype(np.float32)
    scaled = total * _along(np.asarray(factors), total.ndim, axis)
    return (_whole(scaled.astype(np.float32), y_scale, y_zero, _kind(y_zero)),)


def qattention(
    x: Array, weight: Array, bias: Array, x_scale: Array, weight_scale: Array,
    mask_index: Array | None = None, x_zero: Array | None = None, weight_zero: Array | None = None,
    past: Array | None = None, **attributes: Any,
) -> tuple[Array, Array | None]:  # fmt: skip
    """Attention of integer rows and weights."""
    rows, matrix = _real(x, x_scale, x_zero), _real(weight, weight_scale, weight_zero, -1)
    return attention(rows, matrix, bias, mask_index, past, **attributes)


QUANTIZED: dict[str, Callable[..., tuple[Any, ...]]] = {
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "MatMulIntegerToFloat": matmul_integer_to_float,
    "QAttention": qattention,
    "QGemm": qgemm,
    "QLinearAdd": _binary(np.add),
    "QLinearAveragePool": _unary(_pooled),
    "QLinearConcat": qlinear_concat,
    "QLinearConv": qlinear_conv,
    "QLinearGlobalAveragePool": _unary(_global_mean),
    "QLinearLeakyRelu": _unary(lambda x, alpha=0.01: np.where(x < 0, np.float32(alpha) * x, x)),
    "QLinearMul": _binary(np.multiply),
    "QLinearSigmoid": _unary(sigmoid),
    "QLinearSoftmax": _unary(_softmax),
    "QLinearWhere": qlinear_where,
    "QuantizeLinear": quantize_linear,
}
