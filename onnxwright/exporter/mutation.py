"""Programs that write into tensors, made functional by PyTorch; others are left as they are."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram

# Regions that change what the operators inside compute.
_REGIONS = frozenset({"wrap_with_autocast"})


def functional(program: ExportedProgram) -> ExportedProgram:
    """The program without operators that write into their arguments.

    Args:
        program: an exported program.

    Returns:
        The same program if it has none; else what torch's functionalization makes of it, with the
        new values of buffers and inputs as further results.
    """
    modules = [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    if any(_writes(node) for m in modules for node in m.graph.nodes):
        return program.run_decompositions({})
    return program


def _writes(node: torch.fx.Node) -> bool:
    """Whether a node writes into an argument that something else may read."""
    if node.op != "call_function":
        return False
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return target.name() in _REGIONS
    schema = getattr(target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    return not str(schema.name).startswith("aten::_assert")
