"""Attributes that a module sets while it is captured or compared: they are gone afterwards.

What is computed while PyTorch traces has no numbers, and what is computed from the example inputs
has theirs.  Left on the module, such a tensor would be read by the next call
(`if hasattr(self, "cache")`), or by the next way to capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_COMPUTED = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
_NUMBERS = (int, float, bool, str, type(None))
# How far objects are followed from a module, and how many of them.
_DEPTH = 3
_MOST = 20_000
_NOT_FOLLOWED = (torch.Tensor, type, *_NUMBERS)


@contextmanager
def new_attributes_removed(module: torch.nn.Module) -> Iterator[None]:
    """While it lasts, attributes may be set; at its end those that are new are removed.

    Numbers, texts, tensors and containers of these are; other objects, such as a cache that a
    library makes at the first call, stay; hooks that it adds then, too, and what says that they
    are there (`model.has_hooks = True`): without it the next call would add them again.
    Attributes that had another value before have it again where they hold tensors.

    Args:
        module: what is run, with all in it.
    """
    before = [(names, dict(names)) for names in _attributes_of(module)]
    hooks = _number_of_hooks(module)
    try:
        yield
    finally:
        has_new_hooks = _number_of_hooks(module) > hooks
        for names, old in before:
            for name, value in list(names.items()):
                if name not in old:
                    if has_new_hooks and value is True:
                        continue
                    if _is_data(value) or _is_computed(value):
                        del names[name]
                elif value is not old[name] and _is_computed(value):
                    names[name] = old[name]


def _number_of_hooks(module: torch.nn.Module) -> int:
    """How many hooks run before and after the modules of one."""
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


def _attributes_of(module: torch.nn.Module) -> list[dict[str, Any]]:
    """The attributes of modules and of the plain objects that they hold."""
    waiting: list[tuple[Any, int]] = [(one, 0) for one in module.modules()]
    found: dict[int, dict[str, Any]] = {}
    for value, depth in waiting:
        names = getattr(value, "__dict__", None)
        if type(names) is not dict or id(names) in found or len(found) >= _MOST:
            continue
        found[id(names)] = names
        if depth < _DEPTH:
            held = [v for v in names.values() if not isinstance(v, _NOT_FOLLOWED)]
            waiting += [(v, depth + 1) for v in held if not _is_of_torch(v)]
    return list(found.values())


def _is_of_torch(value: Any) -> bool:
    return isinstance(value, torch.nn.Module) or type(value).__module__.startswith("torch.")


def _is_data(value: Any) -> bool:
    """Whether a value is a number, a text or a tensor, or holds nothing else."""
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_data, value))
    return type(value) in _NUMBERS or isinstance(value, torch.Tensor)


def _is_computed(value: Any) -> bool:
    """Whether a value is, or holds, a tensor or a number that PyTorch traces."""
    if isinstance(value, dict):
        return any(map(_is_computed, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_computed, value))
    return isinstance(value, _COMPUTED)
