"""flex_attention while capturing: its formula with the sizes of the program.

Outside of TorchDynamo torch compiles the operator for the sizes of the example.  Here the formula
itself is captured; functions of scores and masks, which torch runs by `vmap` on one score at a
time, are traced below autograd on the fake tensors of the capture.  Blocks of masks, which only
kernels need, are computed where the program reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.nn.attention import flex_attention as flex

from onnxwright.exporter.capture.replacements.torch_func import traced_below_autograd
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.model_lines import calling_frame
from onnxwright.exporter.torch_internals import math_attention

_MAPPED = flex._vmap_for_bhqkv
_BLOCKS = flex._convert_mask_to_block_mask
_SPARSE = flex._create_sparse_block_from_block_mask


def flex_attention_written_out(changes: Changes, model: Any) -> None:
    """flex_attention and masks for it are captured as what they compute."""
    values: dict[str, Any] = {
        "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG": True,
        "flex_attention_hop": _attention,
        "_vmap_for_bhqkv": _traced,
        "_convert_mask_to_block_mask": lambda mask, **options: (mask, options),
        "_create_sparse_block_from_block_mask": _DeferredBlockMask,
        "_validate_device": lambda *_: None,  # weights that require gradients are allowed here
    }
    for name, value in values.items():
        changes.attribute(flex, name, value)


class _DeferredBlockMask(flex.BlockMask):  # type: ignore[misc] # torch's own, without types
    """A block mask whose blocks are computed when something but `flex_attention` reads them.

    Args:
        mask_and_options: the mask, `[B, H, Q, KV]`, and the options of its conversion into blocks.
        mask_mod: what the mask was made by.
        seq_lengths: Q and KV.
        block_sizes: the sizes of a block.
    """

    def __init__(
        self,
        mask_and_options: Any,
        mask_mod: Callable[..., Any],
        seq_lengths: Any,
        *block_sizes: int,
    ) -> None:
        mask, options = mask_and_options
        self.mask = mask
        self.mask_mod = mask_mod
        self.seq_lengths = seq_lengths
        self.BLOCK_SIZE = block_sizes
        self.with_blocks = cache(
            lambda: _SPARSE(_BLOCKS(mask, **options), mask_mod, seq_lengths, *block_sizes)
        )

    def __getattr__(self, name: str) -> Any:
        """What only the blocks tell; the operator asks for the batch size and the device."""
        if name.startswith("__") or name == "with_blocks":
            raise AttributeError(name)
        if name == "kv_num_blocks" and _is_operator(calling_frame()):
            return self.mask
        return getattr(self.with_blocks(), name)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The fields; for the operator the last one is enough."""
        if _is_operator(calling_frame()):
            return (self.mask_mod,)
        fields: tuple[Any, ...] = self.with_blocks().as_tuple(flatten)
        return fields

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the mask."""
        return tuple(self.mask.shape)


def _is_operator(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code is flex.flex_attention.__code__


def _attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Callable[..., Any],
    block_mask: tuple[Any, ...],
    scale: Any,
    kernel_options: dict[str, Any],
    *buffers: Any,
) -> tuple[Any, ...]:
    """The results of the operator: attention, log-sum-exp and largest score (both base 2).

    A mask alone is `scaled_dot_product_attention`; 16-bit floats round there in other places.
    """
    mask_mod = block_mask[-1]
    wide = query.dtype in (torch.float32, torch.float64)
    alike = query.dtype == key.dtype == value.dtype and query.shape[0] == key.shape[0]
    if score_mod is flex._identity and wide and alike and not _has_statistics(kernel_options):
        mask = None
        if mask_mod is not flex.noop_mask:
            sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
            places = [torch.arange(n, device=query.device) for n in sizes]
            mask = _traced(mask_mod, prefix=())(*places)
        output = torch.nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        return output, None, None
    output = math_attention(
        query, key, value, score_mod, block_mask, scale, kernel_options, *buffers
    )
    return output[0], output[1], output[2]


def _has_statistics(kernel_options: dict[str, Any]) -> bool:
    """Whether more than the attention itself is asked for."""
    return bool(kernel_options.get("OUTPUT_LOGSUMEXP") or kernel_options.get("OUTPUT_MAX"))


def _traced(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`_vmap_for_bhqkv`, whose result the capture sees as operators."""
    mapped = _MAPPED(function, *args, **kwargs)

    def with_indices(*values: Any) -> Any:
        with TransformGetItemToIndex():
            return mapped(*values)

    return lambda *values: traced_below_autograd(with_indices, values)
