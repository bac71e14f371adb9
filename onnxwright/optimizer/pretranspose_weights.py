"""Store weights transposed that are only read so: no Transpose is left to the run time."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.optimizer.weight_sources import Derived, combined, set_source


def pretranspose_weights(model: ir.Model, states: Collection[str] = ()) -> None:
    """Let initializers take the place of their transposes, where nothing reads them otherwise.

    The new tensors are views: no number is copied, and none is written twice.

    Args:
        model: the model; it is changed.
        states: names of initializers whose new values are outputs: the caller writes them back, in
            the order of axes that they have.
    """
    for name, value in list(model.graph.initializers.items()):
        perm = None if name in states else _only_perm(value)
        if perm is None:
            continue
        set_source(value, combined([value], partial(_permuted, perm)))
        for node in [use.node for use in value.uses()]:
            ir.convenience.replace_all_uses_with(node.outputs[0], value)
            assert node.graph is not None
            node.graph.remove(node, safe=True)


def _permuted(perm: list[int], tensors: Any) -> Any:
    return permuted(tensors[0], perm)


def _only_perm(value: ir.Value) -> list[int] | None:
    """How all that reads a weight transposes it; None where anything else is done with it."""
    if value.is_graph_output() or not _is_viewed(value.const_value):
        return None
    common: list[int] | None = None
    for use in value.uses():
        node = use.node
        perm = node.attributes.get("perm")
        if node.op_type != "Transpose" or node.domain or perm is None or perm.is_ref():
            return None
        if node.outputs[0].is_graph_output() or common not in (None, list(perm.as_ints())):
            return None
        common = list(perm.as_ints())
    return common


def _is_viewed(tensor: Any) -> bool:
    """Whether a tensor can be read with its axes in another order without a copy."""
    return hasattr(tensor, "permuted")


def permuted(tensor: Any, perm: list[int]) -> Any:
    """A tensor of onnx_ir with its axes in another order, not copied before it is read.

    Args:
        tensor: the tensor.
        perm: for each axis, the one it was.

    Returns:
        The tensor.

    Example:
        >>> permuted(ir.tensor([[1, 2, 3]]), [1, 0]).numpy().tolist()
        [[1], [2], [3]]
    """
    if _is_viewed(tensor):
        return tensor.permuted(perm)
    return Derived(
        lambda arrays: np.transpose(arrays[0], perm),
        [tensor],
        tensor.dtype,
        [tensor.shape[axis] for axis in perm],
        tensor.name,
    )
