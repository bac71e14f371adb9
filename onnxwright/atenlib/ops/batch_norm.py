"""Normalization over batches and instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, scalar
from onnxwright.atenlib.helpers.sizes import numel, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.norm import affine, inverse_root, moments, working_type
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_HALF = {"float16": Tol(3e-3, 3e-3), "bfloat16": Tol(3e-2, 3e-2), "float32": Tol(1e-5, 1e-5)}


def _normalize(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Any,
    variance: Any,
    eps: float,
) -> Any:
    """`(input - mean) / sqrt(variance + eps) * weight + bias` for each channel, one node."""
    dtype = input.onnx_dtype
    channels = [size(op, input, 1)]
    weight = full(op, channels, 1, dtype) if weight is None else cast(op, weight, dtype)
    bias = full(op, channels, 0, dtype) if bias is None else cast(op, bias, dtype)
    # The kernel has one type for all.
    mean, variance = cast(op, mean, dtype), cast(op, variance, dtype)
    return op.BatchNormalization(input, weight, bias, mean, variance, epsilon=eps)


def _of_batch(op: Op, input: Value) -> tuple[Any, Any]:
    """The mean and the variance of each channel."""
    x = cast(op, input, working_type(input.onnx_dtype))
    axes = [n for n in range(input.rank) if n != 1]
    mean, _, variance = moments(op, x, axes)
    return op.Squeeze(mean, axes), op.Squeeze(variance, axes)


def _empty(op: Op, dtype: DType) -> Value:
    return op.constant(np.zeros(0, dtype.numpy))


def _train(
    op: Op, input: Value, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Any, Any, Any]:
    """The result by the batch's own statistics, these, and the inverse deviations' variance."""
    mean, variance = _of_batch(op, input)
    x = cast(op, input, mean.onnx_dtype)
    result = cast(op, _normalize(op, x, weight, bias, mean, variance, eps), input.onnx_dtype)
    return result, mean, variance


def _native(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
) -> tuple[Any, Any, Any]:
    dtype = (running_mean if running_mean is not None else input).onnx_dtype
    if weight is not None:
        dtype = weight.onnx_dtype
    if not training:
        result = _normalize(op, input, weight, bias, running_mean, running_var, eps)
        return result, _empty(op, dtype), _empty(op, dtype)
    result, mean, variance = _train(op, input, weight, bias, eps)
    return result, cast(op, mean, dtype), cast(op, inverse_root(op, variance, eps), dtype)


@aten(
    "aten::batch_norm",
    rule=like("input"),
    tests=[OpTest("nn.functional.batch_norm", tol=_HALF)],
)
def batch_norm(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Each channel by the running statistics, or by the batch's own in training."""
    del momentum, cudnn_enabled
    if input.rank == 1:  # torch lets only an empty one through
        return input
    if training:
        return _train(op, input, weight, bias, eps)[0]
    return _normalize(op, input, weight, bias, running_mean, running_var, eps)


