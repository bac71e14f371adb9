"""RotaryEmbedding of opset 23, written with slices, products and sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

# What ONNX Runtime has a kernel for.
_ROTATED = (DType.FLOAT, DType.FLOAT16)
_FAR = (1 << 31) - 1


def _angles(rng: Any) -> Draw:
    b, h, s, d = (int(n) for n in rng.integers(1, 5, size=4))
    lead = [(b, 1, s), (1, 1, s)][int(rng.integers(2))]
    short = (lead[0], s)
    cos, sin = floats(rng, (*lead, d)), floats(rng, (*lead, d))
    return {
        "x": floats(rng, (b, h, s, 2 * d)),
        "cos": cos,
        "sin": sin,
        "angles": floats(rng, (*short, d)),
        "zero": np.array([0]),
        "half": np.array([d]),
        "far": np.array([_FAR]),
        "last": np.array([3 if rng.integers(2) else -1]),
        "two": np.array([2]),
        "one": np.array([1]),
        "sizes": np.array([d, d]),
        "axis": -1,
        "back": np.array([b, h, s, 2 * d]),
        "end": np.array([-1 if rng.integers(2) else 4]),
    }


def _rotated_by_slices(op: Op, x: Value, zero: Const, half: Const, far: Const, last: Const) -> Any:
    return op.Concat(-op.Slice(x, half, far, last), op.Slice(x, zero, half, last), axis=-1)


def _table(op: Op, name: str, angles: Value) -> Any:
    return op.Unsqueeze(getattr(op, name)(op.Concat(angles, angles, axis=-1)), [1])


@rule(since=23, level="rounding", grows=True, cases=_angles)
def rotary_embedding(
    op: Any, x: Any, cos: Any, sin: Any, zero: Const, half: Const, far: Const, last: Const
) -> Any:
    """RotaryEmbedding: the halves of each head are turned by angles."""
    return x * cos + _rotated_by_slices(op, x, zero, half, far, last) * sin


@rotary_embedding.also
def _(op: Op, x: Value, cos: Value, sin: Value, sizes: Const, axis: Attr) -> Any:
    first, second = op.Split(x, sizes, axis=axis, _outputs=2)
    return x * cos + op.Concat(-second, first, axis=-1) * sin


@rotary_embedding.also
def _(op: Any, x: Any, angles: Any, zero: Const, half: Const, far: Const, last: Const) -> Any:
    turned = _rotated_by_slices(op, x, zero, half, far, last)
    return x * _table(op, "Cos", angles) + turned * _table(op, "Sin", angles)


@rotary_embedding.also
def _(op: Op, x: Value, angles: Value, sizes: Const, axis: Attr) -> Any:
    first, second = op.Split(x, sizes, axis=axis, _outputs=2)
    turned = op.Concat(-second, first, axis=-1)
    return x * _table(op, "Cos", angles) + turned * _table(op, "Sin", angles)


@rotary_embedding.to
def _(
    op: Any, x: Any, cos: Any, sin: Any, zero: Any, half: Any, far: Any, last: Any, sizes: Any,
    axis: Any, match: Any,
) -> Any:  # fmt: skip
    if not _is_halved(x, sizes, axis, (zero, half, far, last)):
        return None
    if cos is None:
        cos, sin = _tables(match)
    tables = [_cache(op, _once(op, t, 12), x) for t in (cos, sin)]
    if any(m is None for m in tables):
        return None
    return op.RotaryEmbedding(x, *tables)


def _tables(match: Any) -> list[Any]:
    """The values of cosines and sines, in the source graph the results of two Unsqueezes."""
    tables = {}
    for node in match.nodes.values():
        if node.op_type == "Unsqueeze":
            tables[node.inputs[0].producer().op_type] = match.resolve(node.outputs[0])
    return [tables["Cos"], tables["Sin"]]


def _has_halves(x: Any) -> bool:
    """Whether a value is heads `[batch, heads, length, size]` of an even size."""
    if x.rank != 4 or x.dtype not in _ROTATED or not isinstance(x.shape[1], int):
        return False
    return isinstance(x.shape[3], int) and x.shape[3] % 2 == 0 and None not in x.shape


def _is_halved(x: Any, sizes: Any, axis: Any, slices: tuple[Any, Any, Any, Any]) -> bool:
    """Whether a Split or two Slices cut the last axis of heads in two halves."""
    if not _has_halves(x):
        return False
    if sizes is not None:
        return axis in (-1, 3) and numbers(sizes) == [x.shape[3] // 2] * 2
    bounds = [numbers(v) for v in slices]
    if any(f is None or len(f) != 1 for f in bounds):
        return False
    start, middle, end, axis = (f[0] for f in bounds if f)
    return (start, middle) == (0, x.shape[3] // 2) and end >= x.shape[3] and axis in (-1, 3)


def _once(op: Any, table: Any, steps: int) -> Any:
    """The first half of a table whose last axis has everything twice; None where it has not."""
    node = table.value.producer()
    if node is None or node.domain or not steps:
        return None
    inputs: list[Any] = [None if v is None else op.backend.value_of(v) for v in node.inputs]
    if node.op_type == "Concat" and len(inputs) == 2:
        axis = node.attributes["axis"].as_int()
        same = inputs[0].value is inputs[1].value and table.rank is not None
        return inputs[0] if same and axis % table.rank == table.rank - 1 else None
    if node.op_type == "Mul":
        for one, other in (inputs, inputs[::-1]):
            if number(other) is not None and other.rank == 0:
                before = _once(op, one, steps - 1)
                return None if before is None else op.Mul(before, other)
        return None
    if node.op_type not in ("Cos", "Sin") and node.op_type not in ("Cast", "Unsqueeze"):
        return None
    before = _once(op, inputs[0], steps - 1)
    if before is None:
        return None
    if node.op_type == "Cast":
        return op.Cast(before, to=node.attributes["to"].as_int())
    if node.op_type == "Unsqueeze":
        axes = numbers(inputs[1])
        if axes is None or any(a % table.rank == table.rank - 1 for a in axes):
            return None
        return op.Unsqueeze(before, inputs[1])
    return getattr(op, node.op_type)(before)


def _cache(op: Op, table: Any, x: Any) -> Any:
    """A table `[batch, length, half]` of one `[batch or 1, 1, length, half]` or less."""
    if table is None or table.shape is None or table.dtype is not x.dtype:
        return None
    batch, _, length, size = x.shape
    shape = (1,) * (4 - len(table.shape)) + tuple(table.shape)
    if len(shape) != 4 or shape[1] != 1 or shape[2:] != (length, size // 2):
        return None
    if shape[0] not in (1, batch):
        return None
    if len(table.shape) == 4:
        table = op.Squeeze(table, [1])
    elif len(table.shape) == 3:
        table = op.Squeeze(table, [0])  # its first axis is that of the heads
    if table.rank == 3 and shape[0] == batch:
        return table
    wide = [batch, 1, 1] if isinstance(batch, int) else op.Concat(
        op.Shape(x, start=0, end=1), [1, 1], axis=0
    )  # fmt: skip
    return op.Expand(table, wide)


# -- both halves written out -----------------------------------------------------------------------


@rule(since=23, level="rounding", grows=True, cases=_angles)
def rotary_of_halves(op: Op, x: Value, cos: Value, sin: Value, sizes: Const, axis: Attr) -> Any:
    """RotaryEmbedding whose two halves are computed one by one."""
    first, second = op.Split(x, sizes, axis=axis, _outputs=2)
    return op.Concat(first * cos - second * sin, second * cos + first * sin, axis=-1)


@rotary_of_halves.also
def _(
    op: Op, x: Value, cos: Value, sin: Value, zero: Const, half: Const, far: Const, last: Const
) -> Any:
    first, second = op.Slice(x, zero, half, last), op.Slice(x, half, far, last)
    return op.Concat(first * cos - second * sin, second * cos + first * sin, axis=-1)


@rotary_of_halves.to
def _(
    op: Op, x: Any, cos: Any, sin: Any, zero: Any, half: Any, far: Any, last: Any, sizes: Any,
    axis: Any,
) -> Any:  # fmt: skip
    if not _is_halved(x, sizes, axis, (zero, half, far, last)):
        return None
    caches = [_cache(op, t, x) for t in (cos, sin)]
    return None if any(m is None for m in caches) else op.RotaryEmbedding(x, *caches)


def _turned_pairs(op: Op, even: Value, odd: Value, cos: Value, sin: Value, end: Const) -> Any:
    first, second = even * cos - odd * sin, odd * cos + even * sin
    return op.Concat(op.Unsqueeze(first, end), op.Unsqueeze(second, end), axis=-1)


@rule(since=23, level="rounding", grows=True, cases=_angles)
def rotary_of_pairs(
    op: Op, x: Value, cos: Value, sin: Value, zero: Const, one: Const, far: Const, last: Const,
    two: Const, end: Const, back: Value,
) -> Any:  # fmt: skip
    """RotaryEmbedding that turns elements next to one another."""
    even, odd = op.Slice(x, zero, far, last, two), op.Slice(x, one, far, last, two)
    return op.Reshape(_turned_pairs(op, even, odd, cos, sin, end), back)


@rotary_of_pairs.also
def _(
    op: Op, x: Value, cos: Value, sin: Value, zero: Const, one: Const, far: Const, last: Const,
    two: Const, end: Const, back: Const,
) -> Any:  # fmt: skip
    even, odd = op.Slice(x, zero, far, last, two), op.Slice(x, one, far, last, two)
    return op.Reshape(_turned_pairs(op, even, odd, cos, sin, end), back)


@rotary_of_pairs.to
def _(
    op: Op, x: Value, cos: Value, sin: Value, zero: Value, one: Value, far: Value, last: Value,
    two: Value,
    end: Value, match: Any,
) -> Any:  # fmt: skip
    bounds = [numbers(v) for v in (zero, one, far, last, two, end)]
    if not _has_halves(x) or any(f is None or len(f) != 1 for f in bounds):
        return None
    start, second, until, axis, step, place = (f[0] for f in bounds if f)
    if (start, second, step) != (0, 1, 2) or until < x.shape[3] or axis not in (-1, 3):
        return None
    result = match.kinds[0]
    if place not in (-1, 4) or result is None or result.shape != x.shape:
        return None
    tables = [_cache(op, t, x) for t in (cos, sin)]
    if any(t is None for t in tables):
        return None
    return op.RotaryEmbedding(x, *tables, interleaved=1)


# -- some of each head -----------------------------------------------------------------------------


def _partly(rng: Any) -> Draw:
    b, h, s, d, rest = (int(n) for n in rng.integers(1, 5, size=5))
    # The runtime works on sizes of the rotated part that are multiples of 8 elsewhere.
    d *= 8
    return {
        "x": floats(rng, (b, h, s, 2 * d + rest)),
        "cos": floats(rng, (b, s, d)),
        "sin": floats(rng, (b, s, d)),
        "sizes": np.array([2 * d, rest]),
        "axis": -1,
        "interleaved": int(rng.integers(2)),
    }


@rule(since=23, level="rounding", cases=_partly)
def rotary_of_a_part(
    op: Op, x: Value, cos: Value, sin: Value, sizes: Const, axis: Attr, interleaved: Attr
) -> Any:
    """RotaryEmbedding of the first elements of each head; the rest is joined to them again."""
    part, rest = op.Split(x, sizes, axis=axis, _outputs=2)
    turned = op.RotaryEmbedding(part, cos, sin, interleaved=interleaved)
    return op.Concat(turned, rest, axis=-1)


@rotary_of_a_part.to
def _(
    op: Op, x: Any, cos: Any, sin: Any, sizes: Any, axis: Any, interleaved: Any
) -> Any:  # fmt: skip
    lengths = numbers(sizes)
    if x.rank != 4 or lengths is None or len(lengths) != 2 or axis not in (-1, 3):
        return None
    if not isinstance(x.shape[1], int) or x.dtype not in _ROTATED:
        return None
    return op.RotaryEmbedding(
        x, cos, sin, interleaved=interleaved or 0, rotary_embedding_dim=lengths[0],
        num_heads=x.shape[1],
    )  # fmt: skip
