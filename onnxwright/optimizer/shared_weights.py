"""Initializers that hold the same are stored once.

Tensors of floats may be weights that are trained again, each in its own way: they are one only if
they are the same region of a file (or the same object), or if weights are frozen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_graphs
from onnxwright.optimizer.weight_sources import drop_unused, is_fixed, is_missing

# Bytes that are read at a time.
_CHUNK = 1 << 24
_EXACT = (ir.DataType.BOOL, ir.DataType.STRING)


def share_weights(
    model: ir.Model, fixed: frozenset[str] = frozenset(), *, frozen: bool = False
) -> int:
    """Let one initializer of the main graph take the place of others of the same type and elements.

    Arrays are compared by their digests, one after the other: none stays in memory.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.
        frozen: whether weights of floats are not trained any more.

    Returns:
        How many initializers are gone.
    """
    first: dict[Hashable, ir.Value] = {}
    gone: list[ir.Value] = []
    alike = _alike(model, fixed)
    for group in alike:
        for value in group:
            key = _identity(value) if not frozen and _may_be_trained(value) else _digest(value)
            if key is None:
                continue
            known = first.setdefault((_form(value), key), value)
            if known is value or value.graph is None:
                continue
            if known.graph is not model.graph:
                continue  # the bodies of others do not see it
            ir.convenience.replace_all_uses_with(value, known)
            for name, text in value.metadata_props.items():
                known.metadata_props.setdefault(name, text)
            gone.append(value)
    drop_unused(gone)
    return len(gone)


def _alike(model: ir.Model, fixed: frozenset[str]) -> list[list[ir.Value]]:
    """Initializers that may change places, by type and shape, where there are several."""
    groups: dict[Hashable, list[ir.Value]] = {}
    for graph in all_graphs(model.graph):
        for value in graph.initializers.values():
            if is_fixed(value) and not value.is_graph_output() and value.name not in fixed:
                groups.setdefault(_form(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def _form(value: ir.Value) -> Hashable:
    tensor: Any = value.const_value
    return tensor.dtype, tuple(tensor.shape)


def _may_be_trained(value: ir.Value) -> bool:
    """Whether a tensor is of floats and not one number, or of a module that may be given others."""
    tensor: Any = value.const_value
    if not isinstance(tensor, (ir.Tensor, ir.ExternalTensor, ir.serde.TensorProtoTensor)):
        return True
    number: bool = tensor.dtype.is_integer() or tensor.dtype in _EXACT
    return not number and tensor.size > 1


def _identity(value: ir.Value) -> Hashable | None:
    """The place of a tensor's elements in a file, or the tensor itself."""
    tensor: Any = value.const_value
    if isinstance(tensor, ir.ExternalTensor):
        return str(tensor.path), tensor.offset, tensor.length
    return id(tensor)


def _digest(value: ir.Value) -> Hashable | None:
    """What two arrays of one type and shape have in common only if they are the same."""
    tensor: Any = value.const_value
    if tensor.dtype == ir.DataType.STRING or is_missing(tensor):
        return _identity(value)
    flat = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
    made = hashlib.blake2b(digest_size=32)
    for start in range(0, flat.size, _CHUNK):
        made.update(flat[start : start + _CHUNK].data)
    return made.digest()


__all__ = ["share_weights"]
