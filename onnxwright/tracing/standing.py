"""Whether a node that is there already is the one that a call would make."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

_SIMPLE = (
    ir.AttributeType.INT, ir.AttributeType.INTS, ir.AttributeType.FLOAT, ir.AttributeType.FLOATS,
    ir.AttributeType.STRING, ir.AttributeType.STRINGS,
)  # fmt: skip


def stands_for(
    node: ir.Node,
    key: tuple[str, str],
    inputs: Sequence[ir.Value | None],
    attributes: Sequence[ir.Attr],
    outputs: int,
) -> bool:
    """Whether a node is that of a call, but for what it reads.

    Args:
        key: the domain and the operator of the call.

    Returns:
        True where a new node would be equal if it read the same; nodes with graphs never are.

    Example:
        >>> x = ir.Value(name="x")
        >>> node = ir.Node("", "Relu", [x], num_outputs=1)
        >>> stands_for(node, ("", "Relu"), [x], [], 1), stands_for(node, ("", "Abs"), [x], [], 1)
        (True, False)
    """
    if node.op_type != key[1] or node.domain != key[0] or len(node.outputs) != outputs:
        return False
    given = node.inputs
    if len(given) != len(inputs) and (
        len(given) < len(inputs) or any(v is not None for v in given[len(inputs) :])
    ):
        return False
    held = node.attributes.data
    if not attributes:
        return not held
    return len(held) == len(attributes) and all(
        a.name in held and is_same_attribute(held[a.name], a) for a in attributes
    )


def is_same_attribute(a: ir.Attr, b: ir.Attr) -> bool:
    """Whether two attributes of one name are the same; tensors only if they are one object."""
    if a.is_ref() or b.is_ref():
        return a.is_ref() and b.is_ref() and a.ref_attr_name == b.ref_attr_name
    if a.type in _SIMPLE:
        return a.type == b.type and bool(a.value == b.value)
    return a.value is b.value
