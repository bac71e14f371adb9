"""Models with states beside keys and values: they read one token of each row in a call.

A state is a tensor of the cache whose size does not follow the number of tokens: that of a
convolution or of a recurrence.  Empty, it is zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.torch_internals import pytree


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
        given = {} if position_ids is None else {"position_ids": position_ids}
        if not all(self._states):  # attention reads the tokens before
            given["attention_mask"] = attention_mask
        before, spec = pytree.tree_flatten(past_key_values)
        # The model may write into the states.
        own = pytree.tree_unflatten([tensor.clone() for tensor in before], spec)
        result = self.model(input_ids=input_ids, use_cache=True, **{self._cache: own}, **given)
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
