"""Key-value caches of transformers as nested lists of tensors, which torch can flatten."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree as pytree


def know_caches() -> None:
    """Let torch flatten the caches of transformers, where that package is in use.

    A `DynamicCache` is `[keys of each layer, values of each layer]`, as transformers itself has it;
    an `EncoderDecoderCache` is its two caches; a `StaticCache` is `[keys, values, length]` for each
    layer, of nothing for a layer that is not initialized.

    Example:
        >>> know_caches()
    """
    integration = sys.modules.get("transformers")
    if integration is None:
        return
    try:
        executorch = importlib.import_module("transformers.integrations.executorch")
        executorch.register_dynamic_cache_export_support()
    except (ImportError, AttributeError, ValueError):
        pass  # an older or newer release, or caches that are registered already
    for name, (flatten, unflatten) in _OTHERS.items():
        kind = getattr(integration, name, None)
        if kind is not None and kind not in pytree.SUPPORTED_NODES:
            _register(kind, flatten, unflatten)


_Flat = tuple[list[Any], Any]


def _register(
    kind: type, flatten: Callable[[Any], _Flat], unflatten: Callable[[Any, Any], Any]
) -> None:
    def with_keys(cache: Any) -> Any:
        children, context = flatten(cache)
        return [(pytree.SequenceKey(n), child) for n, child in enumerate(children)], context

    pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=with_keys,
    )
    fx_pytree.register_pytree_flatten_spec(kind, lambda cache, spec: flatten(cache)[0])


def _flatten_pair(cache: Any) -> _Flat:
    return [cache.self_attention_cache, cache.cross_attention_cache], None


def _unflatten_pair(children: Any, context: Any) -> Any:
    return sys.modules["transformers"].EncoderDecoderCache(*children)


def _flatten_static(cache: Any) -> _Flat:
    children, context = [], []
    for layer in cache.layers:
        if type(layer).__name__ != "StaticLayer":
            # It counts its tokens in Python: a program would be right for one count alone.
            raise RuntimeError(f"a StaticCache with a layer of type {type(layer).__name__}")
        ready = bool(layer.is_initialized)
        children.append([layer.keys, layer.values, layer.cumulative_length] if ready else [])
        context.append(layer.max_cache_len)
    return children, context


def _unflatten_static(children: Any, context: Any) -> Any:
    utils = importlib.import_module("transformers.cache_utils")
    layers = []
    for child, length in zip(children, context, strict=True):
        layer = utils.StaticLayer(max_cache_len=length)
        if child:
            _fill(layer, *child)
        layers.append(layer)
    made = object.__new__(utils.StaticCache)
    utils.Cache.__init__(made, layers=layers)
    return made


def _fill(layer: Any, keys: Any, values: Any, length: Any) -> None:
    """What initializing a layer sets, from tensors that are there."""
    layer.keys, layer.values, layer.cumulative_length = keys, values, length
    layer.is_initialized = True
    if isinstance(keys, torch.Tensor) and isinstance(values, torch.Tensor):
        layer.dtype, layer.device = keys.dtype, keys.device
        layer.batch_size, layer.num_heads = keys.shape[:2]
        layer.k_head_dim, layer.v_head_dim = keys.shape[-1], values.shape[-1]


_OTHERS: dict[str, tuple[Callable[[Any], _Flat], Callable[[Any, Any], Any]]] = {
    "EncoderDecoderCache": (_flatten_pair, _unflatten_pair),
    "StaticCache": (_flatten_static, _unflatten_static),
}
