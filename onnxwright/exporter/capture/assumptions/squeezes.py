"""Axes of dynamic sizes that `squeeze` keeps: for a size of 1, PyTorch would remove them.

Torch takes dynamic sizes for 2 or more, and leaves no guard where `squeeze` asks for a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.guards import Place
from onnxwright.exporter.places import span_of
from onnxwright.exporter.signature import inputs_of

_aten = torch.ops.aten
_SQUEEZES = (_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims,
             _aten.squeeze_.default, _aten.squeeze_.dim, _aten.squeeze_.dims)  # fmt: skip
_LARGEST = 128  # sizes up to which one is looked for at which a squeezed axis has the length 1


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


def keep_squeezed(captured: torch.fx.GraphModule) -> None:
    """Let the module of a program keep the axes that an exported model keeps.

    Args:
        captured: the module; it is changed.
    """
    for node in captured.graph.nodes:
        kept = [axis for axis, _ in _kept_axes(node)]
        if kept:
            value = node.args[0].meta["val"]
            dims = [d for d in _dims(node, value) if d not in kept]
            in_place = node.target.overloadpacket is _aten.squeeze_
            node.target = _aten.squeeze_.dims if in_place else _aten.squeeze.dims
            node.args = (node.args[0], dims)
    captured.recompile()


def sizes_without(condition: Any, program: ExportedProgram) -> dict[Place, int]:
    """Sizes of inputs at which a squeezed axis has the length 1.

    Args:
        condition: that it has not.
        program: the program.

    Returns:
        Sizes by place; empty if none are found.
    """
    for size in range(1, _LARGEST):
        given = dict.fromkeys(condition.free_symbols, size)
        if condition.subs(given) == False:  # noqa: E712 - sympy's false
            return dict(_sizes_of_inputs(program, given))
    return {}


def _sizes_of_inputs(program: ExportedProgram, given: Any) -> Iterator[tuple[Place, int]]:
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    for n, entry in enumerate(users):
        value = entry.node.meta.get("val")
        tensor = isinstance(value, torch.Tensor)
        for axis, size in enumerate(value.shape) if tensor else ((None, value),):
            if isinstance(size, torch.SymInt):
                expression = size.node.expr.subs(given)
                if expression != size.node.expr and not expression.free_symbols:
                    yield (n, axis), int(expression)


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


__all__ = ["keep_squeezed", "sizes_without", "squeezed_sizes"]
