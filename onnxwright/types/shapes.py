"""Shapes with unknowns: how they broadcast, which are compatible, what two have in common.

A dimension is a number, a name (the same name is the same number), or None (unknown).  A shape is
a tuple of dimensions, or None where not even the rank is known.
"""

from __future__ import annotations

from typing import TypeAlias

Dim: TypeAlias = int | str | None
Shape: TypeAlias = tuple[Dim, ...]
MaybeShape: TypeAlias = Shape | None


def _broadcast_dim(a: Dim, b: Dim) -> tuple[Dim, bool]:
    """The broadcast of two dimensions, and whether they can be broadcast at all."""
    if b in (a, 1):
        return a, True
    if a == 1:
        return b, True
    if isinstance(a, int) and isinstance(b, int):
        return None, False
    # A number other than 1 decides: the unknown one is that number, or 1.
    if isinstance(a, int):
        return a, True
    if isinstance(b, int):
        return b, True
    if is_capped(a, b):
        return b, True
    return (a if is_capped(b, a) else None), True


def is_capped(a: Dim, b: Dim) -> bool:
    """Whether `a` is `min(n, b)`: where it broadcasts with `b`, the result is `b`.

    Returns:
        False also where nothing is known.

    Example:
        >>> is_capped("min(64, N)", "N"), is_capped("min(N, M)", "N")
        (True, False)
    """
    if not isinstance(a, str) or not isinstance(b, str) or not a.endswith(f", {b})"):
        return False
    number = a[: -len(b) - 3].removeprefix("min(")
    return len(number) + len(b) + 7 == len(a) and number.isdigit()


def _broadcast(shapes: tuple[Shape, ...]) -> tuple[Shape, bool]:
    result: list[Dim] = []
    fine = True
    for shape in shapes:
        width = max(len(result), len(shape))
        result[:0] = [1] * (width - len(result))
        padded = (1,) * (width - len(shape)) + shape
        for i, dim in enumerate(padded):
            result[i], possible = _broadcast_dim(result[i], dim)
            fine = fine and possible
    return tuple(result), fine


def broadcast(*shapes: MaybeShape) -> MaybeShape:
    """The shape of an elementwise result, by numpy's rule.

    Args:
        *shapes: the operands' shapes; None is an unknown rank.

    Returns:
        The broadcast shape; None when a rank is unknown or the shapes contradict each other.

    Source:
        Numpy's broadcasting rules, which ONNX calls multidirectional broadcasting.

    Example:
        >>> broadcast(("N", 1), (3,)), broadcast((2,), (3,)), broadcast(("N",), ("M",))
        (('N', 3), None, (None,))
        >>> broadcast(("min(64, N)",), ("N",))
        ('N',)
    """
    known_shapes = tuple(s for s in shapes if s is not None)
    if len(known_shapes) != len(shapes):
        return None
    result, fine = _broadcast(known_shapes)
    return result if fine else None


def unify(a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """The most precise shape that both are instances of (what holds after an `if`).

    Returns:
        Equal dimensions stay, others become None; different ranks give None.

    Source:
        What ONNX asks of the outputs of the branches of `If`.

    Example:
        >>> unify(("N", 3, 4), ("N", 3, 5)), unify((2,), (2, 3))
        (('N', 3, None), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def refine(a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """What is known of one value when both shapes describe it.

    Args:
        a: one description; its names win over the names of `b`.

    Returns:
        Numbers before names before unknowns.  Contradictions are not looked for: `a` wins
        (ask `compatible` first).

    Example:
        >>> refine(("N", None, 4), (2, "M", 4)), refine(None, (2,))
        ((2, 'M', 4), (2,))
    """
    if a is None:
        return b
    if b is None or len(a) != len(b):
        return a
    return tuple(
        x if isinstance(x, int) else y if isinstance(y, int) or x is None else x
        for x, y in zip(a, b, strict=True)
    )


def compatible(a: MaybeShape, b: MaybeShape) -> bool:
    """Whether two shapes may describe the same value, for all that is known.

    Returns:
        False only for different ranks or two different numbers in one place.

    Example:
        >>> compatible(("N", 3), (2, 3)), compatible((2, 3), (2, 4)), compatible(None, (1,))
        (True, False, True)
    """
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(
        x == y or not (isinstance(x, int) and isinstance(y, int)) for x, y in zip(a, b, strict=True)
    )


def size_of(shape: MaybeShape) -> int | None:
    """The number of elements where every dimension is a number, else None.

    Returns:
        The product of the dimensions, 1 for a scalar.

    Source:
        The ONNX specification of `Size`.

    Example:
        >>> size_of((2, 3)), size_of(()), size_of(("N", 3)), size_of(("N", 0))
        (6, 1, None, None)
    """
    if shape is None:
        return None
    total = 1
    for dim in shape:
        if not isinstance(dim, int):
            return None
        total *= dim
    return total


def show_shape(shape: Shape) -> str:
    """A shape as written between the brackets of an annotation, names without quotes.

    Args:
        shape: the shape; its rank must be known.

    Example:
        >>> show_shape(("N", 3, None)), show_shape(())
        ('N, 3, None', '()')
    """
    return ", ".join(str(dim) for dim in shape) if shape else "()"
