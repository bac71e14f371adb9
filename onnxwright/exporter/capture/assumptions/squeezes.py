"""Axes of dynamic sizes that `squeeze` keeps: for a size of 1, PyTorch would remove them.

Torch takes dynamic sizes for 2 or more, and leaves no guard where `squeeze` asks for a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.places import span_of

_aten = torch.ops.aten
_SQUEEZES = (_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims,
             _aten.squeeze_.default, _aten.squeeze_.dim, _aten.squeeze_.dims)  # fmt: skip


def squeezed_sizes(program: ExportedProgram) -> list[Decision]:
    """The conditions under which the squeezes of a program do what those of its module do.

    Args:
        program: the program.

    Returns:
        For each axis of a dynamic size that is squeezed, that it is not 1.
    """
    found: dict[Any, Decision] = {}
    for node in program.graph.nodes:
        for _, size in _kept_axes(node):
            span, condition = span_of(node), sympy.Ne(size, 1)
            if condition.free_symbols:
                place = ("", 0) if span is None else (span.file, span.line)
                found.setdefault(condition, Decision(condition, *place))
    return list(found.values())


def _kept_axes(node: torch.fx.Node) -> Iterator[tuple[int, Any]]:
    """The squeezed axes of a node whose sizes are dynamic, with these sizes."""
    if node.op == "call_function" and node.target in _SQUEEZES:
        source = node.args[0]
        value = source.meta.get("val") if isinstance(source, torch.fx.Node) else None
        if isinstance(value, torch.Tensor):
            for axis in _dims(node, value):
                size = value.shape[axis]
                if isinstance(size, torch.SymInt) and size.node.expr.free_symbols:
                    yield axis, size.node.expr


def _dims(node: torch.fx.Node, value: torch.Tensor) -> list[int]:
    """The axes that a squeeze removes where they have the length 1."""
    given: Any = node.args[1] if len(node.args) > 1 else range(value.ndim)
    axes: Sequence[int] = [given] if isinstance(given, int) else given
    return [axis % value.ndim for axis in axes if value.ndim]
