"""Dataclasses as inputs: those that PyTorch does not know are refused; shapes by their fields."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from onnxwright.exporter import checks
from onnxwright.exporter.torch_internals import pytree


def is_dataclass_object(value: Any) -> bool:
    """Whether something is an object of a dataclass, not the class."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def check_registered(args: Any, kwargs: Any) -> None:
    """Refuse dataclasses that PyTorch cannot take apart.

    Raises:
        ExportValueError: an object of an unregistered dataclass is among them (OW825).
    """
    for name, value in (("args", args), ("kwargs", kwargs)):
        for leaf in pytree.tree_leaves(value):
            if is_dataclass_object(leaf):
                word = type(leaf).__name__
                checks.raise_bad_argument(
                    name,
                    f"PyTorch does not know the fields of the dataclass `{word}`",
                    f"register it before the export: `torch.export.register_dataclass({word})`",
                )


def by_field(value: Any, spec: Any) -> Any:
    """The dynamic shapes of an object of a registered dataclass, in the order of its parts.

    Args:
        spec: by field, as a dict or as another object of the class; other forms stay.

    Returns:
        A list with a spec for each part; fields that are None have no part.

    Source:
        torch.export.register_dataclass, whose parts are the fields that are not None.
    """
    fields = [f.name for f in dataclasses.fields(value)]
    if type(spec) is type(value):
        spec = {name: getattr(spec, name) for name in fields}
    if not isinstance(spec, Mapping) or not set(spec) <= set(fields):
        return spec
    return [spec.get(name) for name in fields if getattr(value, name, None) is not None]


# -- pytree keys -----------------------------------------------------------------------------------
# Classes that PyTorch takes apart without names for the parts: torch.export asks for names.


def register_missing_keys() -> None:
    """Number the parts of registered classes that have no names for them.

    torch.export refuses such classes as inputs and outputs, when it captures and when the captured
    program is called. So the numbers stay registered.

    Source:
        pytree.register_pytree_node, whose `flatten_with_keys_fn` may be left out.
    """
    for kind, node in list(pytree.SUPPORTED_NODES.items()):
        if node.flatten_with_keys_fn is None:
            keys = _numbered(node.flatten_fn)
            pytree.SUPPORTED_NODES[kind] = node._replace(flatten_with_keys_fn=keys)


def _numbered(flatten: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], tuple[Any, Any]]:
    def flatten_with_keys(value: Any) -> tuple[Any, Any]:
        parts, context = flatten(value)
        return [(pytree.SequenceKey(n), part) for n, part in enumerate(parts)], context

    return flatten_with_keys


def parts_of(value: Any) -> list[Any] | None:
    """The parts of an object of a registered class; None for a leaf and Python's containers."""
    if isinstance(value, (dict, list, tuple, deque)):
        return None
    node = pytree.SUPPORTED_NODES.get(type(value))
    return None if node is None else list(node.flatten_fn(value)[0])
