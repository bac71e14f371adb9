"""Example inputs of a decoder, and which of their sizes are batch, length and past."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter import checks
from onnxwright.exporter.decoders.model_caches import cache_of, named_cache
from onnxwright.exporter.torch_internals import pytree

_BATCH, _PAST, _LENGTH = 2, 5, 3
# Other sizes, that tell which axes of the cache are which.
_OTHER_BATCH, _OTHER_PAST = 3, 7


@dataclass(frozen=True)
class DecoderExample:
    """What a decoder is exported with.

    Fields:
        kwargs: example inputs by name.
        dynamic_shapes: for each input, the names of its dynamic axes.
        cache: the name of the argument that takes the cache.
    """

    kwargs: dict[str, Any]
    dynamic_shapes: dict[str, Any]
    cache: str


def decoder_example(model: Any) -> DecoderExample:
    """Example inputs of a decoder: tokens, mask, positions where it takes them, and its cache.

    Args:
        model: a causal language model of transformers.

    Returns:
        The inputs and their dynamic shapes, by the names `batch`, `length` and `past`.

    Raises:
        ExportValueError: the model does not return a cache, or takes no mask (OW825).
    """
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    name, _ = named_cache(model, {"input_ids": torch.ones(1, 1, dtype=torch.long, device=device)})
    parameters = inspect.signature(model.forward).parameters
    missing = [p for p in ("input_ids", "attention_mask", name) if p not in parameters]
    if missing:
        checks.raise_bad_argument(
            "model",
            f"`forward` of {type(model).__name__} has no parameter `{missing[0]}`",
            "give a causal language model of transformers",
        )
    ids = torch.arange(1, 1 + _BATCH * _LENGTH, device=device).reshape(_BATCH, _LENGTH)
    mask = torch.ones(_BATCH, _PAST + _LENGTH, dtype=torch.long, device=device)
    mask[0, 0] = 0  # a row with padding: no mask is left out because it is all ones
    cache = cache_of(model, _BATCH, _PAST)
    tokens, whole = {0: "batch", 1: "length"}, {0: "batch", 1: "past + length"}
    kwargs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
    shapes: dict[str, Any] = {"input_ids": tokens, "attention_mask": whole}
    if "position_ids" in parameters:
        kwargs["position_ids"] = positions(mask)[:, -_LENGTH:].contiguous()
        shapes["position_ids"] = tokens
    kwargs |= {name: cache, "use_cache": True}
    shapes |= {name: _cache_shapes(cache, cache_of(model, _OTHER_BATCH, _OTHER_PAST))}
    return DecoderExample(kwargs, shapes | {"use_cache": None}, name)


def positions(mask: Any) -> Any:
    """The position of each token, 0 for padding.

    Args:
        mask: 1 for tokens and 0 for padding, `[batch, length]`.

    Returns:
        A tensor of the same shape and type.
    """
    return (mask.cumsum(-1) - 1).clamp(min=0)


def _cache_shapes(cache: Any, other: Any) -> Any:
    """The dynamic axes of a cache: those that follow the batch and the number of tokens."""
    others = iter(pytree.tree_leaves(other))

    def visit(value: Any) -> Any:
        node = pytree.SUPPORTED_NODES.get(type(value))
        if node is None:
            return _axes(value, next(others))
        parts, context = node.flatten_fn(value)
        made = [visit(part) for part in parts]
        return dict(zip(context, made, strict=True)) if type(value) is dict else made

    return visit(cache)


def _axes(value: Any, other: Any) -> dict[int, str] | None:
    if not isinstance(value, torch.Tensor):
        return None
    found = {}
    for axis, pair in enumerate(zip(value.shape, other.shape, strict=True)):
        if pair == (_BATCH, _OTHER_BATCH):
            found[axis] = "batch"
        elif pair == (_PAST, _OTHER_PAST):
            found[axis] = "past"
        elif pair[0] != pair[1]:
            checks.raise_bad_argument(
                "model",
                f"a tensor of its cache has the shapes {list(value.shape)} and "
                f"{list(other.shape)}, with an axis that is neither the batch nor the number "
                "of tokens",
                "export it with `ow.export` and dynamic shapes of your own",
            )
    return found


__all__ = ["DecoderExample", "decoder_example", "positions"]
