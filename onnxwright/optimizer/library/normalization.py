"""Normalizations that are written out: LayerNormalization, RMSNormalization and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.number import is_last_axis, number
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

# The runtimes have kernels of the normalizations for these.
_KERNELS = (DType.FLOAT, DType.FLOAT16, DType.DOUBLE)


def _layer(rng: Any) -> Draw:
    shape = sizes(rng, 2, 4)
    axis = -1 if rng.integers(2) else len(shape) - 1
    return {
        "x": floats(rng, shape),
        "scale": floats(rng, shape[-1:]),
        "bias": floats(rng, shape[-1:]),
        "axes": np.array([axis]),
        "epsilon": np.array(1e-5, np.float32),
        "two": np.array(2, np.float32),
    }


def _fits(x: Any, axes: Any, *weights: Any) -> bool:
    """Whether the last axis alone is normalized, and the weights are vectors of its length."""
    if x.dtype not in _KERNELS or x.shape is None or not is_last_axis(axes, x):
        return False
    return all(
        w.rank == 1 and w.dtype is x.dtype and w.shape[0] == x.shape[-1] and w.shape[0] is not None
        for w in weights
    )


@rule(since=17, level="rounding", cases=_layer)
def layer_normalization(
    op: Op, x: Value, axes: Const, two: Const, epsilon: Const, scale: Value, bias: Value
) -> Any:
    """LayerNormalization of the last axis, written with a mean and a power."""
    centered = x - op.ReduceMean(x, axes)
    variance = op.ReduceMean(op.Pow(centered, two), axes)
    return centered / op.Sqrt(variance + epsilon) * scale + bias


@layer_normalization.also
def _(op: Op, x: Value, axes: Const, epsilon: Const, scale: Value, bias: Value) -> Any:
    centered = x - op.ReduceMean(x, axes)
    variance = op.ReduceMean(centered * centered, axes)
    return centered / op.Sqrt(variance + epsilon) * scale + bias


@layer_normalization.also
def _(op: Op, x: Value, axes: Const, two: Const, epsilon: Const, scale: Value, bias: Value) -> Any:
    centered = x - op.ReduceMean(x, axes)
    variance = op.ReduceMean(op.Pow(centered, two), axes)
    return centered * op.Reciprocal(op.Sqrt(variance + epsilon)) * scale + bias


@layer_normalization.also
def _(op: Op, x: Value, axes: Const, epsilon: Const, scale: Value, bias: Value) -> Any:
    centered = x - op.ReduceMean(x, axes)
    variance = op.ReduceMean(centered * centered, axes)
    return centered * op.Reciprocal(op.Sqrt(variance + epsilon)) * scale + bias


@layer_normalization.to
def _(op: Op, x: Any, axes: Any, two: Any, epsilon: Any, scale: Any, bias: Any) -> Any:
    small = number(epsilon)
    if small is None or small < 0 or (two is not None and number(two) != 2):
        return None
    if not _fits(x, axes, scale, bias):
        return None
    return op.LayerNormalization(x, scale, bias, axis=-1, epsilon=small)


@rule(since=23, level="rounding", cases=_layer)
def rms_normalization(
    op: Op, x: Value, axes: Const, two: Const, epsilon: Const, scale: Value
) -> Any:
    """RMSNormalization of the last axis, written with a mean of squares."""
    mean = op.ReduceMean(op.Pow(x, two), axes)
    return x * op.Reciprocal(op.Sqrt(mean + epsilon)) * scale


@rms_normalization.also
def _(op: Op, x: Value, axes: Const, epsilon: Const, scale: Value) -> Any:
    mean = op.ReduceMean(x * x, axes)
    return x * op.Reciprocal(op.Sqrt(mean + epsilon)) * scale


@rms_normalization.also
def _(op: Op, x: Value, axes: Const, two: Const, epsilon: Const, scale: Value) -> Any:
    mean = op.ReduceMean(op.Pow(x, two), axes)
    return x * (1.0 / op.Sqrt(mean + epsilon)) * scale


@rms_normalization.also
def _(op: Op, x: Value, axes: Const, two: Const, epsilon: Const, scale: Value) -> Any:
    mean = op.ReduceMean(op.Pow(x, two), axes)
    return x / op.Sqrt(mean + epsilon) * scale


@rms_normalization.to
def _(op: Op, x: Any, axes: Any, two: Any, epsilon: Any, scale: Any) -> Any:
    small = number(epsilon)
    if small is None or small < 0 or (two is not None and number(two) != 2):
        return None
    if not _fits(x, axes, scale) or x.dtype is not DType.FLOAT:
        return None
    return op.RMSNormalization(x, scale, axis=-1, epsilon=small)
