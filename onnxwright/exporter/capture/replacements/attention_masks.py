"""Masks of transformers' encoders: none where nothing is masked, as outside of a capture.

While a model is captured, transformers makes a mask of ones for an encoder that is given none, so
that nobody looks at values.  Layers that shorten or exchange the axes of their scores (Informer,
Autoformer) do not take it; without a capture they get None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def skipped_where_none(own: Callable[..., Any]) -> Callable[..., Any]:
    """An encoder without a mask and without a window has none in a capture too.

    No value decides it: only a mask that is given has values.
    """

    def is_skipped(padding_mask: Any, kv_length: Any, local_attention_size: Any = None) -> Any:
        if padding_mask is None and local_attention_size is None:
            return True
        return own(padding_mask, kv_length, local_attention_size)

    return is_skipped
