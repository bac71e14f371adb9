"""The lesser and the larger of two sizes, where it is proven which one that is.

A slice `table[:n]` is made before the capture has seen that `n` fits the table: its end is
`Min(64, n)`.  At the end that is known, by the declared range of `n` or by a guard; and a slice
ends where its tensor ends in any case.
"""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.guards import Sizes
from onnxwright.exporter.dimensions import shape_environment

_EXTREMES = (torch.sym_min, torch.sym_max)


def settle_extremes(program: ExportedProgram, sizes: Sizes) -> None:
    """Put the operand that is the lesser or the larger one in the place of an extreme.

    Torch narrows ranges for the layout of memory, too: they say nothing here.

    Args:
        program: is changed.
        sizes: what calls are checked for.
    """
    environment = shape_environment(program)
    asserts = {} if environment is None else environment.deferred_runtime_asserts
    stated = [one.expr for found in asserts.values() for one in found]
    stated += [guard.expression for guard in sizes.guards]
    facts = Facts(tuple(stated), least=0).within(sizes.ranges)
    for node in list(program.graph.nodes):
        if node.op == "call_function" and node.target in _EXTREMES:
            size = node.meta.get("val")
            operands = [x for x in node.args if isinstance(x, torch.fx.Node)]
            equal = (x for x in operands if _are_equal(size, x.meta.get("val"), facts))
            chosen = next(equal, None)
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
        others = [x for x in least.args if not _is_size(x, size)]
        if len(others) == 1:
            user.args = (tensor, axis, start, others[0], *user.args[4:])


def _is_size(operand: Any, size: Any) -> bool:
    """Whether an operand is a size of a tensor, whatever the sizes of the inputs are."""
    value = operand.meta.get("val") if isinstance(operand, torch.fx.Node) else operand
    if isinstance(size, torch.SymInt) and isinstance(value, torch.SymInt):
        return bool(size.node.expr == value.node.expr)
    return isinstance(size, int) and isinstance(value, int) and size == value


def _are_equal(one: Any, two: Any, facts: Facts) -> bool:
    """Whether two sizes are known to be equal."""
    if not isinstance(one, torch.SymInt) or not isinstance(two, torch.SymInt):
        return False
    return facts.proves(sympy.Eq(one.node.expr, two.node.expr))
