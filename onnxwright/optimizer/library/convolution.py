"""Convolutions with sums, factors and BatchNormalization before or after."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import is_read_once, modern
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.types.dtypes import DType


def _image(rng: Any) -> Draw:
    channels, kernels = (int(n) for n in rng.integers(1, 4, size=2))
    c = floats(rng, [(kernels, 1, 1), (1, kernels, 1, 1), (1, 1), ()][int(rng.integers(4))])
    return {
        "x": floats(rng, (2, channels, 5, 5)),
        "w": floats(rng, (kernels, channels, 3, 3)),
        "b": floats(rng, (kernels,)) if rng.integers(2) else None,
        "c": c,
        "d": np.asarray(np.abs(c) + 0.5, np.float32),
        "s": floats(rng, (1, channels, 1, 1)),
        "attrs": {"pads": [1, 1, 1, 1]} if rng.integers(2) else {},
    }


def _turned(rng: Any) -> Draw:
    drawn = _image(rng)
    return {**drawn, "w": np.swapaxes(drawn["w"], 0, 1).copy()}


def _of_channels(op: Any, c: Any, count: Any, w: Any) -> Any:
    """A constant as one number for each of the channels of a convolution's result, else None."""
    if c.rank is None or w.rank is None or c.dtype is not w.dtype or c.rank > w.rank:
        return None
    shape = (1,) * (w.rank - c.rank) + tuple(c.shape)
    if any(d != 1 for n, d in enumerate(shape) if n != 1) or not isinstance(count, int):
        return None
    if shape[1] == count:
        return op.Reshape(c, [-1])
    # A single number is for all channels: written once for each, it is as long as a bias.
    return op.Expand(op.Reshape(c, [1]), [count]) if shape[1] == 1 else None


def _channels(w: Any, attrs: Any, name: str) -> Any:
    """How many channels a convolution makes."""
    if w.shape is None or len(w.shape) < 3:
        return None
    if name == "Conv":
        return w.shape[0]
    groups = attrs.get("group", 1)
    return w.shape[1] * groups if isinstance(w.shape[1], int) else None


def _sum(name: str) -> Rule:
    """The rule for a sum after a convolution."""

    def pattern(op: Op, x: Value, w: Const, c: Const, attrs: Attrs, b: Const | None = None) -> Any:
        return getattr(op, name)(x, w, b, **attrs) + c

    def difference(
        op: Op, x: Value, w: Const, d: Const, attrs: Attrs, b: Const | None = None
    ) -> Any:
        return getattr(op, name)(x, w, b, **attrs) - d

    pattern.__doc__ = f"A sum for each channel after a {name} is its bias."
    shown = "conv_and_bias" if name == "Conv" else "transposed_conv_and_bias"
    new_rule = rule(name=shown, since=8, level="rounding",
                cases=_image if name == "Conv" else _turned)(pattern)  # fmt: skip
    new_rule.also(difference)

    @new_rule.to
    def _(op: Any, x: Any, w: Any, c: Any, d: Any, attrs: Any, b: Any, match: Any) -> Any:
        addend = d if c is None else c
        if not is_read_once(match, "b") or (addend.rank != 0 and not is_read_once(match, "c", "d")):
            return None
        bias = _of_channels(op, addend, _channels(w, attrs, name), w)
        if bias is None:
            return None
        if c is None:
            bias = op.Neg(bias) if b is None else b - bias
        elif b is not None:
            bias = b + bias
        return getattr(op, name)(x, w, bias, **attrs)

    return new_rule


SUMS = [_sum(name) for name in ("Conv", "ConvTranspose")]


