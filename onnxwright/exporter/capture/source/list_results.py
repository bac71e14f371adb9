"""Lists of a run-time length among the results of a model: tensors of its items.

PyTorch flattens results with its pytrees.  The model has one output for the rows of a list, two for
items of different sizes (the items joined, and their sizes), one for each place of tuples.  The
exported program makes the list of them that the module returns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import is_fake
from torch.utils import _pytree as pytree

from onnxwright.exporter.capture.replacements.joined_parts import Lengths, Parts
from onnxwright.exporter.capture.source.lists import Grown
from onnxwright.exporter.capture.source.run_time_lists import RunTimeList
from onnxwright.exporter.capture.source.tuple_lists import Record, TupleList, tuple_like
from onnxwright.exporter.capture.source.uneven_lists import Uneven


def _of_rows(leaves: Sequence[Any], _: Any) -> Any:
    (rows,) = leaves
    return list(rows.unbind(0)) if _is_known(rows) else Grown(rows, _length(rows))


def _of_parts(leaves: Sequence[Any], dim: int) -> Any:
    items, sizes = leaves
    known = _is_known(items) and _is_known(sizes)
    return list(items.split(sizes.tolist(), dim)) if known else Uneven(items, sizes, dim)


def _of_columns(columns: Sequence[Any], like: Record) -> Any:
    if any(isinstance(column, RunTimeList) for column in columns):
        return TupleList(columns, like)
    return [tuple_like(like, values) for values in zip(*columns)]


def _of_split(leaves: Sequence[Any], dim: int) -> Any:
    """The result of `torch.split` by sizes that are values."""
    whole, sizes = leaves
    if _is_known(whole) and _is_known(sizes):
        return whole.split(sizes.tolist(), dim)
    return Parts.of(whole, Lengths(sizes), dim)


def _of_numbers(leaves: Sequence[Any], _: Any) -> Any:
    """The result of `tolist()` of a tensor of a dynamic length."""
    (numbers,) = leaves
    return numbers.tolist() if _is_known(numbers) else Lengths(numbers)


def _is_known(tensor: Any) -> bool:
    """Whether a tensor has values: not while torch traces, nor where it only counts leaves."""
    return isinstance(tensor, torch.Tensor) and not is_fake(tensor)


def _length(rows: Any) -> Any:
    return rows.shape[0] if isinstance(rows, torch.Tensor) else 0


def _columns_of(items: TupleList) -> tuple[list[Any], Record]:
    """The columns, and a tuple or dict of the same kind without tensors."""
    names = range(len(items.columns))
    return list(items.columns), tuple_like(items.like, names)


@functools.cache
def register_lists() -> None:
    """Let PyTorch know how a list of a run-time length is flattened."""
    register = pytree.register_pytree_node
    register(Grown, lambda items: ([items.whole("return")], None), _of_rows)
    register(Uneven, lambda items: ([items.items, items.sizes], items.dim), _of_parts)
    register(TupleList, _columns_of, _of_columns)
    register(Parts, lambda items: ([items.whole, items.lengths.sizes], items.dim), _of_split)
    register(Lengths, lambda numbers: ([numbers.sizes], None), _of_numbers)
