"""What an exported model is rid of: repeated nodes, what weights alone make, what nothing reads."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass,
    RemoveUnusedNodesPass,
)

from onnxwright.exporter.freezing import freeze
from onnxwright.exporter.fusing import fuse
from onnxwright.exporter.norm_folding import fold_norms


def optimize(model: ir.Model, fixed: frozenset[str] = frozenset()) -> None:
    """Remove what computes nothing, or what the weights settle; one node for several where it can.

    The tracing backend leaves little: constants are folded and identities dropped as it builds.
    Identities that are left give outputs names of their own, and stay.

    Args:
        model: the model.
        fixed: names of initializers that stay what they are.
    """
    CommonSubexpressionEliminationPass(size_limit=0)(model)
    # NOTE: before anything is made of weights: tables of angles are known by how they are computed.
    if fuse(model):
        RemoveUnusedNodesPass()(model)
    freeze(model, fixed)
    fold_norms(model, fixed)
    RemoveUnusedNodesPass()(model)
