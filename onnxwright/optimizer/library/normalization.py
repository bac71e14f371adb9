"""Normalizations that are written out: LayerNormalization, RMSNormalization and their like.

What is written varies in four ways, and every combination is a pattern: the square (a product or a
power), the root (`x / sqrt`, `x * reciprocal(sqrt)`, `x * (1 / sqrt)`, `x * power`), what follows
(scale and bias, one of them, none), and a Cast of half precision around what is computed in single.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from onnxwright.optimizer.building import runs
from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.types.dtypes import DType

_ROOTS = ("Div", "Reciprocal", "one", "Pow")
_SQUARES = ("Mul", "Pow")


def _drawn(rng: Any) -> Draw:
    shape = sizes(rng, 2, 4)
    count = 1 if rng.integers(3) else int(rng.integers(1, len(shape)))
    axes = np.arange(len(shape) - count, len(shape))
    return {
        "x": floats(rng, shape),
        "half": floats(rng, shape, np.float16),
        "scale": floats(rng, shape[-count:]),
        "bias": floats(rng, shape[-count:]),
        "half_scale": floats(rng, shape[-count:], np.float16),
        "half_bias": floats(rng, shape[-count:], np.float16),
        "axes": axes - len(shape) if rng.integers(2) else axes,
        "epsilon": np.array(1e-3, np.float32),
    }


def _over_root(op: Any, x: Any, total: Any, root: str) -> Any:
    """A value over the root of a sum."""
    if root == "Pow":
        return x * op.Pow(total, -0.5)
    if root == "Div":
        return x / op.Sqrt(total)
    inverse = op.Reciprocal(op.Sqrt(total)) if root == "Reciprocal" else 1.0 / op.Sqrt(total)
    return x * inverse


def _square(op: Any, x: Any, how: str) -> Any:
    return x * x if how == "Mul" else op.Pow(x, 2)


def _layer(op: Any, x: Any, axes: Any, epsilon: Any, square: str, root: str) -> Any:
    centered = x - op.ReduceMean(x, axes)
    total = op.ReduceMean(_square(op, centered, square), axes) + epsilon
    return _over_root(op, centered, total, root)


def _rms(op: Any, x: Any, axes: Any, epsilon: Any, square: str, root: str) -> Any:
    total = op.ReduceMean(_square(op, x, square), axes) + epsilon
    return _over_root(op, x, total, root)


Core = Callable[[Any, Any, Any, Any, str, str], Any]


def _forms(target_rule: Rule, core: Core, square: str, root: str, *, with_bias: bool) -> None:
    """Add the patterns of one way to write a normalization."""

    @target_rule.also
    def _(op: Any, x: Any, axes: Const, epsilon: Const, scale: Any) -> Any:
        return core(op, x, axes, epsilon, square, root) * scale

    @target_rule.also
    def _(op: Any, half: Any, axes: Const, epsilon: Const, half_scale: Any) -> Any:
        normal = core(op, op.Cast(half, to=1), axes, epsilon, square, root)
        return op.Cast(normal, to=10) * half_scale

    @target_rule.also
    def _(op: Any, x: Any, axes: Const, epsilon: Const) -> Any:
        return core(op, x, axes, epsilon, square, root)

    if with_bias:

        @target_rule.also
        def _(op: Any, x: Any, axes: Const, epsilon: Const, scale: Any, bias: Any) -> Any:
            return core(op, x, axes, epsilon, square, root) * scale + bias

        @target_rule.also
        def _(
            op: Any, half: Any, axes: Const, epsilon: Const, half_scale: Any, half_bias: Any
        ) -> Any:
            normal = core(op, op.Cast(half, to=1), axes, epsilon, square, root)
            return op.Cast(normal, to=10) * half_scale + half_bias


def _fits(x: Any, axes: Any, *weights: Any) -> int | None:
    """The first axis that is normalized, if all after it are, and the weights have their sizes."""
    gone = numbers(axes)
    if gone is None or x.shape is None or not gone:
        return None
    rank = len(x.shape)
    normal = sorted(a % rank for a in gone)
    if normal != list(range(normal[0], rank)):
        return None
    sizes = x.shape[normal[0] :]
    if any(
        w is not None and (w.dtype is not x.dtype or w.shape != sizes or None in sizes)
        for w in weights
    ):
        return None
    return normal[0] - rank


def layer_arguments(
    op: Any, x: Any, axes: Any, epsilon: Any, scale: Any, bias: Any
) -> tuple[list[Any], dict[str, Any]] | None:
    """The inputs and attributes of a LayerNormalization; None where it is not one.

    Args:
        op: the operators of the model's opset.
        axes, epsilon: constants, as the means and the root have them.
        scale, bias: of the size of the normalized axes, or None.

    Returns:
        The inputs, and `axis` and `epsilon`.
    """
    small, axis = number(epsilon), _fits(x, axes, scale, bias)
    if small is None or small < 0 or axis is None:
        return None
    scale = _ones(op, x) if scale is None else scale
    inputs = [x, scale] if bias is None else [x, scale, bias]
    return inputs, {"axis": axis, "epsilon": small}


def drawn_rows(rng: Any) -> Draw:
    """Inputs for the patterns of normalizations."""
    return _drawn(rng)


def _ones(op: Any, x: Any) -> Any:
    """A scale that does nothing; one number for all elements takes the fewest bytes."""
    return op.constant(np.ones(1, x.dtype.numpy))


@rule(since=17, level="rounding", cases=_drawn)
def layer_normalization(op: Any, x: Any, axes: Const, epsilon: Const, scale: Any, bias: Any) -> Any:
    """LayerNormalization written with means, a square and a root."""
    return _layer(op, x, axes, epsilon, "Pow", "Div") * scale + bias


for _how, _by in product(_SQUARES, _ROOTS):
    _forms(layer_normalization, _layer, _how, _by, with_bias=True)


@layer_normalization.also
def _(op: Any, x: Any, axes: Const, epsilon: Const, scale: Any, bias: Any) -> Any:
    # As TensorFlow writes it: the scale goes to the root, the mean to the bias.
    mean = op.ReduceMean(x, axes)
    centered = x - mean
    root = op.Sqrt(op.ReduceMean(centered * centered, axes) + epsilon)
    factor = op.Reciprocal(root) * scale
    return x * factor + (bias - mean * factor)


@layer_normalization.to
def _(
    op: Any, x: Any, half: Any, axes: Any, epsilon: Any, scale: Any, bias: Any, half_scale: Any,
    half_bias: Any,
) -> Any:  # fmt: skip
    if half is not None:
        x, scale, bias = half, half_scale, half_bias
    if not runs(op, "LayerNormalization", x.dtype):
        return None
    arguments = layer_arguments(op, x, axes, epsilon, scale, bias)
    return None if arguments is None else op.LayerNormalization(*arguments[0], **arguments[1])


@rule(since=23, level="rounding", cases=_drawn)
def rms_normalization(op: Any, x: Any, axes: Const, epsilon: Const, scale: Any) -> Any:
    """RMSNormalization written with a mean of squares and a root."""
    return _rms(op, x, axes, epsilon, "Pow", "Reciprocal") * scale


for _how, _by in product(_SQUARES, _ROOTS):
    _forms(rms_normalization, _rms, _how, _by, with_bias=False)


@rms_normalization.to
def _(op: Any, x: Any, half: Any, axes: Any, epsilon: Any, scale: Any, half_scale: Any) -> Any:
    small = number(epsilon)
    if half is not None:
        x, scale = half, half_scale
    axis = _fits(x, axes, scale)
    if small is None or small < 0 or axis is None:
        return None
    if x.dtype not in (DType.FLOAT, DType.FLOAT16):
        return None
    scale = _ones(op, x) if scale is None else scale
    return op.RMSNormalization(x, scale, axis=axis, epsilon=small)
