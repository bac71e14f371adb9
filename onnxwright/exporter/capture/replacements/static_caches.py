"""Layers of transformers' caches: tokens counted by tensors or sizes while capturing.

A sliding-window layer of a `StaticCache` counts the tokens that it has seen in Python, and chooses
by that number how it stores further ones.  While a program is captured it computes the same from
its tensors, for any number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from onnxwright.exporter.capture.session.changes import Changes


def count_of(layer: Any) -> torch.Tensor:
    """The number of tokens that an initialized layer has seen, as a tensor.

    Returns:
        Its own tensor where that one counts all of them.
    """
    own: torch.Tensor = layer.cumulative_length
    seen = getattr(layer, "cumulative_length_int", None)
    if seen is None or not _is_real(own) or int(own) == seen:
        return own
    return torch.full_like(own, seen)


def set_count(layer: Any, count: Any) -> None:
    """Let a layer have seen a number of tokens."""
    layer.cumulative_length = count
    if hasattr(layer, "cumulative_length_int") and _is_real(count):
        layer.cumulative_length_int = int(count)


def _is_real(tensor: Any) -> bool:
    """Whether a tensor has a number that Python may read now."""
    if torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None:
        return False
    return (
        type(tensor) is torch.Tensor
        and tensor.device.type != "meta"
        and not torch._is_functional_tensor(tensor)
    )


def update(layer: Any, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Keys and values that the new tokens attend to: those kept, then the new ones.

    The tokens that are kept are one fewer than the window.  Until there are so many, new tokens go
    to the place that their number says; the mask hides what is after them.
    """
    if not layer.is_initialized:
        layer.lazy_initialization(key_states, value_states)
    window, added = layer.max_cache_len, key_states.shape[-2]
    seen = layer.cumulative_length
    dropped = (seen >= window).to(torch.int64)
    start = seen.clamp(max=window - 1)
    kept = torch.arange(window - 1, device=key_states.device) + dropped
    places = torch.arange(added, device=key_states.device) + start
    stored = torch.arange(window, device=key_states.device) + (start + added - window).clamp(min=0)
    results = []
    for old, new in ((layer.keys, key_states), (layer.values, value_states)):
        joined = torch.cat([old.index_select(2, kept), torch.zeros_like(new)], dim=2)
        joined = joined.index_copy(2, places, new.to(old.dtype))
        old.copy_(joined.index_select(2, stored))
        results.append(joined)
    layer.cumulative_length.add_(added)
    return results[0], results[1]


def mask_sizes(layer: Any, query_length: int) -> tuple[int, Any]:
    """How many keys `update` gives, and the position of the first one.

    Called before `update`, whose count of tokens it reads.
    """
    window = layer.max_cache_len
    return window + query_length - 1, (layer.cumulative_length - window + 1).clamp(min=0)


def seen(layer: Any) -> Any:
    """The number of tokens, as a `StaticLayer` has it."""
    return layer.cumulative_length if layer.is_initialized else 0


def length_of(layer: Any) -> Any:
    """The number of tokens of a `DynamicLayer`: the length of its keys, also where that is 0."""
    return layer.keys.shape[-2] if layer.is_initialized and layer.keys.ndim > 1 else 0


def padding(argument: str, value: int) -> Callable[[Any], Callable[..., Any]]:
    """A function of masks, but padded for all keys where the position of the first is a tensor.

    The given positions reach at least to that of the first key.
    """

    def make(original: Any) -> Callable[..., Any]:
        return _padded(original, argument, value)

    return make


def _padded(original: Any, argument: str, value: int) -> Callable[..., Any]:
    def padded(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip((argument, *_RESTS[argument]), args, strict=False)) | kwargs
        if arguments[argument] is None or not isinstance(arguments["kv_offset"], torch.Tensor):
            return original(*args, **kwargs)
        pad = (0, arguments["kv_length"])
        return torch.nn.functional.pad(arguments[argument], pad, value=value)

    return padded


_RESTS = {
    "attention_mask": ("kv_length", "kv_offset"),
    "block_sequence_ids": ("attention_mask", "kv_length", "kv_offset"),
}


def masks_at_any_length(changes: Changes, model: Any) -> None:
    """Masks do not ask whether one token is read: no mask is left out while a model is exported."""

    def plain(owner: Any, name: str, *default: Any) -> Any:
        return False if name == "is_compileable" else getattr(owner, name, *default)

    changes.attribute(sys.modules["transformers.masking_utils"], "getattr", plain)


# -- masks of transformers' encoders: none where nothing is masked, as outside of a capture --------
# While a model is captured, transformers makes a mask of ones for an encoder that is given none,
# so that nobody looks at values.  Layers that shorten or exchange the axes of their scores
# (Informer, Autoformer) do not take it; without a capture they get None.


def skipped_where_none(own: Callable[..., Any]) -> Callable[..., Any]:
    """An encoder without a mask and without a window has none in a capture too.

    No value decides it: only a mask that is given has values.
    """

    def is_skipped(padding_mask: Any, kv_length: Any, local_attention_size: Any = None) -> Any:
        if padding_mask is None and local_attention_size is None:
            return True
        return own(padding_mask, kv_length, local_attention_size)

    return is_skipped