@aten(
    "aten::native_batch_norm",
    "aten::_native_batch_norm_legit",
    rule=like("input"),
    tests=[
        OpTest("native_batch_norm", tol=_HALF),
        OpTest("_native_batch_norm_legit", tol=_HALF),
    ],
)
def native_batch_norm(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    """As `batch_norm`, with the batch's means and inverse deviations (empty in inference)."""
    del momentum
    return _native(op, input, weight, bias, running_mean, running_var, training, eps)


@aten(
    "aten::_native_batch_norm_legit.no_stats",
    rule=like("input"),
    tests=[OpTest("_native_batch_norm_legit", tol=_HALF)],
)
def native_batch_norm_no_stats(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    """As `native_batch_norm` without running statistics: always the batch's own."""
    del momentum, training
    return _native(op, input, weight, bias, None, None, True, eps)


def _updated(
    op: Op, input: Value, mean: Any, variance: Any, running: tuple[Any, Any], momentum: float
) -> tuple[Any, Any]:
    """Running statistics after a batch; the variance as that of a sample."""
    channels = size(op, input, 1)
    count: Any = numel(op, input)
    dtype = variance.onnx_dtype
    if isinstance(count, int) and isinstance(channels, int):
        n = count // max(channels, 1)
        sample = op.Mul(variance, n / (n - 1) if n > 1 else float("inf"))
    else:
        many = op.Div(scalar(op, count, dtype), scalar(op, channels, dtype))
        sample = op.Mul(variance, op.Div(many, op.Sub(many, 1)))

    def moved(old: Any, new: Any) -> Value:
        new = cast(op, new, old.onnx_dtype)
        return op.Add(op.Mul(old, 1 - momentum), op.Mul(new, momentum))

    return moved(running[0], mean), moved(running[1], sample)


@aten(
    "aten::_native_batch_norm_legit_functional",
    rule=like("input"),
    untested="functionalization makes it; OpInfos call the one that mutates",
)
def native_batch_norm_functional(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    """As `native_batch_norm`, with the new running statistics."""
    results = _native(op, input, weight, bias, running_mean, running_var, training, eps)
    if not training:
        return (*results, running_mean, running_var)
    mean, variance = _of_batch(op, input)
    return (*results, *_updated(op, input, mean, variance, (running_mean, running_var), momentum))


def _register(
    name: str,
    doc: str,
    *,
    training: bool,
    reserve: bool = True,
    updates: bool = False,
    tests: Sequence[OpTest] = (),
    untested: str = "",
) -> None:
    """Register a form of `native_batch_norm` whose name says whether it trains.

    Args:
        name: what ATen calls it.
        reserve: whether it gives the reserve of a cuDNN kernel, which is empty.
        updates: whether it gives the new running statistics.
        tests: the OpInfos it is held to.
        untested: why there are none.
    """

    def body(
        op: Op,
        input: Value,
        weight: Value | None,
        bias: Value | None,
        running_mean: Value | None,
        running_var: Value | None,
        momentum: float,
        eps: float,
    ) -> tuple[Any, ...]:
        results = _native(op, input, weight, bias, running_mean, running_var, training, eps)
        more = (_empty(op, DType.UINT8),) if reserve else ()
        if not updates:
            return (*results, *more)
        running = (running_mean, running_var)
        return (*results, *more, *_updated(op, input, *_of_batch(op, input), running, momentum))

    full = f"aten::{name}"
    aten(full, rule=like("input"), tests=tests, untested=untested, doc=doc)(body)


_register(
    "_native_batch_norm_legit_no_training", "As `native_batch_norm` by the running statistics.",
    training=False, reserve=False, untested="OpInfos call batch_norm",
)  # fmt: skip
_register(
    "_batch_norm_with_update", "As `native_batch_norm` in training.",
    training=True, tests=[OpTest("_batch_norm_with_update", tol=_HALF)],
)  # fmt: skip
_register(
    "_batch_norm_with_update_functional",
    "As `_batch_norm_with_update`, with the new running statistics.",
    training=True, updates=True,
    untested="functionalization makes it; OpInfos call the one that mutates",
)  # fmt: skip
_register(
    "_batch_norm_no_update", "As `native_batch_norm` in inference.",
    training=False, untested="OpInfos call batch_norm",
)  # fmt: skip


@aten(
    "aten::instance_norm",
    rule=like("input"),
    tests=[OpTest("nn.functional.instance_norm", tol=_HALF)],
)
def instance_norm(
    op: Op,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Each channel of each instance by its own statistics, or by the running ones."""
    del momentum, cudnn_enabled
    if not use_input_stats:
        return _normalize(op, input, weight, bias, running_mean, running_var, eps)
    dtype = input.onnx_dtype
    if dtype is DType.DOUBLE:
        _, centred, variance = moments(op, input, range(2, input.rank))
        axes = list(range(1, input.rank - 1))
        weight, bias = (v if v is None else op.Unsqueeze(v, axes) for v in (weight, bias))
        return affine(op, op.Mul(centred, inverse_root(op, variance, eps)), weight, bias)
    channels = [size(op, input, 1)]
    weight = full(op, channels, 1, dtype) if weight is None else cast(op, weight, dtype)
    bias = full(op, channels, 0, dtype) if bias is None else cast(op, bias, dtype)
    return op.InstanceNormalization(input, weight, bias, epsilon=eps)
