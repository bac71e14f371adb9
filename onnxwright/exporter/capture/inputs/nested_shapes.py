"""Dynamic shapes of nested arguments: one entry for all of their tensors, fields by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from onnxwright.exporter.dataclass_inputs import by_field, is_dataclass_object
from onnxwright.exporter.pytree_keys import parts_of
from onnxwright.exporter.torch_internals import pytree


def spread(value: Any, spec: Any) -> Any:
    """A spec nested as the value it is of.

    None for a container becomes None for each input in it; axes with their dimensions, such as
    `{0: "batch"}`, become those of each tensor in it.

    Returns:
        The spec; where it does not have the form of the argument, as it was.
    """
    if spec is None and not isinstance(value, torch.Tensor):
        return pytree.tree_map(lambda _: None, value)
    if _is_of_one_tensor(spec) and not _is_leaf(value) and not _has_keys(value, spec):
        return _for_each_tensor(value, spec)
    if type(value) is dict and isinstance(spec, Mapping) and set(spec) == set(value):
        return {key: spread(value[key], spec[key]) for key in value}
    fields = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    if fields is not None and spec is not None:
        if isinstance(spec, Mapping) and set(spec) <= set(fields):
            spec = [spec.get(name) for name in fields]
        if isinstance(spec, (list, tuple)) and len(spec) == len(value):
            return type(value)(*(spread(v, s) for v, s in zip(value, spec, strict=True)))
        return spec
    if is_dataclass_object(value) and type(value) in pytree.SUPPORTED_NODES:
        parts, spec = (
            pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0],
            by_field(value, spec),
        )
        if isinstance(spec, (list, tuple)) and len(spec) == len(parts):
            return [spread(v, s) for v, s in zip(parts, spec, strict=True)]
    elif (parts := parts_of(value)) is not None:
        spec = parts_of(spec) if type(spec) is type(value) else spec
        if isinstance(spec, (list, tuple)) and len(spec) == len(parts):
            return [spread(v, s) for v, s in zip(parts, spec, strict=True)]
    if type(value) in (list, tuple) and isinstance(spec, (list, tuple)):
        if len(spec) == len(value):
            return type(value)(spread(v, s) for v, s in zip(value, spec, strict=True))
    return spec


def _is_of_one_tensor(spec: Any) -> bool:
    """Whether a spec is axes and their dimensions."""
    return (
        isinstance(spec, Mapping)
        and bool(spec)
        and all(isinstance(axis, int) for axis in spec)
        and not any(isinstance(dim, (Mapping, list, tuple)) for dim in spec.values())
    )


def _is_leaf(value: Any) -> bool:
    return type(value) not in pytree.SUPPORTED_NODES


def _has_keys(value: Any, spec: Mapping[Any, Any]) -> bool:
    return type(value) is dict and set(value) == set(spec)


def _for_each_tensor(value: Any, spec: Any) -> Any:
    """The spec for each tensor of a nested input; other containers are lists of their parts."""
    if _is_leaf(value):
        return spec if isinstance(value, torch.Tensor) else None
    if type(value) is dict:
        return {key: _for_each_tensor(part, spec) for key, part in value.items()}
    parts = pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0]
    made = [_for_each_tensor(part, spec) for part in parts]
    return tuple(made) if type(value) is tuple else made