def _product(name: str) -> Rule:
    """The rule for a factor after a convolution."""

    def pattern(op: Op, x: Value, w: Const, c: Const, attrs: Attrs, b: Const | None = None) -> Any:
        return getattr(op, name)(x, w, b, **attrs) * c

    def quotient(op: Op, x: Value, w: Const, d: Const, attrs: Attrs, b: Const | None = None) -> Any:
        return getattr(op, name)(x, w, b, **attrs) / d

    pattern.__doc__ = f"A factor for each channel after a {name} is part of its weights."
    shown = "conv_and_scale" if name == "Conv" else "transposed_conv_and_scale"
    new_rule = rule(name=shown, since=8, level="rounding",
                cases=_image if name == "Conv" else _turned)(pattern)  # fmt: skip
    new_rule.also(quotient)

    @new_rule.to
    def _(op: Any, x: Any, w: Any, c: Any, d: Any, attrs: Any, b: Any, match: Any) -> Any:
        if w.dtype is DType.FLOAT16 or not is_read_once(match, "w", "b"):
            return None
        if name == "ConvTranspose" and attrs.get("group", 1) != 1:
            return None
        factor = _of_channels(op, d if c is None else c, _channels(w, attrs, name), w)
        if factor is None:
            return None
        lead = [-1] if name == "Conv" else [1, -1]
        wide = op.Reshape(factor, [*lead, *[1] * (w.rank - len(lead))])
        if c is None:
            return getattr(op, name)(x, w / wide, None if b is None else b / factor, **attrs)
        return getattr(op, name)(x, w * wide, None if b is None else b * factor, **attrs)

    return new_rule


PRODUCTS = [_product(name) for name in ("Conv", "ConvTranspose")]


@rule(since=8, level="rounding", cases=_image)
def conv_of_scaled(
    op: Op, x: Value, w: Const, s: Const, attrs: Attrs, b: Const | None = None
) -> Any:
    """A factor for each channel before a convolution is part of its weights."""
    return op.Conv(x * s, w, b, **attrs)


@conv_of_scaled.to
def _(op: Op, x: Any, w: Any, s: Any, attrs: Any, b: Any, match: Any) -> Any:
    if w.dtype is DType.FLOAT16 or attrs.get("group", 1) != 1 or not is_read_once(match, "w"):
        return None
    if w.shape is None or x.rank != w.rank or s.rank is None:
        return None
    factor = _of_channels(op, s, w.shape[1], w)
    if factor is None:
        return None
    return op.Conv(x, w * op.Reshape(factor, [1, -1, *[1] * (w.rank - 2)]), b, **attrs)


def _normalized(rng: Any) -> Draw:
    drawn = _image(rng)
    count = drawn["x"].shape[1:2]
    return {
        **drawn,
        **{n: floats(rng, count) for n in ("scale", "bias", "mean")},
        "variance": np.abs(floats(rng, count)) + np.float32(0.5),
        "epsilon": 1e-3,
        "attrs": {},
    }


@rule(since=9, level="rounding", cases=_normalized)
def conv_of_normalized(
    op: Op, x: Value, scale: Const, bias: Const, mean: Const, variance: Const, w: Const,
    epsilon: Attr, attrs: Attrs, b: Const | None = None,
) -> Any:  # fmt: skip
    """BatchNormalization before a convolution that does not pad is part of its weights."""
    return op.Conv(
        op.BatchNormalization(x, scale, bias, mean, variance, epsilon=epsilon), w, b, **attrs
    )


@conv_of_normalized.also
def _(
    op: Op, x: Value, scale: Const, bias: Const, mean: Const, variance: Const, w: Const,
    epsilon: Attr, momentum: Attr, attrs: Attrs, b: Const | None = None,
) -> Any:  # fmt: skip
    normal = op.BatchNormalization(
        x, scale, bias, mean, variance, epsilon=epsilon, momentum=momentum
    )
    return op.Conv(normal, w, b, **attrs)


@conv_of_normalized.to
def _(
    op: Any, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, w: Any, epsilon: Any,
    attrs: Any, b: Any, match: Any,
) -> Any:  # fmt: skip
    # What is padded with zeros after a shift is not what is shifted after padding.
    if any(attrs.get("pads", ())) or attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    if attrs.get("group", 1) != 1 or w.dtype not in (DType.FLOAT, DType.DOUBLE):
        return None
    if w.shape is None or any(v.rank != 1 or v.dtype is not w.dtype
                              for v in (scale, bias, mean, variance)):  # fmt: skip
        return None
    if not is_read_once(match, "w", "b") or not isinstance(w.shape[0], int):
        return None
    factor = scale / op.Sqrt(variance + epsilon)
    shift = bias - mean * factor
    wide = [1, -1, *[1] * (w.rank - 2)]
    axes = list(range(1, w.rank))
    term = modern(op).ReduceSum(w * op.Reshape(shift, wide), axes, keepdims=0)
    return op.Conv(x, w * op.Reshape(factor, wide), term if b is None else b + term, **attrs)
