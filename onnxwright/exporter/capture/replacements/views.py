"""Views have the sizes that are asked for while capturing, without guards about layouts.

Torch splits an axis of `p` elements into `p // 4` and `p // (p // 4)` ones where
`x.view(p // 4, 4)` is asked for, and keeps guards that these are equal.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import _prims_common as utils
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.torch_internals import fake_impls

aten = torch.ops.aten

_VIEWS = (aten.view.default, aten._unsafe_view.default)

# The axes of a tensor and of its view that have the same elements.
Chunk = tuple[range, range]


def views_as_asked(changes: Changes, model: Any) -> None:
    """A view of dynamic sizes has the sizes that are asked for."""
    rules = fake_impls.op_implementations_dict
    changes.items(rules, {op: _as_asked(rules[op]) for op in _VIEWS if op in rules})


def _as_asked(own: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for views with the sizes that are asked for; torch's own where these are values."""

    def view(mode: Any, func: Any, x: Any, *shape: Any, **options: Any) -> Any:
        sizes = utils.extract_shape_from_varargs(shape, validate=False)
        if options or not x.ndim or not sizes or not _has_symbol((*x.shape, *sizes)):
            return own(mode, func, x, *shape, **options)
        if any(hint_of(n) in (None, 0) for n in (*x.shape, *x.stride(), *sizes)):
            return own(mode, func, x, *shape)
        sizes = utils.infer_size(sizes, x.numel())
        pieces = chunks(*([hint_of(n) or 0 for n in of] for of in (x.shape, x.stride(), sizes)))
        if pieces is None:
            return own(mode, func, x, *shape)
        strides: list[Any] = []
        for old, new in pieces:
            _check_equal([x.shape[n] for n in old], [sizes[n] for n in new])
            step = x.stride()[old[-1]] if old else 1
            for n in reversed(new):
                strides.append(step)
                step = step * sizes[n]
        return x.as_strided(sizes, strides[::-1])

    return view


def chunks(
    sizes: Sequence[int], strides: Sequence[int], view_sizes: Sequence[int]
) -> list[Chunk] | None:
    """The axes of a tensor that lie together in memory, with those of its view.

    Args:
        sizes, strides: of the tensor.
        view_sizes: the sizes of the view.

    Returns:
        Chunks from the last to the first; None if it cannot be a view.

    Example:
        >>> chunks((2, 6, 5), (60, 5, 1), (2, 3, 2, 5))
        [(range(1, 3), range(1, 4)), (range(0, 1), range(0, 1))]
    """
    pieces: list[Chunk] = []
    last = len(view_sizes)
    end, axis = len(sizes), len(sizes) - 1
    while end > 0:
        count = sizes[axis]
        start = axis
        while start > 0 and (sizes[start - 1] == 1 or strides[start - 1] == count * strides[axis]):
            start -= 1
            count *= sizes[start]
        first, taken = last, 1
        while first > 0 and (taken < count or view_sizes[first - 1] == 1):
            first -= 1
            taken *= view_sizes[first]
        if taken != count:
            return None
        pieces.append((range(start, end), range(first, last)))
        end, axis, last = start, start - 1, first
    return pieces if last == 0 else None


def _check_equal(old: list[Any], new: list[Any]) -> None:
    """Demand that sizes have the same product; sizes that are asked for again are the same ones."""
    if not statically_known_true(_product(old) == _product(new)):
        for one, two in zip(old, new, strict=False):
            if hint_of(one) != hint_of(two):
                break
            if _is_symbol(one) and _is_symbol(two):
                torch._check(one == two)
    torch._check(_product(old) == _product(new))


def _product(sizes: list[Any]) -> Any:
    return functools.reduce(operator.mul, sizes, 1)


def hint_of(size: Any) -> int | None:
    """The size in the example; None of one that is a value."""
    return size.node.hint if isinstance(size, torch.SymInt) else int(size)


def _is_symbol(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and bool(size.node.expr.is_Symbol)


def _has_symbol(sizes: Sequence[Any]) -> bool:
    return any(isinstance(n, torch.SymInt) for n in sizes)
