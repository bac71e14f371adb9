"""Normalization over layers, groups and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full, number, vector
from onnxwright.atenlib.helpers.runtime import is_for_onnxruntime
from onnxwright.atenlib.helpers.sizes import axis_of, size, sizes, static
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_HALF = {"float16": Tol(3e-3, 3e-3), "bfloat16": Tol(3e-2, 3e-2), "float32": Tol(1e-5, 1e-5)}


def working_type(dtype: DType) -> DType:
    """The type statistics are computed in: FLOAT for shorter floats.

    Example:
        >>> working_type(DType.FLOAT16).name, working_type(DType.DOUBLE).name
        ('FLOAT', 'DOUBLE')
    """
    return DType.FLOAT if dtype.is_float and dtype.bits < 32 else dtype


def moments(op: Op, x: Value, axes: Sequence[int]) -> tuple[Any, Any, Any]:
    """The mean over axes (kept), the differences from it, and the variance (of all, kept)."""
    mean = op.ReduceMean(x, list(axes))
    centred = op.Sub(x, mean)
    return mean, centred, op.ReduceMean(op.Mul(centred, centred), list(axes))


def inverse_root(op: Op, x: Value, eps: float) -> Value:
    """`1 / sqrt(x + eps)`."""
    return op.Reciprocal(op.Sqrt(op.Add(x, eps)))


def affine(op: Op, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """`x * weight + bias`, where they are given, in the type of `x`."""
    if weight is not None:
        x = op.Mul(x, cast(op, weight, x.onnx_dtype))
    return x if bias is None else op.Add(x, cast(op, bias, x.onnx_dtype))


def _layer(
    op: Op,
    input: Value,
    normalized_shape: Sequence[Any],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> Any:
    """One LayerNormalization node, which needs a scale."""
    dtype = input.onnx_dtype
    if weight is None:
        weight = full(op, normalized_shape, 1, dtype)
    operands = [input, cast(op, weight, dtype)]
    if bias is not None:
        operands.append(cast(op, bias, dtype))
    return op.LayerNormalization(*operands, axis=-len(normalized_shape), epsilon=eps)


@aten(
    "aten::layer_norm",
    rule=like("input"),
    tests=[OpTest("nn.functional.layer_norm", tol=_HALF)],
)
def layer_norm(
    op: Op,
    input: Value,
    normalized_shape: Sequence[Size],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Mean 0 and variance 1 over the last axes, then scaled and moved."""
    del cudnn_enable
    return _layer(op, input, normalized_shape, weight, bias, eps)


