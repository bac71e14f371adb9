"""Dropout: nothing in inference; in training by the mask of a Dropout node.

ONNX Runtime removes a Dropout whose mask nobody uses from the middle of a graph, even where it asks
for training: the values are computed from the mask here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full_like
from onnxwright.atenlib.helpers.random_numbers import dropout_mask
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Skip
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

# Of alpha dropout: the value that SELU goes to for low numbers.
_ALPHA = -1.7580993408473766


def drop(op: Op, x: Value, p: float) -> tuple[Any, Any]:
    """A tensor with some elements zero and the others made larger, and which ones stay.

    Args:
        x: a value or a complex tensor.
        p: the probability of an element to become zero.

    Returns:
        The tensor, whose mean is that of `x`, and BOOL of its shape.
    """
    stays = dropout_mask(op, getattr(x, "real", x), p)
    return _chosen(op, x, stays, p), stays


def _chosen(op: Op, x: Value, stays: Any, p: float) -> Value:
    factor = 1 / (1 - p) if p < 1 else 0.0

    def one(v: Value) -> Value:
        return op.Where(stays, op.Mul(v, factor), op.constant(np.zeros((), v.onnx_dtype.numpy)))

    return algebra.each(one, x)


def _trains(sample: Any) -> bool:
    return bool(sample.kwargs.get("training", True)) and sample.kwargs.get("p", 0.5) not in (0, 0.0)


def _tests(name: str) -> list[OpTest]:
    random = Skip("the result is random", matcher=_trains)
    return [OpTest(name, skip=[random]), OpTest(name, compare="shape")]


@aten("aten::dropout", rule=like("input"), tests=_tests("nn.functional.dropout"))
def dropout(op: Op, input: Value, p: float, train: bool) -> Value:
    """The input; in training some elements are zero and the others larger."""
    return drop(op, input, p)[0] if train and p > 0 else input


@aten(
    "aten::native_dropout",
    rule=like("input"),
    untested="its OpInfo is of the gradient; the result is random",
)
def native_dropout(op: Op, input: Value, p: float, train: bool | None) -> tuple[Value, ...]:
    """As `dropout`, with the elements that stay."""
    if train is False:
        return input, full_like(op, getattr(input, "real", input), True, DType.BOOL)
    return drop(op, input, p)


def _feature_shape(op: Op, input: Value) -> Value:
    """One element for each channel of each instance, spread over the others' axes of one."""
    x = getattr(input, "real", input)
    axes = list(range(2, x.rank))
    return op.ReduceMax(cast(op, x, DType.FLOAT), axes) if axes else x


@aten(
    "aten::feature_dropout",
    rule=like("input"),
    tests=[*_tests("nn.functional.dropout2d"), *_tests("nn.functional.dropout3d")],
)
def feature_dropout(op: Op, input: Value, p: float, train: bool) -> Value:
    """As `dropout`, for whole channels."""
    if not train or p == 0:
        return input
    return _chosen(op, input, dropout_mask(op, _feature_shape(op, input), p), p)


@aten(
    "aten::alpha_dropout",
    rule=like("input"),
    tests=_tests("nn.functional.alpha_dropout"),
)
def alpha_dropout(op: Op, input: Value, p: float, train: bool) -> Value:
    """Dropout that keeps mean 0 and variance 1: dropped elements go to SELU's lowest value."""
    if not train or p == 0:
        return input
    return _alpha(op, input, dropout_mask(op, input, p), p)


@aten(
    "aten::feature_alpha_dropout",
    rule=like("input"),
    tests=[
        *_tests("nn.functional.feature_alpha_dropout:with_train"),
        *_tests("nn.functional.feature_alpha_dropout:without_train"),
    ],
)
def feature_alpha_dropout(op: Op, input: Value, p: float, train: bool) -> Value:
    """As `alpha_dropout`, for whole channels."""
    if not train or p == 0:
        return input
    return _alpha(op, input, dropout_mask(op, _feature_shape(op, input), p), p)


def _alpha(op: Op, x: Value, stays: Any, p: float) -> Value:
    if isinstance(x, Complex):
        unsupported("torch itself has no alpha dropout of complex tensors")
    dtype = x.onnx_dtype
    if p == 1:
        return full_like(op, x, 0)
    # Self-Normalizing Neural Networks (Klambauer et al., 2017), appendix on alpha dropout.
    scale = 1 / math.sqrt((1 - p) * (1 + p * _ALPHA**2))
    shift = -scale * p * _ALPHA
    low = op.constant(np.array(scale * _ALPHA + shift, dtype.numpy))
    return op.Where(stays, op.Add(op.Mul(x, scale), shift), low)


for _function in (dropout, native_dropout, feature_dropout, alpha_dropout, feature_alpha_dropout):
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
