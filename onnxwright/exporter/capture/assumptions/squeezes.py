"""`squeeze` of axes of dynamic sizes: kept, although PyTorch would remove them for a size of 1.

Torch takes dynamic sizes for 2 or more, and leaves no guard where `squeeze` asks for a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.places import span_of
from onnxwright.exporter.torch_internals import HigherOrderOperator

_aten = torch.ops.aten
_SQUEEZES = (_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims,
             _aten.squeeze_.default, _aten.squeeze_.dim, _aten.squeeze_.dims)  # fmt: skip


def squeezed_sizes(program: ExportedProgram) -> list[Decision]:
    """The conditions under which the squeezes of a program do what those of its module do.

    On the side of a decision where a size is 1, an axis of that size is removed: the operator
    becomes `select` there, which says so.

    Args:
        program: the program.

    Returns:
        For each axis of a dynamic size that is squeezed and kept, that it is not 1.
    """
    decisions: dict[Any, Decision] = {}
    for node, where in _nodes(program.graph_module, sympy.true):
        if node.op != "call_function" or node.target not in _SQUEEZES:
            continue
        value = node.args[0].meta.get("val")
        axes, ones = _squeezed_axes(node, value)
        if axes and node.meta["val"].ndim < value.ndim - len(ones):
            _select(node, value, [*axes, *ones])
            continue
        span = span_of(node)
        place = ("", 0) if span is None else (span.file, span.line)
        for axis in axes:
            condition = sympy.Ne(value.shape[axis].node.expr, 1)
            if not Facts((where,)).proves(condition):
                condition = sympy.Or(sympy.Not(where), condition)
                decisions.setdefault(condition, Decision(condition, *place))
    return list(decisions.values())


def _nodes(module: torch.fx.GraphModule, where: Any) -> Iterator[tuple[torch.fx.Node, Any]]:
    """The nodes of a graph and of the sides in it, each with the condition on sizes of its side."""
    for node in list(module.graph.nodes):
        yield node, where
        if node.target is torch.ops.higher_order.cond:
            for side, name in zip(_conditions(node.args[0]), node.args[1:3], strict=True):
                inner = getattr(module, str(name.target))
                yield from _nodes(inner, sympy.And(where, side))
        elif isinstance(node.target, HigherOrderOperator):
            for one in node.all_input_nodes:
                inner = getattr(module, str(one.target), None) if one.op == "get_attr" else None
                if isinstance(inner, torch.fx.GraphModule):
                    yield from _nodes(inner, where)


def _conditions(test: Any) -> tuple[Any, Any]:
    """What a test of `cond` says of sizes where it holds and where not: nothing, for most."""
    if test.target is _aten.scalar_tensor.default:
        test = test.args[0]
    value = test.meta.get("val") if isinstance(test, torch.fx.Node) else None
    if not isinstance(value, torch.SymBool):
        return sympy.true, sympy.true
    return value.node.expr, sympy.Not(value.node.expr)


def _squeezed_axes(node: torch.fx.Node, value: Any) -> tuple[list[int], list[int]]:
    """The squeezed axes of a node whose sizes are dynamic, and those of size 1."""
    axes = _dims(node, value) if isinstance(value, torch.Tensor) else []
    dynamic = [n for n in axes if isinstance(value.shape[n], torch.SymInt)]
    dynamic = [n for n in dynamic if value.shape[n].node.expr.free_symbols]
    return dynamic, [n for n in axes if n not in dynamic and value.shape[n] == 1]


def _dims(node: torch.fx.Node, value: torch.Tensor) -> list[int]:
    """The axes that a squeeze removes where they have the length 1."""
    dim_argument: Any = node.args[1] if len(node.args) > 1 else range(value.ndim)
    axes: Sequence[int] = [dim_argument] if isinstance(dim_argument, int) else dim_argument
    return [axis % value.ndim for axis in axes if value.ndim]


def _select(node: torch.fx.Node, value: torch.Tensor, axes: list[int]) -> None:
    """Write a squeeze as `select` of the axes that it removes."""
    graph, rest = node.graph, node.args[0]
    with graph.inserting_before(node):
        for axis in sorted(axes, reverse=True):
            value = value.select(axis, 0)
            rest = graph.call_function(_aten.select.int, (rest, axis, 0))
            rest.meta = {**node.meta, "val": value}
    node.replace_all_uses_with(rest)
    graph.erase_node(node)
    graph.owning_module.recompile()