@aten("aten::native_layer_norm", rule=like("input"), tests=[OpTest("native_layer_norm", tol=_HALF)])
def native_layer_norm(
    op: Op,
    input: Value,
    normalized_shape: Sequence[Size],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple[Value, ...]:
    """As `layer_norm`, with the mean and the inverse of the standard deviation."""
    result = _layer(op, input, normalized_shape, weight, bias, eps)
    x = cast(op, input, working_type(input.onnx_dtype))
    first = input.rank - len(normalized_shape)
    mean, _, variance = moments(op, x, range(first, input.rank))
    dtype = (input if weight is None else weight).onnx_dtype
    return result, cast(op, mean, dtype), cast(op, inverse_root(op, variance, eps), dtype)


@aten(
    "aten::rms_norm",
    rule=like("input"),
    tests=[OpTest("nn.functional.rms_norm", tol=_HALF)],
)
def rms_norm(
    op: Op,
    input: Value,
    normalized_shape: Sequence[Size],
    weight: Value | None = None,
    eps: float | None = None,
) -> Any:
    """Divided by the root of the mean square over the last axes, then scaled."""
    dtype = input.onnx_dtype
    if eps is None:
        eps = float(np.finfo(working_type(dtype).numpy).eps)
    # An attribute is FLOAT; only DOUBLE would show the difference.
    if op.version >= 23 and dtype is not DType.DOUBLE:
        scale = full(op, normalized_shape, 1, dtype) if weight is None else cast(op, weight, dtype)
        return op.RMSNormalization(input, scale, axis=-len(normalized_shape), epsilon=eps)
    return _rms(op, input, len(normalized_shape), weight, eps)[0]


@rms_norm.on_complex
def _rms_norm_complex(
    op: Op,
    input: Complex,
    normalized_shape: Sequence[Size],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    """The mean of the squares, and its root, are complex: torch takes no absolute values."""
    if eps is None:
        eps = float(np.finfo(input.real.onnx_dtype.numpy).eps)
    axes = range(input.rank - len(normalized_shape), input.rank)
    square = algebra.mul(op, input, input)
    mean = algebra.each(lambda v: op.ReduceMean(v, list(axes)), square)
    root = _root(op, Complex(op.Add(mean.real, eps), mean.imag))
    length = op.Add(op.Mul(root.real, root.real), op.Mul(root.imag, root.imag))
    inverse = algebra.each(lambda v: op.Div(v, length), algebra.conj(op, root))
    result: Complex = algebra.mul(op, input, inverse)
    return result if weight is None else algebra.mul(op, result, weight)


def _root(op: Op, z: Complex) -> Complex:
    """The square root with a real part of zero or more."""
    radius = op.Sqrt(op.Add(op.Mul(z.real, z.real), op.Mul(z.imag, z.imag)))
    # The larger part of the root without cancellation; the other from `2 * x * y == imag`.
    large = op.Sqrt(op.Mul(op.Add(radius, op.Abs(z.real)), 0.5))
    small = op.Div(op.Abs(z.imag), op.Mul(large, 2.0))
    right = op.GreaterOrEqual(z.real, 0.0)
    sign = op.Where(op.Less(z.imag, 0.0), op.Neg(large), large)
    turned = op.Div(op.Mul(sign, op.Where(right, small, large)), large)
    return Complex(op.Where(right, large, small), turned)


@aten("aten::_fused_rms_norm", rule=like("input"), untested="OpInfos call rms_norm")
def fused_rms_norm(
    op: Op, input: Value, normalized_shape: Sequence[int], weight: Value | None, eps: float | None
) -> tuple[Value, ...]:
    """As `rms_norm`, with the inverse of the root."""
    if eps is None:
        eps = float(np.finfo(working_type(input.onnx_dtype).numpy).eps)
    return _rms(op, input, len(normalized_shape), weight, eps)


def _rms(op: Op, input: Value, count: int, weight: Value | None, eps: float) -> tuple[Any, Any]:
    x = cast(op, input, working_type(input.onnx_dtype))
    axes = list(range(input.rank - count, input.rank))
    inverse = inverse_root(op, op.ReduceMean(op.Mul(x, x), axes), eps)
    return cast(op, affine(op, op.Mul(x, inverse), weight, None), input.onnx_dtype), inverse


@aten(
    "aten::group_norm",
    rule=like("input"),
    tests=[OpTest("nn.functional.group_norm", tol=_HALF)],
)
def group_norm(
    op: Op,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Mean 0 and variance 1 over groups of channels, then scaled and moved."""
    del cudnn_enabled
    dtype = input.onnx_dtype
    # ONNX Runtime cannot reshape what is empty, and has neither kernel for DOUBLE.
    if dtype is DType.DOUBLE or 0 in input.shape:
        return _grouped(op, input, num_groups, weight, bias, eps)[0]
    # ONNX Runtime runs GroupNormalization as a function of some 20 nodes: up to 2.5 times as slow.
    if is_for_onnxruntime(op):
        return _instances(op, input, num_groups, weight, bias, eps)
    if op.version >= 21:
        channels = [size(op, input, 1)]
        scale = full(op, channels, 1, dtype) if weight is None else cast(op, weight, dtype)
        shift = full(op, channels, 0, dtype) if bias is None else cast(op, bias, dtype)
        return op.GroupNormalization(input, scale, shift, num_groups=num_groups, epsilon=eps)
    return _grouped(op, input, num_groups, weight, bias, eps)[0]


@aten("aten::native_group_norm", rule=like("input"), tests=[OpTest("native_group_norm", tol=_HALF)])
def native_group_norm(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    N: Size,
    C: Size,
    HxW: Size,
    group: int,
    eps: float,
) -> tuple[Value, ...]:
    """As `group_norm`, with the means and inverse deviations `[N, group]`."""
    del N, C, HxW
    return _grouped(op, input, group, weight, bias, eps)


def _by_group(op: Op, x: Value, groups: int) -> Value:
    """A value as `[N, groups, rest]`."""
    inner = x.shape[1:]
    rest = math.prod(inner) // groups if static(inner) else -1
    batch = size(op, x, 0)
    return op.Reshape(x, vector(op, [batch, groups, rest]))


def _instances(
    op: Op, input: Value, groups: int, weight: Value | None, bias: Value | None, eps: float
) -> Any:
    """Each group normalized as one channel of InstanceNormalization."""
    dtype = input.onnx_dtype
    x = cast(op, input, working_type(dtype))
    one, zero = (full(op, [groups], n, x.onnx_dtype) for n in (1, 0))
    normal = op.InstanceNormalization(_by_group(op, x, groups), one, zero, epsilon=eps)
    back = op.Reshape(normal, vector(op, sizes(op, input)))
    axes = list(range(1, input.rank - 1))
    weight, bias = (v if v is None or not axes else op.Unsqueeze(v, axes) for v in (weight, bias))
    return cast(op, affine(op, back, weight, bias), dtype)


def _grouped(
    op: Op, input: Value, groups: int, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Any, Any, Any]:
    dtype = input.onnx_dtype
    shape = vector(op, sizes(op, input))
    x = cast(op, input, working_type(dtype))
    x = _by_group(op, x, groups)
    mean, centred, variance = moments(op, x, [2])
    inverse = inverse_root(op, variance, eps)
    x = op.Reshape(op.Mul(centred, inverse), shape)
    axes = list(range(1, input.rank - 1))
    scale = weight
    weight, bias = (v if v is None or not axes else op.Unsqueeze(v, axes) for v in (weight, bias))
    result = cast(op, affine(op, x, weight, bias), dtype)
    dtype = dtype if scale is None else scale.onnx_dtype
    mean, inverse = (cast(op, op.Squeeze(v, [2]), dtype) for v in (mean, inverse))
    return result, mean, inverse


def norm_over(op: Op, x: Value, p: float, axes: Sequence[int]) -> Value:
    """The p-norm over axes, which are kept.

    Args:
        p: the order; may be infinite or 0.
        axes: the axes, counted from the front.
    """
    front = list(axes)
    if p == 2:
        return op.ReduceL2(x, front)
    if p == 1:
        return op.ReduceL1(x, front)
    if p == math.inf:
        return op.ReduceMax(op.Abs(x), front)
    if p == -math.inf:
        return op.ReduceMin(op.Abs(x), front)
    if p == 0:
        one_each = op.Cast(op.Not(op.Equal(x, 0)), to=x.onnx_dtype)
        return op.ReduceSum(one_each, front)
    return op.Pow(op.ReduceSum(op.Pow(op.Abs(x), p), front), 1 / p)


@aten("aten::renorm", rule=like("self"), tests=[OpTest("renorm", tol=_HALF)], complex="same")
def renorm(op: Op, self: Value, p: Number, dim: int, maxnorm: Number) -> Value:
    """Slices along an axis with a norm above `maxnorm` are scaled down to it."""
    x = algebra.each(lambda v: cast(op, v, working_type(v.onnx_dtype)), self)
    axes = [n for n in range(self.rank) if n != axis_of(dim, self.rank)]
    if isinstance(x, Complex):
        length = op.Sqrt(op.Add(op.Mul(x.real, x.real), op.Mul(x.imag, x.imag)))
    else:
        length = x
    norms = norm_over(op, length, float(p), axes)
    # The little number is torch's.
    factor = op.Where(
        op.Greater(norms, number(maxnorm, norms.onnx_dtype)),
        op.Div(number(maxnorm, norms.onnx_dtype), op.Add(norms, 1e-7)),
        op.constant(np.ones((), norms.onnx_dtype.numpy)),
    )
    return algebra.each(lambda v, w: cast(op, op.Mul(v, factor), w.onnx_dtype), x, self)


@aten("aten::_weight_norm", rule=like("v"), untested="torch has no OpInfo for it")
def weight_norm(op: Op, v: Value, g: Value, dim: int = 0) -> Any:
    """A weight with the direction of `v` and the lengths `g` along an axis."""
    return _weight_norm(op, v, g, dim)[0]


@aten("aten::_weight_norm_interface", rule=like("v"), untested="torch has no OpInfo for it")
def weight_norm_interface(op: Op, v: Value, g: Value, dim: int = 0) -> tuple[Value, ...]:
    """As `_weight_norm`, with the lengths of `v`."""
    return _weight_norm(op, v, g, dim)


def _weight_norm(op: Op, v: Value, g: Any, dim: int) -> tuple[Any, Any]:
    axes = [n for n in range(v.rank) if dim == -1 or n != axis_of(dim, v.rank)]
    norms = op.ReduceL2(v, axes)
    return op.Mul(v, op.Div(g, norms)), norms
