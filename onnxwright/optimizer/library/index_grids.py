"""Elements that are gathered by grids of all indices: axes of size 1 in their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.optimizer.building import modern
from onnxwright.optimizer.constants import number, small_array
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule

_MOST_STEPS = 16


def _arrays(rng: Any) -> Draw:
    rows, columns = (int(n) for n in rng.integers(2, 5, size=2))
    x = floats(rng, (rows, columns, *(int(n) for n in rng.integers(1, 4, size=rng.integers(3)))))
    index = rng.integers(2, size=(3, 1, 2))
    first, step = (np.int64(rng.integers(4) == 0) for _ in range(2))
    return {"x": x, "index": index, "first": first, "step": 1 + step}


def _range(op: Any, x: Any, axis: int, first: Any, step: Any) -> Any:
    return op.Range(first, op.Squeeze(op.Slice(op.Shape(x), [axis], [axis + 1]), [0]), step)


@rule(since=13, cases=_arrays)
def gather_of_grids(op: Op, x: Value, index: Value) -> Any:
    """GatherND of all indices of the first axes, as masks of padded batches are made: Unsqueeze."""
    return op.GatherND(x, index)


@gather_of_grids.also
def _(op: Any, x: Any, first: Const, step: Const) -> Any:
    rows = op.Unsqueeze(_range(op, x, 0, first, step), [1, 2, 3])
    columns = op.Unsqueeze(_range(op, x, 1, first, step), [0, 1, 2])
    index = (op.Expand(rows, op.Shape(columns)), op.Expand(columns, op.Shape(rows)))
    return op.GatherND(x, op.Concat(*(op.Unsqueeze(i, [-1]) for i in index), axis=-1))


@gather_of_grids.also
def _(op: Any, x: Any, first: Const, step: Const) -> Any:
    rows = op.Unsqueeze(op.Unsqueeze(_range(op, x, 0, first, step), [-1]), [0])
    columns = _range(op, x, 1, first, step)
    index = (op.Expand(rows, op.Shape(columns)), op.Expand(columns, op.Shape(rows)))
    return op.GatherND(x, op.Concat(*(op.Unsqueeze(i, [3]) for i in index), axis=3))


@gather_of_grids.also
def _(op: Any, x: Any, first: Const, step: Const) -> Any:
    rows = op.Unsqueeze(op.Unsqueeze(_range(op, x, 0, first, step), [0]), [-2])
    return op.GatherND(x, op.Unsqueeze(rows, [-1]))


@gather_of_grids.to
def _(op: Op, x: Any, match: Any) -> Any:
    node = match.roots[0]
    index = match.resolve(node.inputs[1])
    if node.attributes.get_int("batch_dims", 0) or x.shape is None or index.shape is None:
        return None
    *sizes, depth = index.shape
    parts = _parts(node.inputs[1], len(sizes))
    if parts is None or len(parts) != depth or depth > len(x.shape):
        return None
    grids = [_place(part, len(sizes), match) for part in parts]
    places = []
    for grid, size in zip(grids, x.shape, strict=False):
        # Each grid has all indices of its axis: no more, no fewer, and no others.
        if grid is None or size is None or grid[1] != size or sizes[grid[0]] != size:
            return None
        places.append(grid[0])
    others = [n for n in range(len(sizes)) if n not in places]
    if places != sorted(set(places)) or any(sizes[n] != 1 for n in others):
        return None
    return modern(op).Unsqueeze(x, others) if others else x


def _parts(index: ir.Value, rank: int) -> list[ir.Value] | None:
    """The grids that are joined along the last axis of an index, without that axis."""
    node = index.producer()
    if node is not None and node.op_type == "Concat" and not node.domain:
        if node.attributes.get_int("axis", 0) not in (-1, rank):
            return None
        columns = list(node.inputs)
    else:
        columns = [index]
    parts = []
    for column in columns:
        node = None if column is None else column.producer()
        grid = None if node is None else node.inputs[0]
        if node is None or grid is None or _axes(node) not in ([-1], [rank]):
            return None
        parts.append(grid)
    return parts


def _place(value: ir.Value | None, rank: int, match: Any) -> tuple[int, Any] | None:
    """The axis along which a grid counts from 0, of `rank` axes, and how far."""
    steps: list[tuple[int, list[int]]] = []  # what Unsqueeze did: the rank, and the axes, of it
    for _ in range(_MOST_STEPS):
        node = None if value is None else value.producer()
        result = None if node is None else match.resolve(node.outputs[0])
        if node is None or node.domain or result is None or result.shape is None:
            return None
        if node.op_type == "Range":
            return _counted(node, result, steps, rank, match)
        axes = _axes(node)
        if node.op_type == "Unsqueeze" and axes is not None:
            steps.append((len(result.shape), axes))
        elif node.op_type == "Expand":
            steps.append((len(result.shape), []))
        elif node.op_type != "Identity":
            return None
        value = node.inputs[0]
    return None


def _counted(
    node: ir.Node, counted: Any, steps: list[tuple[int, list[int]]], rank: int, match: Any
) -> tuple[int, Any] | None:
    first, _, step = (match.resolve(value) for value in node.inputs)
    if number(first) != 0 or number(step) != 1:
        return None
    place, before = 0, 1
    for after, axes in reversed(steps):
        if not axes:  # Expand aligns axes at the end
            place += after - before
        else:
            added = {axis % after for axis in axes}
            place = [n for n in range(after) if n not in added][place]
        before = after
    return (place, counted.shape[0]) if before == rank else None


def _axes(node: ir.Node) -> list[int] | None:
    """The axes of an Unsqueeze, where they are known."""
    if node.op_type != "Unsqueeze" or len(node.inputs) < 2 or node.inputs[1] is None:
        return None
    array = small_array(node.inputs[1])
    return None if array is None else [int(n) for n in array]
