"""Functions that join tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import full
from onnxwright.atenlib.helpers.shape import expand_to, expand_together, flat, on_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise, like


def joined(op: Op, tensors: Sequence[Value], axis: int) -> Value:
    """Values one after the other along an axis."""
    return tensors[0] if len(tensors) == 1 else op.Concat(*tensors, axis=axis)


def at_least(op: Op, x: Value, rank: int) -> Value:
    """A value with dimensions added as torch.atleast_1d, 2d and 3d do."""
    missing = {
        0: list(range(rank)),
        1: {1: [], 2: [0], 3: [0, 2]}[rank],
        2: {1: [], 2: [], 3: [2]}[rank],
    }.get(x.rank, [])
    return op.Unsqueeze(x, missing) if missing else x


@aten(
    "aten::cat",
    "aten::concat",
    "aten::concatenate",
    "prims::cat",
    rule=elementwise("tensors"),
    complex="parts",
)
def cat(op: Op, tensors: Sequence[Value], dim: int = 0) -> Value:
    """Tensors one after the other along a dimension; `[0]`-shaped ones are passed over."""
    kept = [t for t in tensors if tuple(t.shape) != (0,)] or tensors[:1]
    return joined(op, kept, axis_of(dim, kept[0].rank))


@aten("aten::stack", rule=elementwise("tensors"), complex="parts")
def stack(op: Op, tensors: Sequence[Value], dim: int = 0) -> Value:
    """Tensors of one shape along a new dimension."""
    axis = dim % (tensors[0].rank + 1)
    return joined(op, [op.Unsqueeze(t, [axis]) for t in tensors], axis)


@aten("aten::hstack", rule=elementwise("tensors"), complex="parts")
def hstack(op: Op, tensors: Sequence[Value]) -> Value:
    """Tensors side by side: along the second dimension, vectors along their only one."""
    raised = [at_least(op, t, 1) for t in tensors]
    return joined(op, raised, min(1, raised[0].rank - 1))


@aten("aten::vstack", "aten::row_stack", rule=elementwise("tensors"), complex="parts")  # fmt: skip
def vstack(op: Op, tensors: Sequence[Value]) -> Value:
    """Tensors below each other; vectors are rows."""
    return joined(op, [at_least(op, t, 2) for t in tensors], 0)


@aten("aten::dstack", rule=elementwise("tensors"), complex="parts")
def dstack(op: Op, tensors: Sequence[Value]) -> Value:
    """Tensors behind each other, along the third dimension."""
    return joined(op, [at_least(op, t, 3) for t in tensors], 2)


@aten("aten::column_stack", rule=elementwise("tensors"), complex="parts")  # fmt: skip
def column_stack(op: Op, tensors: Sequence[Value]) -> Value:
    """Tensors side by side; vectors are columns."""
    columns = {0: [0, 1], 1: [1]}
    raised = [op.Unsqueeze(t, columns[t.rank]) if t.rank < 2 else t for t in tensors]
    return joined(op, raised, 1)


@aten("aten::block_diag", rule=elementwise("tensors"), complex="parts")  # fmt: skip
def block_diag(op: Op, tensors: Sequence[Value]) -> Value:
    """A matrix with the given ones on its diagonal and zeros elsewhere."""
    blocks = [at_least(op, t, 2) for t in tensors]
    widths = [size(op, b, 1) for b in blocks]
    rows = []
    for i, block in enumerate(blocks):
        height = size(op, block, 0)
        sides = [_total(op, widths[:i]), _total(op, widths[i + 1 :])]
        left, right = (full(op, [height, w], 0, block.onnx_dtype) for w in sides)
        parts = [
            part
            for part, width in zip((left, block, right), (sides[0], 1, sides[1]), strict=True)
            if not (isinstance(width, int) and width == 0)
        ]
        rows.append(joined(op, parts, 1))
    return joined(op, rows, 0)


def _total(op: Op, numbers: Sequence[Any]) -> Any:
    total: Any = 0
    for n in numbers:
        total = arithmetic(op, "Add", total, n)
    return total


@aten(
    "aten::meshgrid",
    "aten::meshgrid.indexing",
    rule=like("tensors"),
    complex="parts",
    tests=[OpTest("meshgrid:variadic_tensors"), OpTest("meshgrid:list_of_tensors")],
)
def meshgrid(op: Op, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    """The coordinates of a grid, one tensor for each of its axes."""
    vectors = [at_least(op, t, 1) for t in tensors]
    swapped = indexing == "xy" and len(vectors) >= 2
    places = list(range(len(vectors)))
    if swapped:
        places[:2] = [1, 0]
    shape: list[Any] = [None] * len(vectors)
    for place, v in zip(places, vectors, strict=True):
        shape[place] = size(op, v, 0)
    return [
        expand_to(op, on_axis(op, v, place, len(vectors)), shape)
        for place, v in zip(places, vectors, strict=True)
    ]


@aten("aten::cartesian_prod", rule=like("tensors"), complex="parts")  # fmt: skip
def cartesian_prod(op: Op, tensors: Sequence[Value]) -> Value:
    """All combinations of one element of each vector, as rows."""
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid.body(op, tensors)
    return joined(op, [op.Unsqueeze(flat(op, g), [1]) for g in grids], 1)


@aten("aten::combinations", rule=like(), complex="parts")
def combinations(op: Op, self: Value, r: int = 2, with_replacement: bool = False) -> Value:
    """All selections of `r` elements of a vector, in order, as rows."""
    n = size(op, self, 0)
    if r == 0:
        return op.Slice(self, [0], [0])
    from_zero = op.Range(0, n, 1)
    chosen = [on_axis(op, from_zero, i, r) for i in range(r)]
    ascending = op.Less if not with_replacement else op.LessOrEqual
    if r == 1:
        return op.Unsqueeze(self, [1])
    mask = ascending(chosen[0], chosen[1])
    for a, b in itertools.pairwise(chosen[1:]):
        mask = op.And(mask, ascending(a, b))
    return op.Gather(self, op.Transpose(op.NonZero(mask), perm=[1, 0]))


@aten("aten::broadcast_tensors", rule=like("tensors"))  # fmt: skip
def broadcast_tensors(op: Op, tensors: Sequence[Value]) -> list[Value]:
    """Tensors expanded to one shape."""
    return expand_together(op, tensors)


@broadcast_tensors.on_complex
def _broadcast_complex(op: Op, tensors: Sequence[Value]) -> list[Value]:
    """Real tensors among complex ones stay real."""
    reals = expand_together(op, [real_part(t) for t in tensors])
    imags = expand_together(op, [t.imag if isinstance(t, Complex) else t for t in tensors])
    return [
        Complex(real, imag) if isinstance(t, Complex) else real
        for t, real, imag in zip(tensors, reals, imags, strict=True)
    ]


def _at_least(rank: int, words: str) -> None:
    """Register the tensors, and lists of them, with so many dimensions or more."""

    def one(op: Op, self: Value) -> Value:
        return at_least(op, self, rank)

    def each(op: Op, tensors: Sequence[Value]) -> list[Value]:
        return [algebra.each(lambda part: at_least(op, part, rank), t) for t in tensors]

    doc = f"ith at least {words}."
    aten(f"aten::atleast_{rank}d", rule=like(), complex="parts", doc=f"W{doc}")(one)
    aten(
        f"aten::atleast_{rank}d.Sequence", rule=like("tensors"), complex="same",
        doc=f"Each w{doc}",
    )(each)  # fmt: skip


_at_least(1, "one dimension")
_at_least(2, "two dimensions")
_at_least(3, "three dimensions")
