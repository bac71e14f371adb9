"""Scatter operators that add up, for versions whose scatter operators only replace."""

from __future__ import annotations

from typing import Any

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import KEEP, Call, Refused, down

_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


@down(18, "ScatterElements", "ScatterND")
def scatter_without_extremes(op: Ops, call: Call) -> Any:
    """`reduction` is none, add or mul.  Source: ONNX ScatterElements 16 and 18."""
    return _one_by_one(op, call) if call.attr("reduction", "none") in ("max", "min") else KEEP


@down(16, "ScatterElements", "ScatterND")
def scatter_without_reduction(op: Ops, call: Call) -> Any:
    """Updates replace what was there.  Source: ONNX ScatterElements 13 and 16."""
    if call.attr("reduction", "none") == "none":
        return call.same(op, None, call.without("reduction"))
    return _one_by_one(op, call)


def _one_by_one(op: Ops, call: Call) -> Any:
    """A Loop over the updates: more than one of them may be for the same place."""
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    combine = _COMBINE.get(call.attr("reduction"))
    if combine is None:
        raise Refused(f"`reduction={call.attr('reduction')}` is not known", "repair the model")
    if call.name == "ScatterElements":
        places = _places(op, call, indices)
        values = op.Reshape(updates, call.int64(op, [-1]))
    else:
        width = call.shape(1)[-1]
        if not isinstance(width, int):
            raise Refused("the last dimension of its input `indices` is not known")
        places = op.Reshape(indices, call.int64(op, [-1, width]))
        rest = _sizes_from(op, call, data, width)
        values = op.Reshape(updates, op.Concat(call.int64(op, [-1]), rest, axis=0))

    def each(number: Any, go_on: Any, held: Any) -> Any:
        one = op.Reshape(number, call.int64(op, [1]))
        place, value = op.Gather(places, one, axis=0), op.Gather(values, one, axis=0)
        new = getattr(op, combine)(op.GatherND(held, place), value)
        return go_on, op.ScatterND(held, place, new)

    count = op.Gather(op.Shape(places), call.int64(op, 0), axis=0)
    inputs = [count, op.constant(True), data]
    return op.backend.emit(op.opset["Loop"], inputs, {"body": each}, 1)


def _sizes_from(op: Ops, call: Call, data: GraphValue, first: int) -> GraphValue:
    """The sizes of the axes from one on; none where there are no more."""
    end = call.int64(op, [2**31])
    sizes: GraphValue = op.Slice(op.Shape(data), call.int64(op, [first]), end, call.int64(op, [0]))
    return sizes


def _places(op: Ops, call: Call, indices: GraphValue) -> GraphValue:
    """For each element of the indices, all of its coordinates in the data, as a row."""
    rank, axis = call.rank(1), call.axis(0)
    rows = op.NonZero(op.Expand(op.constant(True), op.Shape(indices)))
    kept = [
        op.Slice(rows, *(call.int64(op, [n]) for n in limits), call.int64(op, [0]))
        for limits in ((0, axis), (axis + 1, rank))
        if limits[0] < limits[1]
    ]
    kept.insert(1 if axis else 0, op.Cast(op.Reshape(indices, call.int64(op, [1, -1])), to=7))
    places: GraphValue = op.Transpose(
        op.Concat(*kept, axis=0) if len(kept) > 1 else kept[0], perm=[1, 0]
    )
    return places
