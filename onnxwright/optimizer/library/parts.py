"""Parts of tensors: Slice, Split, Gather and Concat, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from onnxwright.optimizer.building import makers, modern
from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule

# -- Split -----------------------------------------------------------------------------------------


def _thirds(rng: Any) -> Draw:
    ends = sorted(int(n) for n in rng.choice(np.arange(1, 9), size=3, replace=False))
    bounds = [0, *ends, 9]
    drawn = {"x": floats(rng, (2, 9)), "axis": np.array([1 if rng.integers(2) else -1])}
    for count in (3, 4):
        cut = [0, *bounds[1:count], 9]
        drawn |= {f"a{count}{n}": np.array([v]) for n, v in enumerate(cut[:-1])}
        drawn |= {f"b{count}{n}": np.array([v]) for n, v in enumerate(cut[1:])}
    return drawn


@rule(since=13, cases=_thirds)
def three_slices_to_split(
    op: Op, x: Value, axis: Const, a30: Const, b30: Const, a31: Const, b31: Const, a32: Const,
    b32: Const,
) -> Any:  # fmt: skip
    """Three Slices that cut an axis in three parts are one Split."""
    return op.Slice(x, a30, b30, axis), op.Slice(x, a31, b31, axis), op.Slice(x, a32, b32, axis)


@three_slices_to_split.also
def _(
    op: Op, x: Value, axis: Const, a30: Const, b30: Const, a31: Const, b31: Const, a32: Const,
    b32: Const,
) -> Any:  # fmt: skip
    cuts = ((a30, b30), (a31, b31), (a32, b32))
    return tuple(op.Slice(x, a, b, axis, [1]) for a, b in cuts)


@three_slices_to_split.to
def _(
    op: Op, x: Value, axis: Any, a30: Value, b30: Value, a31: Value, b31: Value, a32: Value,
    b32: Value,
) -> Any:  # fmt: skip
    return _split(op, x, axis, [(a30, b30), (a31, b31), (a32, b32)])


@rule(since=13, cases=_thirds)
def four_slices_to_split(
    op: Op, x: Value, axis: Const, a40: Const, b40: Const, a41: Const, b41: Const, a42: Const,
    b42: Const, a43: Const, b43: Const,
) -> Any:  # fmt: skip
    """Four Slices that cut an axis in four parts are one Split."""
    cuts = ((a40, b40), (a41, b41), (a42, b42), (a43, b43))
    return tuple(op.Slice(x, a, b, axis) for a, b in cuts)


@four_slices_to_split.also
def _(
    op: Op, x: Value, axis: Const, a40: Const, b40: Const, a41: Const, b41: Const, a42: Const,
    b42: Const, a43: Const, b43: Const,
) -> Any:  # fmt: skip
    cuts = ((a40, b40), (a41, b41), (a42, b42), (a43, b43))
    return tuple(op.Slice(x, a, b, axis, [1]) for a, b in cuts)


@four_slices_to_split.to
def _(
    op: Op, x: Value, axis: Any, a40: Value, b40: Value, a41: Value, b41: Value, a42: Value,
    b42: Value,
    a43: Value, b43: Value,
) -> Any:  # fmt: skip
    return _split(op, x, axis, [(a40, b40), (a41, b41), (a42, b42), (a43, b43)])


def _split(op: Op, x: Value, axis: Any, cuts: Sequence[tuple[Any, Any]]) -> Any:
    """The Split whose parts are given slices of an axis, in the order of the slices."""
    place = numbers(axis)
    if x.shape is None or place is None or len(place) != 1:
        return None
    size = x.shape[place[0]]
    ends = [(numbers(a), numbers(b)) for a, b in cuts]
    if not isinstance(size, int) or any(a is None or b is None for a, b in ends):
        return None
    bounds = [slice(a[0], b[0]).indices(size)[:2] for a, b in ends if a and b]
    order = sorted(range(len(bounds)), key=lambda n: bounds[n])
    edges = [0, *(bounds[n][1] for n in order)]
    if [bounds[n][0] for n in order] != edges[:-1] or edges[-1] != size or len(bounds) < len(cuts):
        return None
    sizes = [b - a for a, b in pairwise(edges)]
    if min(sizes) <= 0:
        return None
    parts = op.Split(x, sizes, axis=place[0])
    return tuple(parts[order.index(n)] for n in range(len(cuts)))


def _joined(rng: Any) -> Draw:
    return {"x": floats(rng, (12, 3)), "axis": 0, "sizes": np.array([2, 4, 6])}


@rule(since=2, cases=lambda rng: {**_joined(rng), "sizes": None, "rest": {}, "axis": 0})
def concat_of_split(op: Op, x: Value, axis: Attr, rest: Attrs, sizes: Const | None = None) -> Any:
    """All parts of a Split joined again in their order."""
    return op.Concat(*op.Split(x, sizes, axis=axis, _outputs=2, **rest), axis=axis)


@concat_of_split.also
def _(op: Op, x: Value, axis: Attr, rest: Attrs, sizes: Const | None = None) -> Any:
    return op.Concat(*op.Split(x, sizes, axis=axis, _outputs=3, **rest), axis=axis)


@concat_of_split.also
def _(op: Op, x: Value, axis: Attr, rest: Attrs, sizes: Const | None = None) -> Any:
    return op.Concat(*op.Split(x, sizes, axis=axis, _outputs=4, **rest), axis=axis)


@concat_of_split.to
def _(op: Op, x: Value, match: Any) -> Any:
    del op
    split = next(n for n in match.nodes.values() if n.op_type == "Split")
    return x if len(split.outputs) == len(match.roots[0].inputs) else None


# -- Concat and Gather -----------------------------------------------------------------------------


def _three(rng: Any) -> Draw:
    drawn = {n: floats(rng, (2, int(rng.integers(1, 4)))) for n in "xyz"}
    return {**drawn, "xs": list(drawn.values()), "axis": 1}


@rule(since=4, cases=_three)
def concat_of_concat(op: Op, *xs: Any, axis: Attr) -> Any:
    """A Concat of what is joined along the same axis: one of all parts."""
    return op.Concat(*xs, axis=axis)


@concat_of_concat.also
def _(op: Op, x: Value, y: Value, z: Value, axis: Attr) -> Any:
    return op.Concat(op.Concat(x, y, axis=axis), z, axis=axis)


@concat_of_concat.to
def _(op: Op, x: Any, y: Any, z: Any, *xs: Any, axis: Any, match: Any) -> Any:
    if x is not None:
        return op.Concat(x, y, z, axis=axis)
    operands: list[Any] = []
    sources = match.roots[0].inputs
    for value, node, source in zip(xs, makers(op, xs, "Concat"), sources, strict=True):
        if node is None or len(source.uses()) > 1 or source.is_graph_output():
            operands.append(value)
            continue
        inner = node.attributes["axis"].as_int()
        if inner != axis and (value.rank is None or inner % value.rank != axis % value.rank):
            operands.append(value)
        else:
            operands += [op.backend.value_of(v) for v in node.inputs]
    return None if len(operands) == len(xs) else op.Concat(*operands, axis=axis)


def _indices(rng: Any) -> Draw:
    start, count = int(rng.integers(0, 5)), int(rng.integers(1, 4))
    return {
        "x": floats(rng, (2, 8)),
        "i": np.arange(start, start + count),
        "j": rng.integers(-count, count, size=[(), (2,)][int(rng.integers(2))]),
        "axis": 1,
    }


@rule(cases=lambda rng: {"x": floats(rng, (2, 3)), "i": np.array([0, 1, -1]), "axis": 1})
def gather_of_all(op: Op, x: Value, i: Const, axis: Attr) -> Any:
    """All elements of an axis in their order."""
    return op.Gather(x, i, axis=axis)


@gather_of_all.to
def _(op: Op, x: Value, i: Value, axis: Any) -> Any:
    del op
    places = numbers(i)
    if not places or i.rank != 1 or x.shape is None or len(x.shape) < 1:
        return None
    size = x.shape[axis]
    if not isinstance(size, int) or not -size <= min(places) <= max(places) < size:
        return None
    return x if [p % size for p in places] == list(range(size)) else None


@rule(cases=_indices)
def gather_of_gather(op: Op, x: Value, i: Const, j: Const, axis: Attr) -> Any:
    """Elements of elements: the indices are looked up once."""
    return op.Gather(op.Gather(x, i, axis=axis), j, axis=axis)


@gather_of_gather.to
def _(op: Op, x: Any, i: Any, j: Any, axis: Any) -> Any:
    outer, inner = j.constant, i.constant
    if outer is None or inner is None or inner.ndim != 1 or outer.dtype.kind not in "iu":
        return None
    if not outer.size or not -len(inner) <= outer.min() <= outer.max() < len(inner):
        return None
    return op.Gather(x, np.asarray(inner[outer], inner.dtype), axis=axis)


# -- operands that are empty -----------------------------------------------------------------------


def _with_empty(rng: Any) -> Draw:
    axis = int(rng.integers(-2, 2))
    parts = []
    for _ in range(int(rng.integers(2, 5))):
        shape = [3, 3]
        shape[axis] = int(rng.integers(0, 3))
        parts.append(floats(rng, tuple(shape)))
    return {"xs": parts, "axis": axis}


@rule(since=4, cases=_with_empty)
def concat_with_empty(op: Op, *xs: Value, axis: Attr) -> Any:
    """A Concat of which some operands have no elements: they are left out."""
    return op.Concat(*xs, axis=axis)


@concat_with_empty.to
def _(op: Op, *xs: Any, axis: Any) -> Any:
    if any(x.shape is None for x in xs):
        return None
    left = [x for x in xs if x.shape[axis] != 0]
    if not left or len(left) == len(xs):
        return None
    return left[0] if len(left) == 1 else op.Concat(*left, axis=axis)


# -- axes of length 1 ------------------------------------------------------------------------------


def _ones(rng: Any) -> Draw:
    a, b = (int(n) for n in rng.choice(4, size=2, replace=False))
    shape = [2, 3]
    for axis in sorted((a, b)):
        shape.insert(axis, 1)
    after = b - (a < b)
    return {"x": floats(rng, (2, 3)), "y": floats(rng, tuple(shape)), "a": np.array([a]),
            "b": np.array([after]), "p": np.array([int(rng.integers(3))]),
            "q": np.array([int(rng.integers(-4, 4))])}  # fmt: skip


# The inner one may have several readers, if all of them are Unsqueezes: it is not needed then.
@rule(cases=_ones, always=True)
def unsqueeze_of_unsqueeze(op: Op, x: Value, p: Const, q: Const) -> Any:
    """Axes of length 1 that are added one after the other are added at once."""
    return op.Unsqueeze(op.Unsqueeze(x, p), q)


@unsqueeze_of_unsqueeze.to
def _(op: Op, x: Value, p: Value, q: Value, match: Any) -> Any:
    first, second = numbers(p), numbers(q)
    if x.rank is None or first is None or second is None:
        return None
    inner = match.roots[0].inputs[0]
    if inner.is_graph_output() or any(u.node.op_type != "Unsqueeze" for u in inner.uses()):
        return None
    middle = x.rank + len(first)
    last = middle + len(second)
    added, outer = {a % middle for a in first}, {a % last for a in second}
    if len(added) != len(first) or len(outer) != len(second):
        return None
    kept = [n for n in range(last) if n not in outer]
    return modern(op).Unsqueeze(x, sorted([*outer, *(kept[a] for a in added)]))


@rule(cases=_ones)
def squeeze_of_squeeze(op: Op, y: Value, a: Const, b: Const) -> Any:
    """Axes that are removed one after the other are removed at once."""
    return op.Squeeze(op.Squeeze(y, a), b)


@squeeze_of_squeeze.to
def _(op: Op, y: Value, a: Value, b: Value) -> Any:
    first, second = numbers(a), numbers(b)
    if y.rank is None or first is None or second is None:
        return None
    gone = {n % y.rank for n in first}
    kept = [n for n in range(y.rank) if n not in gone]
    if len(gone) != len(first) or any(not -len(kept) <= n < len(kept) for n in second):
        return None
    return modern(op).Squeeze(y, sorted([*gone, *(kept[n] for n in second)]))


def _sizes_as_numbers(rng: Any) -> Draw:
    shape = [int(n) for n in rng.integers(1, 5, size=2)]
    return {
        "s": np.array(shape[:1]), "t": np.array(shape[1:]), "c": np.array(int(rng.integers(1, 9))),
        "a": np.array([0]), "b": np.array([0]), "p": np.array([int(rng.choice([0, -1]))]),
    }  # fmt: skip


def _as_vectors(name: str) -> Rule:
    """The rule for arithmetic of vectors of one number, as numbers in between."""
    compute = name.lower()

    def pattern(op: Op, s: Value, c: Const, a: Const, p: Const) -> Any:
        return op.Unsqueeze(getattr(op, name)(op.Squeeze(s, a), c), p)

    def swapped(op: Op, s: Value, c: Const, a: Const, p: Const) -> Any:
        return op.Unsqueeze(getattr(op, name)(c, op.Squeeze(s, a)), p)

    def both(op: Op, s: Value, t: Value, a: Const, b: Const, p: Const) -> Any:
        return op.Unsqueeze(getattr(op, name)(op.Squeeze(s, a), op.Squeeze(t, b)), p)

    pattern.__doc__ = f"A {name} of sizes as numbers, which are made a vector: of vectors already."
    # Others may read the numbers, as Range does.
    new_rule = rule(name=f"{compute}_of_vectors", always=True, cases=_sizes_as_numbers)(pattern)
    if name in ("Sub", "Div"):
        new_rule.also(swapped)
    new_rule.also(both)

    @new_rule.to
    def _(op: Any, s: Any, t: Any, c: Any, p: Any, match: Any) -> Any:
        between = match.roots[0].inputs[0]
        if between.is_graph_output() or len(between.uses()) != 1 or numbers(p) not in ([0], [-1]):
            return None
        if s.shape != (1,) or (t is not None and t.shape != (1,)):
            return None
        if t is not None:
            return getattr(op, name)(s, t)
        if c.rank != 0:
            return None
        first = between.producer().inputs[0].producer()
        left = first is not None and first.op_type == "Squeeze"
        other = op.Reshape(c, [1])
        return getattr(op, name)(s, other) if left else getattr(op, name)(other, s)

    return new_rule


AS_VECTORS = [_as_vectors(name) for name in ("Add", "Sub", "Mul", "Div")]


def _transposed_ones(rng: Any) -> Draw:
    shape = [1, 1, 2, 3]
    perm = [int(n) for n in rng.permutation(4)]
    gone = [perm.index(0), perm.index(1)]
    return {"x": floats(rng, tuple(shape)), "perm": perm, "axes": np.array(gone)}


@rule(cases=_transposed_ones)
def squeeze_of_transpose(op: Op, x: Value, perm: Attr, axes: Const) -> Any:
    """A Squeeze of a Transpose that only moved what is removed."""
    return op.Squeeze(op.Transpose(x, perm=perm), axes)


@squeeze_of_transpose.to
def _(op: Op, x: Value, perm: Any, axes: Any) -> Any:
    removed = numbers(axes)
    if removed is None or perm is None:
        return None
    gone = {perm[n] for n in removed}
    left = [a for a in perm if a not in gone]
    if left != sorted(left) or len(gone) != len(removed):
        return None
    return modern(op).Squeeze(x, sorted(gone))


def _as_rows(rng: Any) -> Draw:
    return {"x": floats(rng, (2, 4, 6)), "s": np.array([0, 3, 8]), "axis": 1}


@rule(since=5, cases=_as_rows)
def flatten_of_reshape(op: Op, x: Value, s: Const, axis: Attr) -> Any:
    """A Flatten of a Reshape is a Reshape of known dimensions."""
    return op.Flatten(op.Reshape(x, s), axis=axis)


@flatten_of_reshape.to
def _(op: Op, x: Value, match: Any) -> Any:
    result = match.kinds[0]
    if result is None or result.shape is None or x.shape is None or None in result.shape:
        return None
    dims = [0 if n < len(x.shape) and x.shape[n] == d else d for n, d in enumerate(result.shape)]
    named = [d for d in dims if not isinstance(d, int)]
    if len(named) > 1 or (named and 0 in dims) or 0 in result.shape:
        return None
    return op.Reshape(x, [d if isinstance(d, int) else -1 for d in dims])
