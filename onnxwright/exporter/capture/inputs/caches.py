"""Key-value caches of transformers as nested lists of tensors, which torch can flatten."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import _pytree as fx_pytree

from onnxwright.exporter import checks
from onnxwright.exporter.capture.replacements.static_caches import count_of, length_of, set_count
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_lock import TORCH_LOCK


def register_caches() -> None:
    """Let torch flatten the caches of transformers, where that package is in use.

    A `DynamicCache` is `[keys of each layer, values of each layer]`, as transformers itself has it;
    one with other layers (states of Mamba and the like) is a dict of tensors for each layer, by
    attribute.  An `EncoderDecoderCache` is its two caches; a `StaticCache` is `[keys, values,
    length]` for each layer, of nothing for a layer that is not initialized; the length counts all
    tokens that the layer has seen, also where it keeps the last ones only.

    Example:
        >>> register_caches()
    """
    integration = sys.modules.get("transformers")
    if integration is None:
        return
    with TORCH_LOCK:
        _register_all(integration)


def _register_all(integration: Any) -> None:
    try:
        executorch = importlib.import_module(f"{integration.__name__}.integrations.executorch")
        executorch.register_dynamic_cache_export_support()
    except (ImportError, AttributeError, ValueError, RuntimeError):
        # An older or newer release; caches that are registered already; or a library that
        # transformers imports does not load, as a torchvision beside another build of PyTorch.
        pass
    _know_states(getattr(integration, "DynamicCache", None))
    for name, (flatten, unflatten) in _OTHERS.items():
        kind = getattr(integration, name, None)
        if kind is not None and kind not in pytree.SUPPORTED_NODES:
            _register(kind, flatten, unflatten)


_Flat = tuple[list[Any], Any]


def _register(
    kind: type,
    flatten: Callable[[Any], _Flat],
    unflatten: Callable[[Any, Any], Any],
    named: Callable[[Any], Any] | None = None,
) -> None:
    pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=named or (lambda cache: _numbered(*flatten(cache))),
    )
    fx_pytree.register_pytree_flatten_spec(kind, lambda cache, spec: flatten(cache)[0])


def _numbered(children: list[Any], context: Any) -> tuple[list[Any], Any]:
    return [(pytree.SequenceKey(n), child) for n, child in enumerate(children)], context


def _flatten_pair(cache: Any) -> _Flat:
    return [cache.self_attention_cache, cache.cross_attention_cache], None


def _unflatten_pair(children: Any, context: Any) -> Any:
    """A pair whose own function does not ask torch whether dynamic lengths are above 0."""
    kind = sys.modules["transformers"].EncoderDecoderCache
    layers = getattr(children[1], "layers", None)
    if layers is None or any(type(layer).__name__ != "DynamicLayer" for layer in layers):
        return kind(*children)
    cache = object.__new__(kind)
    cache.self_attention_cache, cache.cross_attention_cache = children
    lengths = map(length_of, layers)
    cache.is_updated = {n: not isinstance(x, int) or x > 0 for n, x in enumerate(lengths)}
    return cache


def _flatten_static(cache: Any) -> _Flat:
    children, context = [], []
    for layer in cache.layers:
        kind = type(layer).__name__
        if kind not in _STATIC:
            checks.raise_bad_argument(
                "kwargs",
                f"a StaticCache has a layer of type {kind}, whose state is not keys, values and "
                "a length",
                "export with a `DynamicCache`",
            )
        ready = bool(layer.is_initialized) and isinstance(layer.keys, torch.Tensor)
        children.append([layer.keys, layer.values, count_of(layer)] if ready else [])
        context.append([kind, getattr(layer, "max_cache_len", 0)])
    return children, context


def _unflatten_static(children: Any, context: Any) -> Any:
    utils = _utils()
    layers = []
    for child, (kind, length) in zip(children, context, strict=True):
        layer = getattr(utils, kind)(max_cache_len=length, sliding_window=length)
        if child:
            _fill(layer, *child)
        layers.append(layer)
    return _cache_of(utils.StaticCache, layers)


# Layers of a `StaticCache` that are known by keys, values and a number of tokens, or hold nothing.
_STATIC = {"StaticLayer", "StaticSlidingWindowLayer", "DummyLayer"}


def _fill(layer: Any, keys: Any, values: Any, length: Any) -> None:
    """What initializing a layer sets, from tensors that are there."""
    layer.keys, layer.values = keys, values
    set_count(layer, length)
    layer.is_initialized = True
    if isinstance(keys, torch.Tensor) and isinstance(values, torch.Tensor):
        layer.dtype, layer.device = keys.dtype, keys.device
        layer.batch_size, layer.num_heads = keys.shape[:2]
        layer.k_head_dim, layer.v_head_dim = keys.shape[-1], values.shape[-1]


# Layers that transformers flattens itself.
_PLAIN = {"DynamicLayer", "DynamicSlidingWindowLayer", "DummyLayer"}
_STATES = "states"
# What follows from the tensors of a layer.
_DERIVED = {"dtype", "device", "cumulative_length"}


def _know_states(kind: Any) -> None:
    """Let torch flatten a `DynamicCache` with layers that transformers does not flatten."""
    registration = pytree.SUPPORTED_NODES.get(kind)
    if registration is None or getattr(registration.flatten_fn, "of_states", False):
        return

    def is_plain(cache: Any) -> bool:
        return {type(layer).__name__ for layer in cache.layers} <= _PLAIN

    def flatten(cache: Any) -> _Flat:
        if is_plain(cache):
            return registration.flatten_fn(cache)  # type: ignore[no-any-return]
        parts = [_apart(layer) for layer in cache.layers]
        return [tensors for tensors, _ in parts], [_STATES, [rest for _, rest in parts]]

    def unflatten(children: Any, context: Any) -> Any:
        if context[0] != _STATES:
            return _filled(kind, children, context) or registration.unflatten_fn(children, context)
        layers = [_together(*part) for part in zip(children, context[1], strict=True)]
        return _cache_of(kind, layers)

    def named(cache: Any) -> Any:
        if is_plain(cache) and registration.flatten_with_keys_fn is not None:
            return registration.flatten_with_keys_fn(cache)
        return _numbered(*flatten(cache))

    flatten.of_states = True  # type: ignore[attr-defined]
    pytree._deregister_pytree_node(kind)
    _register(kind, flatten, unflatten, named)


def _filled(kind: Any, children: Any, context: Any) -> Any:
    """A cache with the tensors as they are; None where a layer does not keep every token.

    transformers joins each tensor with an empty one, which torch captures each time it makes the
    cache: 0.08 of the time of an export.
    """
    names, windows = context
    parts = dict(zip(names, children, strict=True))
    pairs = list(zip(parts.get("key_cache", ()), parts.get("value_cache", ()), strict=False))
    if len(pairs) != len(windows) or any(window is not None for window in windows):
        return None
    if not all(isinstance(tensor, torch.Tensor) for pair in pairs for tensor in pair):
        return None
    layers = []
    for keys, values in pairs:
        layer = _utils().DynamicLayer()
        layer.keys, layer.values, layer.is_initialized = keys, values, True
        layer.dtype, layer.device = keys.dtype, keys.device
        layers.append(layer)
    return _cache_of(kind, layers) if layers else None


def know_kind(kind: type) -> None:
    """Let torch flatten a class that a model derives of `DynamicCache`.

    Tensors in lists of its own belong to the layers of their places, under the name of the list.

    Example:
        >>> know_kind(dict)  # not a cache: nothing happens
    """
    names = {base.__name__ for base in kind.__mro__[1:]}
    with TORCH_LOCK:
        if "DynamicCache" in names and kind not in pytree.SUPPORTED_NODES:
            _register(kind, _flatten_derived, functools.partial(_unflatten_derived, kind))


def _flatten_derived(cache: Any) -> _Flat:
    parts: list[tuple[dict[str, Any], Any]] = [_apart(layer) for layer in cache.layers]
    rest: dict[str, Any] = {}
    for name, value in vars(cache).items():
        if name == "layers":
            continue
        rest[name] = value
        if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
            while len(parts) < len(value):
                parts.append(({}, None))
            for (tensors, _), item in zip(parts, value, strict=False):
                if isinstance(item, torch.Tensor):
                    tensors[name] = item
            rest[name] = [None if isinstance(item, torch.Tensor) else item for item in value]
    return [tensors for tensors, _ in parts], [_STATES, [kept for _, kept in parts], rest]


def _unflatten_derived(kind: Any, children: Any, context: Any) -> Any:
    _, described, rest = context
    layers, lists = [], {n: list(v) for n, v in rest.items() if isinstance(v, list)}
    for place, (tensors, kept) in enumerate(zip(children, described, strict=True)):
        own = {name: tensor for name, tensor in tensors.items() if name not in lists}
        for name, tensor in tensors.items():
            if name in lists:
                lists[name][place] = tensor
        if kept is not None:
            layers.append(_together(own, kept))
    cache = _cache_of(kind, layers)
    vars(cache).update(rest | lists)
    return cache


def _utils() -> Any:
    """The module of the caches; where there is a cache it is loaded."""
    return sys.modules["transformers"].cache_utils


def _cache_of(kind: Any, layers: list[Any]) -> Any:
    cache = object.__new__(kind)
    _utils().Cache.__init__(cache, layers=layers)
    return cache


def _apart(layer: Any) -> tuple[dict[str, Any], list[Any]]:
    """The tensors of a layer by attribute, `conv_states.0` in a dict; its type and the rest."""
    tensors: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in vars(layer).items():
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        elif isinstance(value, dict):
            here = {f"{name}.{k}": v for k, v in value.items() if isinstance(v, torch.Tensor)}
            tensors |= here
            rest[name] = {k: None if f"{name}.{k}" in here else v for k, v in value.items()}
        elif name not in _DERIVED:
            rest[name] = value
    # In the order of names, which is the same for a layer that was put together again.
    return {name: tensors[name] for name in sorted(tensors)}, [type(layer).__name__, rest]


def _together(tensors: dict[str, Any], described: list[Any]) -> Any:
    kind, rest = described
    layer = object.__new__(getattr(_utils(), kind))
    state = vars(layer)
    state |= {k: dict(v) if isinstance(v, dict) else v for k, v in rest.items()}
    for name, value in tensors.items():
        attribute, _, key = name.partition(".")
        if key:
            state[attribute][int(key)] = value
        else:
            state[attribute] = value
    first = next(iter(tensors.values()), None)
    state["dtype"], state["device"] = getattr(first, "dtype", None), getattr(first, "device", None)
    if isinstance(state.get("keys"), torch.Tensor):
        state["cumulative_length"] = state["keys"].shape[-2]
    return layer


_OTHERS: dict[str, tuple[Callable[[Any], _Flat], Callable[[Any, Any], Any]]] = {
    "EncoderDecoderCache": (_flatten_pair, _unflatten_pair),
    "StaticCache": (_flatten_static, _unflatten_static),
}
