"""Tensors that a loop carries and whose sizes its iterations change: `x = torch.cat([x, row])`.

Such a size is known at run time only, in an iteration and after the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.source.errors import LoopChangeError, words


@dataclass(frozen=True)
class OwnSize:
    """A size that iterations change.

    Fields:
        least: what it is at least, in all iterations.
    """

    least: int


def carried_shape(
    path: str, before: Any, after: Any, last: Sequence[Any] | None, known: set[Any]
) -> tuple[Any, ...]:
    """The sizes of a carried tensor.

    Args:
        path: what the user calls it.
        before, after: its values around an iteration; at least one is a tensor or both are numbers.
        last: the sizes that were found before; None if it was not carried.
        known: the sizes known at run time that exist outside of the iteration.

    Returns:
        A size for each axis; an `OwnSize` where it changes.

    Raises:
        LoopChangeError: the number of axes changes.
    """
    if not isinstance(after, torch.Tensor):
        return tuple(last or (before.shape if isinstance(before, torch.Tensor) else ()))
    if isinstance(before, torch.Tensor) and before.ndim:
        if before.ndim != after.ndim:
            raise LoopChangeError(path, words(before), words(after))
        sizes = last if last is not None and len(last) == after.ndim else before.shape
        triples = zip(before.shape, after.shape, sizes)
        return tuple(_carried_size(a, b, found) for a, b, found in triples)
    return tuple(n if free_unbacked_symbols(n) <= known else OwnSize(0) for n in after.shape)


def _carried_size(before: Any, after: Any, found: Any) -> Any:
    """One size of a carried tensor; `found` is what it was taken for."""
    if isinstance(found, OwnSize):
        return found if statically_known_true(after >= found.least) else OwnSize(0)
    if _expression(before) == _expression(after) or statically_known_true(before == after):
        return found
    # A tensor that grows has at least the elements that it begins with.
    least = before if isinstance(before, int) else 1
    return OwnSize(least if statically_known_true(after >= before) else 0)


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size


def is_same_shape(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Whether two carried shapes have as many axes, and the same sizes change."""
    return len(one) == len(two) and all(
        a == b for a, b in zip(one, two) if isinstance(a, OwnSize) or isinstance(b, OwnSize)
    )
