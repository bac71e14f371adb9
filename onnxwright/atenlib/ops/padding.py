"""Padding in all modes, and of sequences of different lengths to one tensor."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import full, scalar, vector
from onnxwright.atenlib.helpers.shape import slice_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, is_known_zero, size
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.cat_stack import joined
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import elementwise, like

# Torch's name of a mode -> ONNX's.
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _by_axis(pad: Sequence[Any], rank: int) -> tuple[list[Any], list[Any]]:
    """What is put before and after each axis; torch lists pairs from the last axis back."""
    before, after = [0] * rank, [0] * rank
    for n in range(len(pad) // 2):
        before[rank - 1 - n], after[rank - 1 - n] = pad[2 * n], pad[2 * n + 1]
    return before, after


def _positive(n: Size) -> Size:
    return max(n, 0) if isinstance(n, int) else n


def _crop(op: Op, x: Value, before: Sequence[Any], after: Sequence[Any]) -> Value:
    """Cut off what negative numbers say."""
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        start = -low if isinstance(low, int) and low < 0 else 0
        end = high if isinstance(high, int) and high < 0 else None
        if start or end is not None:
            x = slice_axis(op, x, axis, start, end)
    return x


def pad_all(op: Op, x: Value, pad: Any, mode: str, value: Value | Number | None = None) -> Value:
    """A value with elements put around it, or cut off where numbers are negative.

    Args:
        pad: sizes, a pair (before, after) for each axis from the last back.
        mode: "constant", "reflect", "replicate" or "circular".
        value: what is put there with "constant"; zero if None.

    Returns:
        A value of the type of `x`.
    """
    before, after = _by_axis(pad, x.rank)
    if all(map(is_known_zero, (*before, *after))):
        return x
    if mode == "constant":
        filling = None if not value else scalar(op, value, x.onnx_dtype)
        return op.Pad(x, vector(op, [*before, *after]), filling, mode="constant")
    if mode == "circular":
        return _wrap(op, _crop(op, x, before, after), before, after)
    wide = [_positive(n) for n in (*before, *after)]
    if not all(map(is_known_zero, wide)):
        x = op.Pad(x, vector(op, wide), mode=_MODES[mode])
    return _crop(op, x, before, after)


def _wrap(op: Op, x: Value, before: Sequence[Any], after: Sequence[Any]) -> Value:
    """Put elements of the other end around."""
    wide = [_positive(n) for n in (*before, *after)]
    if op.version >= 19 and not all(map(is_known_zero, wide)) and 0 not in x.shape:
        return op.Pad(x, vector(op, wide), mode="wrap")
    for axis, (low, high) in enumerate(zip(wide[: x.rank], wide[x.rank :], strict=True)):
        parts = [x]
        if not is_known_zero(low):
            parts.insert(0, slice_axis(op, x, axis, _negative(op, low), None))
        if not is_known_zero(high):
            parts.append(slice_axis(op, x, axis, 0, high))
        x = op.Concat(*parts, axis=axis) if len(parts) > 1 else x
    return x


def _negative(op: Op, n: Size) -> Size:
    return -n if isinstance(n, int) else op.Neg(n)


@aten("aten::constant_pad_nd", rule=like())
def constant_pad_nd(op: Op, self: Value, pad: Sequence[Size], value: Number = 0) -> Value:
    """Elements of one value put around."""
    return pad_all(op, self, pad, "constant", value)


@constant_pad_nd.on_complex
def _constant_pad_nd_complex(
    op: Op, self: Complex, pad: Sequence[Size], value: Number = 0
) -> Complex:
    filling = complex(value or 0)
    return Complex(
        pad_all(op, self.real, pad, "constant", filling.real),
        pad_all(op, self.imag, pad, "constant", filling.imag),
    )


@aten(
    "aten::pad",
    rule=like(),
    tests=[
        OpTest("nn.functional.pad:constant"),
        OpTest("nn.functional.pad:reflect"),
        OpTest("nn.functional.pad:replicate"),
        OpTest("nn.functional.pad:replicate_negative"),
        OpTest("nn.functional.pad:circular"),
    ],
)
def pad(
    op: Op, self: Value, pad: Sequence[Size], mode: str = "constant", value: float | None = None
) -> Value:
    """Elements put around, found in one of four ways."""
    if mode not in _MODES:
        unsupported(f"padding mode `{mode}` is not known")
    return pad_all(op, self, pad, mode, value)


@pad.on_complex
def _pad_complex(
    op: Op, self: Complex, pad: Sequence[Size], mode: str = "constant", value: float | None = None
) -> Complex:
    filling = complex(value or 0)
    return Complex(
        pad_all(op, self.real, pad, mode, filling.real),
        pad_all(op, self.imag, pad, mode, filling.imag),
    )


@aten(
    "aten::_pad_enum",
    rule=like(),
    complex="parts",
    untested="torch.nn.functional.pad is recorded as a whole",
)
def pad_enum(
    op: Op, self: Value, pad: Sequence[Size], mode: int, value: float | None = None
) -> Value:
    """As `pad`, the mode given by its number."""
    return pad_all(op, self, pad, ("reflect", "replicate", "circular", "constant")[mode], value)


@aten(
    "aten::_pad_circular",
    rule=like(),
    complex="parts",
    untested="torch.nn.functional.pad is recorded as a whole",
)
def pad_circular(op: Op, self: Value, pad: Sequence[Size]) -> Value:
    """Elements of the other end put around."""
    return pad_all(op, self, pad, "circular")


@aten(
    "aten::reflection_pad1d",
    "aten::reflection_pad2d",
    "aten::reflection_pad3d",
    rule=like(),
    complex="parts",
    untested="torch.nn.functional.pad is recorded as a whole",
)
def reflection_pad(op: Op, self: Value, padding: int | Sequence[Size]) -> Value:
    """Elements put around as mirrored at the edge elements."""
    return pad_all(op, self, padding, "reflect")


@aten(
    "aten::replication_pad1d",
    "aten::replication_pad2d",
    "aten::replication_pad3d",
    rule=like(),
    complex="parts",
    untested="torch.nn.functional.pad is recorded as a whole",
)
def replication_pad(op: Op, self: Value, padding: int | Sequence[Size]) -> Value:
    """The edge elements put around."""
    return pad_all(op, self, padding, "replicate")


@aten(
    "aten::pad_sequence",
    rule=elementwise("sequences"),
    complex="parts",
    untested="torch has no OpInfo for it",
)
def pad_sequence(
    op: Op,
    sequences: Sequence[Value],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Value:
    """Sequences side by side, each with a number after (or before) it up to the longest one."""
    lengths = [size(op, s, 0) for s in sequences]
    longest = functools.reduce(lambda a, b: arithmetic(op, "Max", a, b), lengths)
    rows = []
    for sequence, length in zip(sequences, lengths, strict=True):
        missing = arithmetic(op, "Sub", longest, length)
        if not (isinstance(missing, int) and missing == 0):
            shape = [missing, *(size(op, sequence, n) for n in range(1, sequence.rank))]
            padding = full(op, shape, padding_value, sequence.onnx_dtype)
            parts = [sequence, padding] if padding_side == "right" else [padding, sequence]
            sequence = joined(op, parts, 0)
        rows.append(op.Unsqueeze(sequence, [0 if batch_first else 1]))
    return joined(op, rows, 0 if batch_first else 1)
