"""`cache_of`: the cache that a model makes, for example inputs of its export."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import torch

from onnxwright.errors import ExportValueError
from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.caches import know_kind, register_caches
from onnxwright.exporter.decoders.source_inputs import source_inputs
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import pytree

# Layers that keep the keys and values of every token, and those that drop the oldest ones.
_WHOLE, _SLIDING = "DynamicLayer", "DynamicSlidingWindowLayer"
# The classes of caches in transformers.
_CACHES = {"Cache", "EncoderDecoderCache"}


def cache_of(model: Any, batch: int = 2, past: int = 5, *, source: int = 7) -> Any:
    """The cache of a language model of transformers after some tokens.

    The model runs once and the cache is taken from its result: the number of layers and heads,
    their sizes, and states that are not keys and values come from the model.  Where layers keep a
    window of the last tokens only, it runs again with a cache that keeps all of them: the attention
    mask of the model has the window too, and the number of dropped tokens is not in any tensor.

    Args:
        model: a module of transformers that takes `input_ids` and `use_cache`.
        batch: the number of rows, 1 or more.
        past: the number of tokens in the cache, 1 or more.
        source: the number of tokens that the encoder of an encoder-decoder reads; sound and
            pictures have the size that the configuration says.

    Returns:
        A `DynamicCache` or `EncoderDecoderCache` with tensors of these sizes, of the element type
        of the model.

    Raises:
        ExportValueError: the model does not return a cache, or a size is smaller than 1 (OW825).

    Source:
        `use_cache` and `transformers.cache_utils`.

    Example:
        >>> import transformers
        >>> config = transformers.LlamaConfig(
        ...     vocab_size=50,
        ...     hidden_size=32,
        ...     intermediate_size=32,
        ...     num_hidden_layers=2,
        ...     num_attention_heads=4,
        ...     num_key_value_heads=2,
        ... )
        >>> cache = cache_of(transformers.LlamaForCausalLM(config), batch=2, past=5)
        >>> len(cache.layers), cache.layers[0].keys.shape
        (2, torch.Size([2, 2, 5, 8]))
    """
    sizes: dict[str, Any] = {"batch": batch, "past": past, "source": source}
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            checks.raise_bad_argument(name, f"{shown(size)} is not a size", "give 1 or more")
    name, cache = named_cache(model, _inputs(model, batch, past, source))
    layers = [type(layer).__name__ for layer in getattr(cache, "layers", ())]
    if _SLIDING in layers and set(layers) <= {_WHOLE, _SLIDING}:
        whole = sys.modules["transformers"].DynamicCache()
        _, cache = named_cache(model, _inputs(model, batch, past, source) | {name: whole})
    register_caches()
    return cache


def named_cache(model: Any, inputs: dict[str, Any]) -> tuple[str, Any]:
    """The cache in the result of a model, and the name of its field, which is that of the argument.

    Raises:
        ExportValueError: the model refuses the inputs, or does not return a cache (OW825).
    """
    try:
        with torch.no_grad():
            result = model(**inputs, use_cache=True)
    except Exception as error:  # noqa: BLE001 - models say in their own way what does not fit
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        checks.raise_bad_argument(
            "model",
            f"it does not run with {', '.join(inputs)} and `use_cache` ({reason})",
            "give a language model of transformers, such as `LlamaForCausalLM(config)`",
        )
    fields = result.items() if hasattr(result, "items") else ()
    for name, value in fields:
        if _CACHES & {kind.__name__ for kind in type(value).__mro__}:
            know_kind(type(value))
            return str(name), value
    checks.raise_bad_argument(
        "model",
        f"{type(model).__name__} does not return a cache",
        "give a model that generates text with one, such as `LlamaForCausalLM(config)`",
    )


def _inputs(model: Any, batch: int, past: int, source: int) -> dict[str, Any]:
    if not isinstance(model, torch.nn.Module):
        checks.raise_bad_argument(
            "model",
            f"an object of type {type(model).__name__} is not a module",
            "give a language model of transformers, such as `LlamaForCausalLM(config)`",
        )
    device = next((p.device for p in model.parameters()), torch.device("cpu"))

    def tokens(length: int) -> torch.Tensor:
        return torch.ones(batch, length, dtype=torch.long, device=device)

    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        if getattr(model, "main_input_name", "input_ids") == "input_ids":
            return {"input_ids": tokens(source), "decoder_input_ids": tokens(past)}
        return {**source_inputs(model).inputs(batch), "decoder_input_ids": tokens(past)}
    return {"input_ids": tokens(past)}


# -- whether the angles of positions depend on the number of tokens, as those of LongRoPE do -------

# The first tokens, whose keys are compared, and their positions.
_TOKENS = 2
_CLOSE = 1e-4


def tokens_with_equal_angles(model: Any) -> int:
    """The greatest number of tokens whose keys are those of a short text.

    Keys are rotated by angles that depend on the position alone, or, beyond a number of tokens, on
    the length of the whole text; then a cache of a shorter text does not fit.  The model runs with
    three tokens, the last of which is at a far position.

    Returns:
        The number of tokens; 0 where the keys do not depend on the length.
    """
    text = model.config.get_text_config()
    limit = getattr(text, "max_position_embeddings", None)
    takes = inspect.signature(model.forward).parameters
    if "position_ids" not in takes or not isinstance(limit, int) or limit <= _TOKENS + 1:
        return 0
    register_caches()
    short = _keys(model, _TOKENS)
    if not short:
        return 0
    try:
        for far in (2 * limit, limit - 1):
            if _differ(short, _keys(model, far)):
                return _first(model, short, far)
    finally:
        _keys(model, _TOKENS)  # models that remember the longest text forget it
    return 0


def _first(model: Any, short: list[torch.Tensor], far: int) -> int:
    """The first position of a last token that changes the keys before it."""
    low, high = _TOKENS, far
    while high - low > 1:
        middle = (low + high) // 2
        if _differ(short, _keys(model, middle)):
            high = middle
        else:
            low = middle
    return high


def _keys(model: Any, last: int) -> list[torch.Tensor]:
    """What the cache has for the first tokens, where the last one is at a position."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    places = torch.tensor([[*range(_TOKENS), last]], device=device)
    ids = torch.arange(1, 2 + _TOKENS, device=device)[None]
    inputs = {"input_ids": ids, "position_ids": places}
    try:
        _, cache = named_cache(model, inputs)
    except ExportValueError:  # positions of a table that ends
        return []
    tensors = [t for t in pytree.tree_leaves(cache) if isinstance(t, torch.Tensor)]
    length = _TOKENS + 1
    return [t[..., :_TOKENS, :] for t in tensors if t.dim() == 4 and t.shape[-2] == length]


def _differ(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    pairs = zip(before, after, strict=False)
    return any(not torch.allclose(a, b, _CLOSE, _CLOSE) for a, b in pairs)
