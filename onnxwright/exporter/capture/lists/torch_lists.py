"""Where PyTorch takes lists apart or makes them: `tolist`, and the results of a model.

PyTorch flattens results with its pytrees.  The model has one output for each leaf of the items of a
list, and one more for the sizes of items that differ in size.  The exported program makes the list
of them that the module returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.control.lists import List
from onnxwright.exporter.capture.lists.columns import Column, ItemForm
from onnxwright.exporter.capture.lists.list_calls import no_set
from onnxwright.exporter.capture.lists.rows import Rows
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.torch_internals import FakeTensor, is_fake, pytree

_Form = tuple[ItemForm, tuple[Any, ...]]
"""The form of the items, and for each leaf its axis of different sizes, or None."""


def lists_of_numbers(changes: Changes, model: Any) -> None:
    """`tolist` of a vector or a matrix with a dynamic number of rows gives rows of numbers."""
    own = FakeTensor.tolist

    def tolist(self: Any) -> Any:
        is_matrix = self.dim() == 2 and isinstance(self.shape[1], int)
        is_open = (self.dim() == 1 or is_matrix) and isinstance(self.shape[0], torch.SymInt)
        if current() is None or not is_open or self.is_complex():
            return own(self)
        # Numbers of Python are doubles.
        return Rows.of_numbers(self.double() if self.is_floating_point() else self)

    changes.attribute(FakeTensor, "tolist", tolist)


def numbers_as_keys(changes: Changes, model: Any) -> None:
    """A tensor that stands for a number is no key: Python would take it for another number."""
    own: Callable[[Any], int] = torch.Tensor.__hash__

    def hashed(self: Any) -> int:
        session = current()
        if session is not None and self in session.numbers:
            raise no_set()
        return own(self)

    changes.attribute(torch.Tensor, "__hash__", hashed)


def _flattened(items: Rows) -> tuple[list[Any], _Form]:
    columns = items.columns
    tensors = [tensor for column in columns for tensor in column.tensors().values()]
    return tensors, (items.form, tuple(column.axis for column in columns))


def _of_tensors(tensors: Sequence[Any], form: _Form) -> Any:
    rest = iter(tensors)
    columns = [Column(next(rest), axis, None if axis is None else next(rest)) for axis in form[1]]
    if not all(isinstance(x, torch.Tensor) and not is_fake(x) for x in tensors):
        return Rows(columns, form[0])  # torch traces, or only counts leaves
    if form[0].is_number:
        return columns[0].values.tolist()
    return [form[0].build(iter(leaves)) for leaves in zip(*map(_leaves_of, columns))]


def _leaves_of(column: Column) -> Sequence[Any]:
    """The leaf of each item, of a column that has values."""
    if column.axis is None:
        return column.values.unbind(0)  # type: ignore[no-any-return]
    return column.values.split(column.sizes.tolist(), column.axis)  # type: ignore[no-any-return]


@functools.cache
def register_lists() -> None:
    """Let PyTorch know how the lists of a capture are flattened."""
    register = pytree.register_pytree_node
    register(List, lambda items: (list(items), None), lambda items, _: list(items))
    register(Rows, _flattened, _of_tensors)
