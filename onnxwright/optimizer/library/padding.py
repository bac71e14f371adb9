"""Pad merged into operators that pad themselves: convolutions, pools, and another Pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.operators.pads import sides_of_pad, with_pads
from onnxwright.optimizer.building import modern, runs
from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule


def _padded(rng: Any) -> Draw:
    sides = [0, 0, *(int(n) for n in rng.integers(0, 2, size=2))] * 2
    return {
        "x": floats(rng, (1, 2, 5, 5)),
        "w": floats(rng, (3, 2, 3, 3)),
        "b": floats(rng, (3,)) if rng.integers(2) else None,
        "pads": np.array(sides),
        "others": np.array(sides[::-1]),
        "mode": "constant",
        "value": [None, np.array(0, np.float32)][int(rng.integers(2))],
        "zero": np.array(0, np.float32),
        "least": np.array(-np.inf, np.float32),
        "attrs": {"kernel_shape": [2, 2], **({"strides": [2, 2]} if rng.integers(2) else {})},
    }


def _conv(rng: Any) -> Draw:
    return {**_padded(rng), "attrs": {"pads": [1, 0, 1, 0]} if rng.integers(2) else {}}


def _sides(x: Any, pads: Any, axes: Any, mode: Any) -> list[int] | None:
    """How much a Pad adds before each axis and after each; None where that is not known."""
    amounts, places = numbers(pads), None if axes is None else numbers(axes)
    mode = mode.decode() if isinstance(mode, bytes) else mode
    if (
        amounts is None
        or x.rank is None
        or mode != "constant"
        or (axes is None) != (places is None)
    ):
        return None
    return sides_of_pad(amounts, places, x.rank)


def _padding_itself(x: Any, pads: Any, axes: Any, mode: Any, attrs: Any) -> dict[str, Any] | None:
    """The attributes of a window operator after a Pad, None where it cannot take the Pad in."""
    sides = _sides(x, pads, axes, mode)
    return None if sides is None else with_pads(attrs, sides)


@rule(since=2, cases=_conv)
def pad_into_conv(
    op: Op, x: Any, pads: Const, w: Any, mode: Attr, attrs: Attrs, b: Any = None,
    value: Const | None = None, axes: Const | None = None,
) -> Any:  # fmt: skip
    """Zeros around an image are padding of the convolution after them."""
    return op.Conv(op.Pad(x, pads, value, axes, mode=mode), w, b, **attrs)


@pad_into_conv.to
def _(
    op: Op, x: Any, pads: Any, w: Any, mode: Any, attrs: Any, b: Any, value: Any, axes: Any
) -> Any:
    if value is not None and number(value) != 0:
        return None
    changed = _padding_itself(x, pads, axes, mode, attrs)
    return None if changed is None else op.Conv(x, w, b, **changed)


def _fits_pool(attrs: Any) -> bool:
    """Whether each window of a pool with these attributes has an element of the image."""
    if attrs.get("ceil_mode") or any(d != 1 for d in attrs.get("dilations", ())):
        return False
    kernel = [int(k) for k in attrs["kernel_shape"]] * 2
    return all(p < k for p, k in zip(attrs["pads"], kernel, strict=True))


@rule(since=7, level="rounding", cases=_padded)
def pad_into_average_pool(
    op: Op, x: Value, pads: Const, mode: Attr, attrs: Attrs, value: Const | None = None,
    axes: Const | None = None,
) -> Any:  # fmt: skip
    """Zeros around an image are padding of an AveragePool that counts them."""
    return op.AveragePool(op.Pad(x, pads, value, axes, mode=mode), **attrs)


@pad_into_average_pool.to
def _(op: Op, x: Any, pads: Any, mode: Any, attrs: Any, value: Any, axes: Any) -> Any:
    if value is not None and number(value) != 0:
        return None
    # Padding of its own that is not counted would be counted, too.
    if any(attrs.get("pads") or ()) and not attrs.get("count_include_pad"):
        return None
    changed = _padding_itself(x, pads, axes, mode, attrs)
    if changed is None or not _fits_pool(changed):
        return None
    return op.AveragePool(x, **{**changed, "count_include_pad": 1})


@rule(since=2, cases=_padded)
def pad_into_max_pool(
    op: Op, x: Value, pads: Const, least: Const, mode: Attr, attrs: Attrs,
    axes: Const | None = None,
) -> Any:  # fmt: skip
    """-inf around an image is padding of the MaxPool after it."""
    return op.MaxPool(op.Pad(x, pads, least, axes, mode=mode), **attrs)


@pad_into_max_pool.to
def _(op: Op, x: Value, pads: Value, least: Value, mode: Value, attrs: Any, axes: Any) -> Any:
    if number(least) != -np.inf:
        return None
    changed = _padding_itself(x, pads, axes, mode, attrs)
    if changed is None or not _fits_pool(changed):
        return None
    return op.MaxPool(x, **changed)


@rule(since=2, cases=_padded)
def pad_of_relu_into_max_pool(
    op: Op, x: Value, pads: Const, mode: Attr, attrs: Attrs, value: Const | None = None,
    axes: Const | None = None,
) -> Any:  # fmt: skip
    """Zeros around what is not negative are padding of the MaxPool after them."""
    return op.MaxPool(op.Pad(op.Relu(x), pads, value, axes, mode=mode), **attrs)


@pad_of_relu_into_max_pool.to
def _(op: Op, x: Any, pads: Any, mode: Any, attrs: Any, value: Any, axes: Any) -> Any:
    if (value is not None and number(value) != 0) or not runs(op, "MaxPool", x.dtype):
        return None
    changed = _padding_itself(x, pads, axes, mode, attrs)
    if changed is None or not _fits_pool(changed):
        return None
    return op.MaxPool(op.Relu(x), **changed)


@rule(since=2, cases=_padded)
def pad_of_pad(
    op: Op, x: Value, pads: Const, others: Const, value: Const | None = None,
    zero: Const | None = None,
) -> Any:  # fmt: skip
    """Two Pads with the same number are one."""
    return op.Pad(op.Pad(x, pads, value), others, zero)


@pad_of_pad.to
def _(op: Op, x: Any, pads: Any, others: Any, value: Any, zero: Any) -> Any:
    first, second = _sides(x, pads, None, "constant"), _sides(x, others, None, "constant")
    if first is None or second is None or x.dtype is None or not x.dtype.is_float:
        return None
    fills = [0.0 if v is None else number(v) for v in (value, zero)]
    if fills[0] is None or fills[0] != fills[1]:
        return None
    both = [a + b for a, b in zip(first, second, strict=True)]
    return modern(op).Pad(x, both, np.array(fills[0], x.dtype.numpy))
