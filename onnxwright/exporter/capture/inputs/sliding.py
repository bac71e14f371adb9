"""Sliding-window layers of transformers' caches: the number of tokens that they have seen.

Such a layer keeps the keys and values of the last tokens, and counts all of them in Python.  An
exported program takes the tensors only, so that it counts the tokens that are kept.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter.torch_internals import pytree

_KIND = "DynamicSlidingWindowLayer"
# Set on layers of results whose number of tokens is not known.
_UNKNOWN = "_onnxwright_count_unknown"


def warn_sliding(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Warn of sliding-window caches without positions among the inputs (OW836)."""
    try:
        arguments = inspect.signature(module.forward).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        arguments = {}
    if not _has_positions({**arguments, **kwargs}):
        for layer in _layers((args, kwargs)):
            kept = int(layer.sliding_window) - 1
            warn(messages.SlidingCache(kept=kept, span=user_span()))
            return


def check_sliding(arguments: Mapping[str, Any]) -> None:
    """Check that the tokens of sliding-window caches can be counted by the program.

    Raises:
        ExportTypeError: a layer has seen more tokens than it keeps, and no positions are given
            (OW826).
    """
    if _has_positions(arguments):
        return
    for layer in _layers(list(arguments.values())):
        kept, seen = int(layer.keys.shape[-2]), int(layer.cumulative_length)
        if getattr(layer, _UNKNOWN, False) or seen != kept:
            count = "may have seen more" if seen == kept else f"has seen {seen}"
            fail(
                messages.BadProgramInput(
                    reason=f"a sliding-window layer of the cache keeps {kept} tokens and "
                    f"{count}; the program would count positions from those kept",
                    hint="export with `position_ids` among the inputs, and give them in each call",
                    span=user_span(),
                )
            )


def mark_sliding(results: Any) -> None:
    """Mark caches among results that may have dropped tokens, for `check_sliding`."""
    for layer in _layers(results):
        if layer.keys.shape[-2] >= int(layer.sliding_window) - 1:
            setattr(layer, _UNKNOWN, True)


def _has_positions(arguments: Mapping[str, Any]) -> bool:
    """Whether an argument gives the positions of the tokens."""
    return any("position" in name and value is not None for name, value in arguments.items())


def _layers(value: Any) -> Iterator[Any]:
    """The initialized sliding-window layers of dynamic caches in nested values."""
    for leaf in pytree.tree_leaves(value, is_leaf=_is_cache):
        if not _is_cache(leaf):
            continue
        for cache in (leaf, getattr(leaf, "self_attention_cache", None)):
            for layer in getattr(cache, "layers", None) or ():
                keys = getattr(layer, "keys", None)
                if type(layer).__name__ == _KIND and isinstance(keys, torch.Tensor):
                    if keys.dim() == 4:
                        yield layer


def _is_cache(value: Any) -> bool:
    return type(value).__name__ in ("DynamicCache", "EncoderDecoderCache")
