"""Whether the angles of positions depend on the number of tokens, as those of LongRoPE do."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from onnxwright.errors import ExportValueError
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.decoders.model_caches import named_cache
from onnxwright.exporter.torch_internals import pytree

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
