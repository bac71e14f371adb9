"""Classes that PyTorch takes apart without names for the parts: torch.export asks for names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from onnxwright.exporter.torch_internals import pytree


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
