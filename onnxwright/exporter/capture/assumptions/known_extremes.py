"""The lesser and the larger of two sizes, where it is proven which one that is.

A slice `table[:n]` is made before the capture has seen that `n` fits the table: its end is
`Min(64, n)`.  At the end that is known, by the declared range of `n` or by a guard; and a slice
ends where its tensor ends in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.guards import Sizes
from onnxwright.exporter.dimensions import shape_environment

# Where an operand is the result, beside the other one.
_EXTREMES: Mapping[Any, Any] = {torch.sym_min: sympy.Le, torch.sym_max: sympy.Ge}


def settle_extremes(program: ExportedProgram, sizes: Sizes) -> None:
    """Put the operand that is the lesser or the larger one in the place of an extreme.

    Torch narrows ranges for the layout of memory, too: they say nothing here.

    Args:
        program: is changed.
        sizes: what calls are checked for.
    """
    environment = shape_environment(program)
    asserts = {} if environment is None else environment.deferred_runtime_asserts
    stated = [one.expr for symbol_asserts in asserts.values() for one in symbol_asserts]
    stated += [guard.expression for guard in sizes.guards]
    facts = Facts(tuple(stated), least=0).within(sizes.ranges)
    for node in list(program.graph.nodes):
        if node.op == "call_function" and node.target in _EXTREMES:
            chosen = _result(node, facts)
            if chosen is not None:
                node.replace_all_uses_with(chosen)
            elif node.target is torch.sym_min:
                _end_slices_at(node)
            if not node.users:
                program.graph.erase_node(node)


def _end_slices_at(least: torch.fx.Node) -> None:
    """Take the other size for the end of slices of a tensor that has one of two sizes.

    Source:
        aten::slice.Tensor, and ONNX's Slice (opset 13): an end beyond the axis is its size.
    """
    for user in list(least.users):
        if user.target is not torch.ops.aten.slice.Tensor or len(user.args) < 4:
            continue
        tensor, axis, start, end = user.args[:4]
        if end is not least or start is least:
            continue
        size = tensor.meta["val"].shape[axis]
        length = size.node.expr if isinstance(size, torch.SymInt) else size
        others = [x for x in least.args if _expression(x) != length]
        if len(others) == 1:
            user.args = (tensor, axis, start, others[0], *user.args[4:])


def _result(node: torch.fx.Node, facts: Facts) -> torch.fx.Node | None:
    """The operand of an extreme that is its result at all sizes; None where neither is proven.

    Torch takes sizes for 1 or more and gives `n` for `max(n, 1)`, which is 1 where `n` is 0.
    """
    one, two = node.args
    for result, other in ((one, two), (two, one)):
        if isinstance(result, torch.fx.Node):
            sizes = [_expression(x) for x in (result, other)]
            if None not in sizes and facts.proves(_EXTREMES[node.target](*sizes, evaluate=False)):
                return result
    return None


def _expression(operand: Any) -> Any:
    """The size that an operand is, in torch's symbols; None where it is not one."""
    value = operand.meta.get("val") if isinstance(operand, torch.fx.Node) else operand
    if isinstance(value, torch.SymInt):
        return value.node.expr
    return sympy.Integer(value) if isinstance(value, int) else None
