"""Shapes of elementwise operators: that of the first input, or the broadcast of all."""

from __future__ import annotations

from onnxwright.operators.op_call import ContradictionError, OpCall, listed
from onnxwright.types import dims
from onnxwright.types.shapes import Dim, Shape, is_capped


def broadcast(*shapes: Shape) -> Shape:
    """The broadcast of shapes.

    Args:
        shapes: one or more shapes; dimensions may be names or unknown.

    Returns:
        The shape; None for a dimension that depends on the values of names.

    Raises:
        ContradictionError: two numbers do not broadcast.

    Example:
        >>> broadcast(("N", 1), (3,))
        ('N', 3)
    """
    a = shapes[0]
    for b in shapes[1:]:
        if not a or not b:  # a scalar
            a = a or b
            continue
        if a == b and None not in a:
            continue
        if any(_differ(x, y) for x, y in zip(reversed(a), reversed(b))):
            raise ContradictionError("shapes that broadcast", f"{listed(a)} and {listed(b)}")
        if len(b) > len(a):
            a, b = b, a
        pad = len(a) - len(b)
        a = (*a[:pad], *map(_broadcast_dim, a[pad:], b))
    return a


def _broadcast_dim(a: Dim, b: Dim) -> Dim:
    if b in (a, 1):
        return a
    if a == 1:
        return b
    if type(a) is int:
        return a
    if type(b) is int:
        return b
    if dims.equal(a, b) or is_capped(b, a):
        return a
    return b if is_capped(a, b) else None


def _differ(a: Dim, b: Dim) -> bool:
    """Whether two dimensions are numbers that do not broadcast."""
    return type(a) is int and type(b) is int and a not in (1, b) and b != 1


def broadcast_to(shape: Shape, target: Shape, name: str) -> None:
    """Check that a shape broadcasts to another one, and leaves it as it is.

    Args:
        name: the name of the input.

    Source:

    Raises:
        ContradictionError: it does not.
    """
    pad = len(target) - len(shape)
    if pad < 0 or any(
        type(a) is int and type(b) is int and a not in (1, b) for a, b in zip(shape, target[pad:])
    ):
        raise ContradictionError(f"`{name}` that broadcasts to {listed(target)}", listed(shape))


def first_input(call: OpCall) -> Shape:
    """The shape of the first input."""
    return call.shape(0)


def broadcast_inputs(call: OpCall) -> Shape:
    """The broadcast of all inputs."""
    if len(call.types) < 2:
        return call.shape(0)
    return broadcast(*map(call.shape, range(len(call.types))))
