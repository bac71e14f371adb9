"""The nodes of a captured program that only check numbers: a model computes and does not check."""

from __future__ import annotations

import torch
from torch.fx import Node

from onnxwright.exporter.places import target_name

# Assertions about numbers: they have no ONNX.
_CHECKS = (
    "aten::_assert_scalar",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
)


def only_checked(graph: torch.fx.Graph) -> set[Node]:
    """The assertions about numbers, and the numbers that nothing else reads.

    PyTorch's bounds may be beyond the 64 bits of a size.

    Example:
        >>> graph = torch.fx.Graph()
        >>> size = graph.call_function(torch.ops.aten.sym_size.int, (graph.placeholder("x"), 0))
        >>> check = graph.call_function(torch.ops.aten._assert_scalar.default, (size, "a size"))
        >>> only_checked(graph) == {check}
        True
    """
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        name = target_name(node.target) if node.op == "call_function" else ""
        if name in _CHECKS or (
            name.startswith("_operator::") and node.users and found.issuperset(node.users)
        ):
            found.add(node)
    return found
