"""Lists of a run-time length among the results of a model: tensors of its items.

PyTorch flattens results with its pytrees.  The model has one output for each leaf of the items of a
list, and one more for the sizes of items that differ in size.  The exported program makes the list
of them that the module returns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import is_fake
from torch.utils import _pytree as pytree

from onnxwright.exporter.capture.control.lists import List
from onnxwright.exporter.capture.replacements.joined_parts import Lengths, Parts
from onnxwright.exporter.capture.source.columns import Column, ItemForm
from onnxwright.exporter.capture.source.rows import Rows

_Form = tuple[ItemForm, tuple[Any, ...]]
"""The form of the items, and for each leaf its axis of different sizes, or None."""


def _flattened(items: Rows) -> tuple[list[Any], _Form]:
    columns = items.columns
    tensors = [tensor for column in columns for tensor in column.tensors().values()]
    return tensors, (items.form, tuple(column.axis for column in columns))


def _of_tensors(tensors: Sequence[Any], form: _Form) -> Any:
    rest = iter(tensors)
    columns = [Column(next(rest), axis, None if axis is None else next(rest)) for axis in form[1]]
    if not all(map(_is_known, tensors)):
        return Rows(columns, form[0])
    return [form[0].build(iter(leaves)) for leaves in zip(*map(_leaves_of, columns))]


def _leaves_of(column: Column) -> Sequence[Any]:
    """The leaf of each item, of a column that has values."""
    if column.axis is None:
        return column.values.unbind(0)  # type: ignore[no-any-return]
    return column.values.split(column.sizes.tolist(), column.axis)  # type: ignore[no-any-return]


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


@functools.cache
def register_lists() -> None:
    """Let PyTorch know how the lists of a capture are flattened."""
    register = pytree.register_pytree_node
    register(List, lambda items: (list(items), None), lambda items, _: list(items))
    register(Rows, _flattened, _of_tensors)
    register(Parts, lambda items: ([items.whole, items.lengths.sizes], items.dim), _of_split)
    register(Lengths, lambda numbers: ([numbers.sizes], None), _of_numbers)
