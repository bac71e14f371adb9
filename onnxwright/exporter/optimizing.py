"""What an exported model is rid of: repeated nodes, what nothing reads."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass,
    RemoveUnusedNodesPass,
)


def optimize(model: ir.Model) -> None:
    """Remove what computes nothing; the model is changed.

    The tracing backend leaves little: constants are folded and identities dropped as it builds.
    Identities that are left give outputs names of their own, and stay.

    Args:
        model: the model.
    """
    for step in (
        CommonSubexpressionEliminationPass(size_limit=0),
        RemoveUnusedNodesPass(),
    ):
        step(model)
