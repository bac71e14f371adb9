"""Sizes of one name are equal: a check at the start of the captured call tells torch so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.torch_internals import pytree

_Place = tuple[int, int]


@contextmanager
def equal_sizes_checked(module: Any, wanted: Wanted) -> Iterator[None]:
    """In this context, a call of a module begins with a check of the sizes of one name.

    With `Dim.AUTO`, torch gives each axis a symbol of its own.

    Args:
        module: a module.
        wanted: the example inputs, and the names of their axes.
    """
    groups = _groups(wanted)
    if not groups:
        yield
        return

    def check(_: Any, args: Any, kwargs: Any) -> None:
        given = pytree.tree_leaves((tuple(args), kwargs))
        if len(given) == len(wanted.axes):
            for group in groups:
                _check_equal([given[n].shape[axis] for n, axis in group])

    hook = module.register_forward_pre_hook(check, prepend=True, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _groups(wanted: Wanted) -> list[list[_Place]]:
    """The places of axes that have one name, and one size in the example."""
    example = pytree.tree_leaves((tuple(wanted.args), wanted.kwargs))
    found: dict[tuple[str, int], list[_Place]] = {}
    if len(example) == len(wanted.axes):
        for n, axes in enumerate(wanted.axes):
            for axis, name in axes.items():
                if isinstance(name, str) and isinstance(example[n], torch.Tensor):
                    found.setdefault((name, int(example[n].shape[axis])), []).append((n, axis))
    return [places for places in found.values() if len(places) > 1]


def _check_equal(sizes: list[Any]) -> None:
    first = next((size for size in sizes if isinstance(size, torch.SymInt)), None)
    for size in sizes:
        if isinstance(size, torch.SymInt) and size is not first:
            torch._check(size == first)
