"""Dimensions of observed calls with caches: batch, past and length, by what caches are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.inputs.cache_names import leaf_names
from onnxwright.exporter.torch_internals import pytree

# Axes of the keys and values of a layer: batch, heads, tokens, size of a head.
_RANK, _TOKENS = 4, 2
_Column = tuple[int, ...]


def cache_dimensions(
    arguments: Mapping[str, Any], sizes: Sequence[Sequence[Any]]
) -> dict[tuple[int, int], str]:
    """The names of dimensions of calls that take a cache.

    The first axis of a cache is the batch, and so is each first axis of that size; the tokens in
    it are `past`, those read from an encoder `source`.  Where the rows of one tensor of integers
    are longer by `past` than those of another, they are `past + length` and `length`; where the
    rows of all of them are equally long, they are `length`.  These dimensions are dynamic even if
    all calls have one size: text is generated one token at a time.

    Args:
        arguments: the inputs of one call, by name.
        sizes: for each call, the shapes of the flattened inputs.

    Returns:
        (flattened input, axis) -> name; nothing where no input is a cache.
    """
    leaves, spec = pytree.tree_flatten(dict(arguments))
    cached = leaf_names(spec)
    found: dict[tuple[int, int], str] = {}
    tensors = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    columns = {
        (n, axis): tuple(call[n][axis] for call in sizes)
        for n in tensors
        for axis in range(leaves[n].ndim)
    }
    keys = [n for n in tensors if n in cached and leaves[n].ndim == _RANK]
    if not keys:
        return {}
    tokens: dict[str, _Column] = {}
    for n in keys:
        word = "source" if ".encoder." in cached[n] else "past"
        name, column, count = word, columns[n, _TOKENS], 0
        while tokens.setdefault(name, column) != column:
            count += 1
            name = f"{word}_{count}"
        found[n, _TOKENS] = name
    batches = {columns[n, 0] for n in keys}
    rows = [n for n in tensors if n not in cached and _is_of_tokens(leaves[n])]
    found |= {
        (n, 0): "batch"
        for n in tensors
        if leaves[n].ndim > (n not in cached) and columns[n, 0] in batches
    }
    ends = {n: columns[n, leaves[n].ndim - 1] for n in rows}
    lengths = _lengths(tokens.get("past"), ends)
    return found | {(n, leaves[n].ndim - 1): name for n, name in lengths.items()}


def _lengths(past: _Column | None, ends: Mapping[int, _Column]) -> dict[int, str]:
    """The tensors whose rows are as long as the new tokens, and as the cache and these."""
    if past is None:
        return {}
    for length in ends.values():
        whole = tuple(p + n for p, n in zip(past, length, strict=True))
        if whole in ends.values():
            words = {whole: "past + length", length: "length"}
            return {n: words[end] for n, end in ends.items() if end in words}
    # Without a mask, the tokens and their positions.
    return dict.fromkeys(ends, "length") if len(set(ends.values())) == 1 else {}


def _is_of_tokens(value: torch.Tensor) -> bool:
    """Whether a tensor can have a number for each token of each row: tokens, positions, a mask."""
    return value.ndim in (1, 2) and not value.is_floating_point() and not value.is_complex()
