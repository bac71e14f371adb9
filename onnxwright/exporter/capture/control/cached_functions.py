"""Functions with a cache (`functools.lru_cache`): what a capture keeps of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(frozen=True)
class Cached:
    """What a cached function gave.

    Fields:
        value: what it gave.
        version: how often it was changed before it was given; None for what is not a tensor.
        line: where the function was called.
        kept: what lives as long as this: nothing else gets its identity.
    """

    value: Any
    version: int | None
    line: tuple[str, int]
    kept: Any


def call_cached(
    store: Any, f: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function with a cache, which keeps nothing of a capture.

    Args:
        store: has what the function gave in this capture.
        f: the function with the cache.
        function: the converted function.
        args, kwargs: its arguments.
    """
    values = (*args, *kwargs.values())
    try:
        hash(key := (id(f), *map(_key_of, args), *zip(kwargs, map(_key_of, kwargs.values()))))
    except TypeError:  # an argument that has no hash: the function says so
        return f(*args, **kwargs)
    of_run_time = values if any(map(_is_of_run_time, values)) else None
    return store.cached(key, lambda: function(*args, **kwargs), of_run_time)


def _is_of_run_time(argument: Any) -> bool:
    parts = argument if isinstance(argument, tuple) else ()
    return isinstance(argument, (torch.Tensor, *_SYMBOLS)) or any(map(_is_of_run_time, parts))


def _key_of(argument: Any) -> Any:
    """What stands for an argument in the key of a cached function."""
    if isinstance(argument, tuple):
        return type(argument), *map(_key_of, argument)
    if isinstance(argument, torch.Tensor):
        return torch.Tensor, id(argument)
    # A symbol has no hash, and its expression has one.
    return type(argument), argument.node.expr if isinstance(argument, _SYMBOLS) else argument
