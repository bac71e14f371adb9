"""What an exported model is rid of: identities, repeated nodes, what nothing reads."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass,
    IdentityEliminationPass,
    RemoveUnusedNodesPass,
)


def optimize(model: ir.Model) -> None:
    """Remove what computes nothing; the model is changed.

    The tracing backend leaves little: constants are folded and identities dropped as it builds.

    Args:
        model: the model.
    """
    for step in (
        IdentityEliminationPass(),
        CommonSubexpressionEliminationPass(size_limit=0),
        RemoveUnusedNodesPass(),
    ):
        step(model)
