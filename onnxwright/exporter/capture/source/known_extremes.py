"""The lesser and the larger of two sizes, where a program says which one that is.

A slice `table[:n]` is made before the capture has seen that `n` fits the table: its length is
`Min(64, n)`.  At the end that is known, by the range of `n` or by a guard.
"""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.facts import Facts

_EXTREMES = (torch.sym_min, torch.sym_max)


def settle_extremes(program: ExportedProgram) -> None:
    """Put the operand that is the lesser or the larger one in the place of an extreme.

    Args:
        program: is changed; it is right where its guards hold.
    """
    for node in list(program.graph.nodes):
        if node.op == "call_function" and node.target in _EXTREMES:
            size = node.meta.get("val")
            operands = [x for x in node.args if isinstance(x, torch.fx.Node)]
            equal = (x for x in operands if _are_equal(size, x.meta.get("val")))
            chosen = next(equal, None)
            if chosen is not None:
                node.replace_all_uses_with(chosen)
                program.graph.erase_node(node)


def _are_equal(one: Any, two: Any) -> bool:
    """Whether two sizes are known to be equal."""
    if not isinstance(one, torch.SymInt) or not isinstance(two, torch.SymInt):
        return False
    env = one.node.shape_env
    # Torch narrows ranges for layouts, too: what `torch._check` says is known.
    asked = [one.expr for found in env.deferred_runtime_asserts.values() for one in found]
    return Facts(tuple(asked), least=0).proves(sympy.Eq(one.node.expr, two.node.expr))
