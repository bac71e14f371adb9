"""The last step of optimizing: nodes that weights alone feed, and normalizations after products."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass, RemoveUnusedNodesPass

from onnxwright.optimizer.constant_folding import FOLD_LIMIT, fold_constants
from onnxwright.optimizer.fusing import fuse
from onnxwright.optimizer.norm_folding import fold_norms


def fold_weights(
    model: ir.Model,
    fixed: frozenset[str] = frozenset(),
    *,
    limit: int = FOLD_LIMIT,
    exact: bool = False,
) -> bool:
    """Let initializers take the place of nodes that read weights alone.

    The initializers are computed from the weights when they are read or saved, not now.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.
        limit: bytes that a group of nodes may add to the model.
        exact: fold only where the result is the same bits.

    Returns:
        Whether there was something to fold.
    """
    has_constants = fold_constants(model, fixed, limit=limit, exact=exact)
    has_norms = not exact and fold_norms(model, fixed)
    return has_constants or has_norms


def optimize_traced(model: ir.Model, fixed: frozenset[str] = frozenset()) -> None:
    """Make a model smaller that the tracing backend built: it is in normal form already.

    Identities that are left give outputs names of their own, and stay.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.
    """
    CommonSubexpressionEliminationPass(size_limit=0)(model)
    # NOTE: before anything is made of weights: tables of angles are known by how they are computed.
    if fuse(model):
        RemoveUnusedNodesPass()(model)
    fold_weights(model, fixed)
    RemoveUnusedNodesPass()(model)
