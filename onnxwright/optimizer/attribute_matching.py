"""Attributes of nodes beside those of patterns; older versions have inputs as attributes."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.opset import registry
from onnxwright.opset.registry import OpSignature
from onnxwright.optimizer.pattern_nodes import PatternNode


def attribute_as_input(
    pattern_node: PatternNode, n: int, node: ir.Node, signature: OpSignature | None
) -> ir.Value | None:
    """What a newer version takes as input `n`, where this one has it as an attribute."""
    if signature is None:
        return None
    newest = registry.signature("", pattern_node.op_type, onnx.defs.onnx_opset_version())
    if newest is None or n >= len(newest.inputs):
        return None
    name = newest.inputs[n].name
    attr = node.attributes.get(name)
    if attr is None or attr.is_ref() or name not in signature.attributes:
        return None
    if attr.type is ir.AttributeType.INTS:
        tensor = ir.tensor(list(attr.as_ints()), dtype=ir.DataType.INT64)
    elif attr.type is ir.AttributeType.FLOAT:
        tensor = ir.tensor(attr.as_float(), dtype=ir.DataType.FLOAT)
    else:
        return None
    return ir.Value(name=None, const_value=tensor, shape=ir.Shape(tensor.numpy().shape),
                    type=ir.TensorType(tensor.dtype))  # fmt: skip


def attribute_value(attr: ir.Attr | None, name: str, signature: OpSignature | None) -> Any:
    """What an attribute is, its default where it is absent; a parameter equals nothing."""
    if attr is not None:
        return _Unknown() if attr.is_ref() else attr.value
    param = None if signature is None else signature.attributes.get(name)
    return None if param is None else param.default


class _Unknown:
    """The value of an attribute parameter: it equals nothing."""


def is_same(a: Any, b: Any) -> bool:
    """Whether two values of attributes are the same, numbers within the rounding of floats."""
    if isinstance(a, bytes):
        a = a.decode(errors="replace")
    if isinstance(b, bytes):
        b = b.decode(errors="replace")
    if isinstance(a, float) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(is_same, a, b))
    return bool(a == b)


def is_same_by_rank(name: str, value: Any, expected: Any, node: ir.Node) -> bool:
    """Whether an attribute says the same for an input of this rank.

    An axis may be counted from the other end, and axes that are not given are those in reverse.
    """
    if name not in ("axis", "perm"):
        return False
    x = node.inputs[0] if node.inputs else None
    if x is None or not x.shape:
        return False
    rank = len(x.shape)
    if name == "perm":
        return value is None and is_same(expected, list(range(rank))[::-1])
    both = isinstance(value, int) and isinstance(expected, int)
    return both and value % rank == expected % rank


def place_as_input(pattern_node: PatternNode, name: str) -> int | None:
    """Which input of the newest version has the name of an attribute; None where none has."""
    if pattern_node.domain:
        return None
    newest = registry.signature("", pattern_node.op_type, onnx.defs.onnx_opset_version())
    if newest is None:
        return None
    return next((n for n, p in enumerate(newest.inputs) if p.name == name), None)
