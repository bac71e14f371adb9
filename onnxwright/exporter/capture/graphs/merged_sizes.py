"""Sizes of tensors that have one of two shapes, and sizes that are known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.graphs.regions import fake_mode, tracer
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.torch_internals import int_oo


def merged_sizes(
    one: Sequence[Any],
    two: Sequence[Any],
    known: Sequence[dict[Any, Any]] = ({}, {}),
) -> list[Any]:
    """The sizes of a tensor that has one of two shapes; known at run time where they differ.

    Args:
        one, two: the shapes.
        known: what sizes are where the tensor has each of them.
    """
    return [_merged_size(a, b, known) for a, b in zip(one, two)]


def _merged_size(one: Any, two: Any, known: Sequence[dict[Any, Any]]) -> Any:
    for size, other, there in ((one, two, known[1]), (two, one, known[0])):
        # A size of one side is that of the other, too, by what holds there.
        if there and isinstance(size, torch.SymInt) and _by(size, there) == _by(other, there):
            if are_known(free_unbacked_symbols(size)):
                return size
    session = current()
    if session is not None and session.sizes is not None:
        found = session.sizes.merged(one, two)
        if found is not None:
            return found
    symbols = [s for s in (one, two) if isinstance(s, torch.SymInt)]
    exprs = [s.node.expr if isinstance(s, torch.SymInt) else s for s in (one, two)]
    free = {u for s in symbols for u in free_unbacked_symbols(s)}
    if exprs[0] == exprs[1] and are_known(free):
        return one
    least = min(_least(one), _least(two))
    # PyTorch takes a size of 0 or 1 for 1.
    return new_size(least, int_oo if symbols or not least else max(one, two))


def _least(size: Any) -> int:
    """A bound of a size from below."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    least = fake_mode().shape_env.bound_sympy(size.node.expr).lower
    return max(int(least), 0) if least.is_Integer else 0


def new_size(least: int = 0, most: Any = int_oo) -> Any:
    """A size that is known at run time only, between bounds."""
    env = fake_mode().shape_env
    with disable_proxy_modes_tracing():
        size = env.create_unbacked_symint()
        env.constrain_symbol_range(size.node.expr, least, most)
    return size


def _by(size: Any, known: dict[Any, Any]) -> Any:
    return size.node.expr.subs(known) if isinstance(size, torch.SymInt) else size


def are_known(symbols: set[Any]) -> bool:
    """Whether tensors of the trace have all of some sizes that are known at run time."""
    return not symbols or symbols <= known_symbols()


def known_symbols() -> set[Any]:
    """The sizes known at run time that tensors of the trace have."""
    return {u for x in tracer().tensor_tracker for u in free_unbacked_symbols(x)}
