"""Example inputs of a decoder, and which of their sizes are batch, length and past."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter import checks
from onnxwright.exporter.decoders.model_caches import cache_of, named_cache
from onnxwright.exporter.torch_internals import pytree

# -- models with states beside keys and values: they read one token of each row in a call ----------
# A state is a tensor of the cache whose size does not follow the number of tokens: that of a
# convolution or of a recurrence.  Empty, it is zeros.


class OneToken(torch.nn.Module):  # type: ignore[misc] # torch has no type for it here
    """A model that keeps the states of a row where the token is padding.

    Args:
        states: for each tensor of the cache, whether it is a state.
    """

    def __init__(self, model: Any, cache: str, states: Sequence[bool]) -> None:
        super().__init__()
        self.model, self._cache, self._states = model, cache, tuple(states)

    def forward(
        self, input_ids: Any, attention_mask: Any, past_key_values: Any, position_ids: Any = None
    ) -> Any:
        """Logits and the new cache; the last column of the mask is that of the tokens."""
        optional_inputs = {} if position_ids is None else {"position_ids": position_ids}
        if not all(self._states):  # attention reads the tokens before
            optional_inputs["attention_mask"] = attention_mask
        before, spec = pytree.tree_flatten(past_key_values)
        # The model may write into the states.
        own = pytree.tree_unflatten([tensor.clone() for tensor in before], spec)
        result = self.model(
            input_ids=input_ids, use_cache=True, **{self._cache: own}, **optional_inputs
        )
        after, spec = pytree.tree_flatten(result[self._cache])
        is_token = attention_mask[:, -1] != 0
        for place, is_state in enumerate(self._states):
            if is_state:
                new, old = after[place], before[place]
                rows = is_token.reshape(-1, *[1] * (new.dim() - 1))
                after[place] = torch.where(rows, new, old)
        return result.logits, pytree.tree_unflatten(after, spec)


def states_of(cache: Any, other: Any, batches: tuple[int, int]) -> list[bool]:
    """Which tensors of a cache are states.

    Args:
        other: that of the same model after another number of tokens.
        batches: the number of rows of both.

    Returns:
        For each tensor, whether the batch is its only size that differs.
    """
    return [
        all(a == b or (a, b) == batches for a, b in zip(one.shape, two.shape, strict=True))
        for one, two in zip(pytree.tree_leaves(cache), pytree.tree_leaves(other), strict=True)
    ]


# -- example ---------------------------------------------------------------------------------------

_BATCH, _PAST, _LENGTH = 2, 5, 3
# Other sizes, that tell which axes of the cache are which.
_OTHER_BATCH, _OTHER_PAST = 3, 7
_NAMES = {(_BATCH, _OTHER_BATCH): "batch", (_PAST, _OTHER_PAST): "past"}


@dataclass(frozen=True)
class DecoderExample:
    """What a decoder is exported with.

    Fields:
        module: what is exported: the model, or a module that calls it.
        kwargs: example inputs by name.
        dynamic_shapes: for each input, the names of its dynamic axes.
    """

    module: Any
    kwargs: dict[str, Any]
    dynamic_shapes: dict[str, Any]


def decoder_example(model: Any) -> DecoderExample:
    """Example inputs of a decoder: tokens, mask, positions where it takes them, and its cache.

    Where the cache has states, there is one token: models read several only without a state.

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
    cache, other = cache_of(model, _BATCH, _PAST), cache_of(model, _OTHER_BATCH, _OTHER_PAST)
    states = states_of(cache, other, (_BATCH, _OTHER_BATCH))
    length = 1 if any(states) else _LENGTH
    ids = torch.arange(1, 1 + _BATCH * length, device=device).reshape(_BATCH, length)
    mask = torch.ones(_BATCH, _PAST + length, dtype=torch.long, device=device)
    mask[0, 0] = 0  # a row with padding: no mask is left out because it is all ones
    tokens, whole = {0: "batch", 1: "length"}, {0: "batch", 1: "past + length"}
    if any(states):
        tokens, whole = {0: "batch"}, {0: "batch", 1: "total" if all(states) else "past + 1"}
    kwargs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
    shapes: dict[str, Any] = {"input_ids": tokens, "attention_mask": whole}
    if "position_ids" in parameters:
        kwargs["position_ids"] = positions(mask)[:, -length:].contiguous()
        shapes["position_ids"] = tokens
    axes = cache_shapes(cache, other, _NAMES)
    if any(states):
        kwargs, shapes = kwargs | {"past_key_values": cache}, shapes | {"past_key_values": axes}
        return DecoderExample(OneToken(model, name, states).eval(), kwargs, shapes)
    kwargs |= {name: cache, "use_cache": True}
    return DecoderExample(model, kwargs, shapes | {name: axes, "use_cache": None})


def positions(mask: Any) -> Any:
    """The position of each token, 0 for padding.

    Args:
        mask: 1 for tokens and 0 for padding, `[batch, length]`.
    """
    return (mask.cumsum(-1) - 1).clamp(min=0)


def cache_shapes(cache: Any, other: Any, names: Mapping[tuple[int, int], str]) -> Any:
    """The dynamic axes of a cache: those that follow the batch and the number of tokens.

    Args:
        other: one of the same model with other sizes.
        names: the sizes of an axis in both, with its name.

    Returns:
        Nested as the cache: for each tensor, the names of its dynamic axes.

    Raises:
        ExportValueError: an axis differs otherwise (OW825).
    """
    others = iter(pytree.tree_leaves(other))

    def visit(value: Any) -> Any:
        node = pytree.SUPPORTED_NODES.get(type(value))
        if node is None:
            return _axes(value, next(others), names)
        parts, context = node.flatten_fn(value)
        shapes = [visit(part) for part in parts]
        return dict(zip(context, shapes, strict=True)) if type(value) is dict else shapes

    return visit(cache)


def _axes(value: Any, other: Any, names: Mapping[tuple[int, int], str]) -> dict[int, str] | None:
    if not isinstance(value, torch.Tensor):
        return None
    names_by_axis = {}
    for axis, pair in enumerate(zip(value.shape, other.shape, strict=True)):
        if pair[0] == pair[1]:
            continue
        if pair not in names:
            checks.raise_bad_argument(
                "model",
                f"a tensor of its cache has the shapes {list(value.shape)} and "
                f"{list(other.shape)}, with an axis that is neither the batch nor the number "
                "of tokens",
                "export it with `ow.export` and dynamic shapes of your own",
            )
        names_by_axis[axis] = names[pair]
    return names_by_axis
