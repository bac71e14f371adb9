"""What works on each element, or along axes of any order, and how it is done before a Transpose.

`plan(node, perm, carried)` says what a node becomes when its inputs are not transposed by `perm`
yet: the same node with other axes, whose result is transposed instead.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.operators import all_facts, facts
from onnxwright.optimizer.constants import small_array, tensor_of


@dataclass
class Move:
    """How a node is changed when it comes before a Transpose.

    Fields:
        attributes: new values of attributes.
        constants: place of an input -> the integers or floats it becomes.
        weights: places of inputs whose axes are moved, too.
        is_last: whether its result needs no Transpose: what is left is in order.
    """

    attributes: dict[str, Any] = field(default_factory=dict)
    constants: dict[int, Any] = field(default_factory=dict)
    weights: list[int] = field(default_factory=list)
    is_last: bool = False


Perm = Sequence[int]
Planner = Callable[[ir.Node, Perm], "Move | None"]


def plan(node: ir.Node, perm: Perm, carried: Container[ir.Value], *, exact: bool) -> Move | None:
    """What a node becomes before a Transpose, None where it cannot come before it.

    Args:
        node: the node, of the standard domain.
        perm: the permutation.
        carried: the values that are transposed so.
        exact: only what gives the same bits in any order of elements.

    Returns:
        The changes.
    """
    if facts(node.op_type).elementwise:
        if exact and _may_round(node):
            return None
        return _elementwise(node, perm, carried)
    planner = _PLANNERS.get(node.op_type)
    if planner is None or not node.inputs or node.inputs[0] not in carried:
        return None
    if exact and not facts(node.op_type).moves_data and node.op_type not in _ORDERLESS:
        return None
    if node.op_type == "Concat":
        if any(v not in carried for v in node.inputs):
            return None
    elif any(v in carried for v in node.inputs[1:] if v is not None):
        return None
    return planner(node, perm)


# Their result does not depend on the order of the elements.
_ORDERLESS = ("ReduceMax", "ReduceMin")


def _may_round(node: ir.Node) -> bool:
    """Whether an element of the result may depend, by its last bit, on where it lies."""
    dtype = node.outputs[0].dtype
    if dtype is not None and not dtype.is_floating_point():
        return False
    return not facts(node.op_type).correctly_rounded or dtype is None or dtype.itemsize < 4


def _elementwise(node: ir.Node, perm: Perm, carried: Container[ir.Value]) -> Move | None:
    move = Move()
    for n, value in enumerate(node.inputs):
        if value is None or value in carried:
            continue
        tensor = tensor_of(value)
        if tensor is None:
            return None
        shape = list(tensor.shape)
        if len(shape) > len(perm):
            return None
        if any(d != 1 for d in shape):
            move.weights.append(n)
    return move


def _axis(node: ir.Node, perm: Perm) -> Move | None:
    """The operators with one attribute `axis`."""
    attr = node.attributes.get("axis")
    default = -1 if node.op_type in ("Softmax", "LogSoftmax") else 0
    if attr is None and node.op_type == "Concat":
        return None
    if attr is not None and attr.is_ref():
        return None
    axis = default if attr is None else attr.as_int()
    return Move(attributes={"axis": perm[axis % len(perm)]})


def _numbers(value: ir.Value | None) -> list[int] | None:
    array = small_array(value)
    return None if array is None or array.dtype.kind not in "iu" else array.reshape(-1).tolist()


def _integers_of(node: ir.Node, place: int, name: str) -> tuple[list[int] | None, bool]:
    """Integers that are an input or an attribute, and whether they are an input."""
    attr = node.attributes.get(name)
    if attr is not None:
        return (None if attr.is_ref() else [int(n) for n in attr.as_ints()]), False
    value = node.inputs[place] if len(node.inputs) > place else None
    return _numbers(value), True


def _slice(node: ir.Node, perm: Perm) -> Move | None:
    axes, is_input = _integers_of(node, 3, "axes")
    if axes is None:
        return None
    moved = [perm[a % len(perm)] for a in axes]
    return Move(constants={3: moved}) if is_input else Move(attributes={"axes": moved})


def _pad(node: ir.Node, perm: Perm) -> Move | None:
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        axes = _numbers(node.inputs[3])
        return None if axes is None else Move(constants={3: [perm[a % len(perm)] for a in axes]})
    pads, is_input = _integers_of(node, 1, "pads")
    rank = len(perm)
    if pads is None or len(pads) != 2 * rank:
        return None
    moved = [0] * (2 * rank)
    for n, axis in enumerate(perm):
        moved[axis], moved[rank + axis] = pads[n], pads[rank + n]
    return Move(constants={1: moved}) if is_input else Move(attributes={"pads": moved})


def _reduced(node: ir.Node, perm: Perm) -> Move | None:
    axes, is_input = _integers_of(node, 1, "axes")
    keeps = node.attributes.get("keepdims")
    if not axes or (keeps is not None and keeps.is_ref()):
        return None
    gone = {a % len(perm) for a in axes}
    moved = sorted(perm[a] for a in gone)
    move = Move(constants={1: moved}) if is_input else Move(attributes={"axes": moved})
    if keeps is not None and not keeps.as_int():
        return move if _is_in_order(move, perm, gone) else None
    return move


def _is_in_order(move: Move, perm: Perm, gone: set[int]) -> bool:
    """Whether the axes that are left have their order already; the result is then the last one."""
    left = [p for n, p in enumerate(perm) if n not in gone]
    move.is_last = left == sorted(left)
    return move.is_last


def _squeeze(node: ir.Node, perm: Perm) -> Move | None:
    axes, is_input = _integers_of(node, 1, "axes")
    if not axes:
        return None
    gone = {a % len(perm) for a in axes}
    moved = sorted(perm[a] for a in gone)
    move = Move(constants={1: moved}) if is_input else Move(attributes={"axes": moved})
    return move if _is_in_order(move, perm, gone) else None


def _resize(node: ir.Node, perm: Perm) -> Move | None:
    """A Resize of the last axes afterwards: the runtimes have kernels for these."""
    inputs = [*node.inputs, None, None, None]
    scales, region = small_array(inputs[2]), small_array(inputs[1])
    if "axes" in node.attributes or inputs[3] is not None:
        return None
    if scales is None or scales.size != len(perm):
        return None
    if inputs[1] is not None and (region is None or region.size):
        return None
    moved = np.zeros_like(scales)
    for n, axis in enumerate(perm):
        moved[axis] = scales[n]
    return Move(constants={2: moved}) if (moved[:2] == 1).all() else None


def _quantized(node: ir.Node, perm: Perm) -> Move | None:
    """QuantizeLinear and DequantizeLinear by one scale."""
    del perm
    scale = tensor_of(node.inputs[1])
    return Move() if scale is not None and not list(scale.shape) else None


_PLANNERS: dict[str, Planner] = {
    "Concat": _axis,
    "Split": _axis,
    "Softmax": _axis,
    "LogSoftmax": _axis,
    "Slice": _slice,
    "Pad": _pad,
    "Squeeze": _squeeze,
    "Resize": _resize,
    "QuantizeLinear": _quantized,
    "DequantizeLinear": _quantized,
    **{record.name: _reduced for record in all_facts() if record.reduces},
}
