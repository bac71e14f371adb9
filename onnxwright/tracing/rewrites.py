"""Two nodes in one: `Shape` with a start and an end, convolutions that pad as they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import onnx_ir as ir

from onnxwright.operators.op_call import OpCall, UnknownError, axis_in
from onnxwright.operators.pads import sides_of_pad, with_pads
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend


def _shape_node(b: GraphBackend, value: Any) -> tuple[ir.Node, int, int] | None:
    """The Shape node that made a value, with the axes it reads."""
    node = b.made_by(value, "Shape")
    if node is None or b.opset.version < 15:
        return None
    source = b.value_of(node.inputs[0])
    if source.rank is None or any(a.is_ref() for a in node.attributes.values()):
        return None
    start = node.attributes["start"].as_int() if "start" in node.attributes else 0
    end = node.attributes["end"].as_int() if "end" in node.attributes else source.rank
    low, high, _ = slice(start, end).indices(source.rank)
    return node, low, max(high, low)


def _part(b: GraphBackend, node: ir.Node, start: int, end: int) -> GraphValue:
    source = b.value_of(node.inputs[0])
    attributes = {"start": start} if start else {}
    if end != source.rank:
        attributes["end"] = end
    return b.standard("Shape", [source], attributes)


class Site(NamedTuple):
    """A call where it is made: what a rule needs to say what comes out."""

    b: GraphBackend
    call: OpCall
    inputs: Sequence[Any]


def part_of_shape(s: Site) -> GraphValue | None:
    """A slice of a shape."""
    shape = _shape_node(s.b, s.inputs[0])
    starts, ends = s.call.attr_or_input("starts", 1), s.call.attr_or_input("ends", 2)
    if shape is None or starts is None or ends is None or len(starts) != 1:
        return None
    node, low, high = shape
    first, last, _ = slice(starts[0], ends[0]).indices(high - low)
    return _part(s.b, node, low + first, low + last) if first < last else None


def gathered_shape(s: Site) -> GraphValue | None:
    """Consecutive dimensions taken from a shape as a vector."""
    shape = _shape_node(s.b, s.inputs[0])
    if shape is None or len(s.call.shape(1)) != 1:
        return None
    node, low, high = shape
    places = [axis_in(n, high - low) for n in s.call.numbers(1)]
    if not places or places != list(range(places[0], places[0] + len(places))):
        return None
    return _part(s.b, node, low + places[0], low + places[-1] + 1)


def one_of_shape(s: Site, axes: tuple[int, ...]) -> GraphValue | None:
    """One dimension taken from a shape as a scalar, and made a vector again."""
    gather = s.b.made_by(s.inputs[0], "Gather")
    if gather is None or axes not in ((0,), (-1,)) or s.call.shape(0) != ():
        return None
    if "axis" in gather.attributes and gather.attributes["axis"].as_int() != 0:
        return None
    index = s.b.constant_value(s.b.value_of(gather.inputs[1]))
    shape = _shape_node(s.b, s.b.value_of(gather.inputs[0]))
    if shape is None or index is None or index.size != 1:
        return None
    node, low, high = shape
    try:
        place = low + axis_in(int(index.item()), high - low)
    except UnknownError:
        return None
    return _part(s.b, node, place, place + 1)


def padded_convolution(s: Site) -> GraphValue | None:
    """A convolution of what was padded with zeros: the convolution pads."""
    pad = s.b.made_by(s.inputs[0], "Pad")
    sides = None if pad is None else _zeros_around(s, pad, len(s.call.shape(0)))
    attributes = None if sides is None else with_pads(s.call.attributes, sides)
    if pad is None or attributes is None:
        return None
    source = s.b.value_of(pad.inputs[0])
    return s.b.standard(s.call.name, [source, *s.inputs[1:]], attributes)


def _zeros_around(s: Site, pad: ir.Node, rank: int) -> list[int] | None:
    """How many zeros a Pad adds: before each axis, then after each; None for anything else."""
    mode = pad.attributes.get("mode")
    if mode is not None and (mode.is_ref() or mode.as_string() != "constant"):
        return None
    constants = [None if v is None else s.b.constant_value(s.b.value_of(v)) for v in pad.inputs[1:]]
    there = [v is not None for v in pad.inputs[1:]]
    if not constants or any(
        c is None for c, is_present in zip(constants, there, strict=True) if is_present
    ):
        return None
    pads, value, axes = [*constants, None, None][:3]
    if pads is None or (value is not None and value.any()):
        return None
    return sides_of_pad(pads.tolist(), None if axes is None else axes.tolist(), rank)
