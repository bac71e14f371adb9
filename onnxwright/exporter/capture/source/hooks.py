"""Hooks of modules that give something else on one side of a decision, and None on the other.

PyTorch leaves the arguments or the result of a module as they are where a hook gives None.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.values.one_of import OneOf, among

_Hook = Callable[..., Any]


@contextmanager
def hooks_decided(model: Any) -> Iterator[None]:
    """In this context, a hook that may give None gives what PyTorch would go on with.

    Args:
        model: a module, or anything else.
    """
    changed: list[tuple[dict[int, Any], int, Any]] = []
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        kinds = (module._forward_pre_hooks, _before), (module._forward_hooks, _after)
        for hooks, wrapped in kinds:
            for key, hook in list(hooks.items()):
                changed.append((hooks, key, hook))
                hooks[key] = wrapped(hook)
    try:
        yield
    finally:
        for hooks, key, hook in changed:
            if key in hooks:
                hooks[key] = hook


def _after(hook: _Hook) -> _Hook:
    """A hook that runs after a module: its last argument is the result."""

    @functools.wraps(hook)
    def run(*args: Any) -> Any:
        found = bound(hook)(*args)
        if not isinstance(found, OneOf):
            return found
        return among(found, lambda one: args[-1] if one is None else one)

    return run


def _before(hook: _Hook) -> _Hook:
    """A hook that runs before a module: it is given the arguments, or these and those by name."""

    @functools.wraps(hook)
    def run(module: Any, *given: Any) -> Any:
        found = bound(hook)(module, *given)
        if not isinstance(found, OneOf):
            return found
        other = given[0] if len(given) == 1 else given
        return among(found, lambda one: other if one is None else _as_tuple(one))

    return run


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """What a hook gives, as arguments: PyTorch takes one without a tuple as well."""
    return value if isinstance(value, tuple) else (value,)
