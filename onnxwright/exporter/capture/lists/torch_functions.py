"""Functions of torch that join the items of a list, or make one, of a run-time length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.lists.list_calls import no_set, stacked
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.number_forms import SYMBOLS, as_tensor, is_dynamic
from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.capture.session.session import Session, current
from onnxwright.exporter.capture.values.columns import Column, ItemForm, as_place
from onnxwright.exporter.capture.values.index_parts import at_places
from onnxwright.exporter.capture.values.numbers import (
    as_new_tensor,
    is_number,
    is_of_run_time_or_size,
    is_unknown,
    stands_for_number,
)
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.torch_internals import FakeTensor, is_fake, pytree, refs_tensor

_INDEXING = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


def _index(index: Any) -> Any:
    """An index in brackets, with lists of numbers as tensors."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    if not isinstance(index, Rows):
        has_numbers = isinstance(index, list) and all(map(is_number, index))
        return stacked(index) if has_numbers and any(map(is_of_run_time_or_size, index)) else index
    numbers = index.numbers()
    if numbers is None:
        raise index.misuse("[...]")
    return numbers


# Operators that PyTorch does not have for a tensor and a comparison of sizes.
_LOGIC = frozenset(
    form.format(name)
    for name in ("and", "or", "xor")
    for form in ("__{}__", "__r{}__", "__i{}__", "bitwise_{}", "logical_{}")
)


def _truth_tensor(value: Any) -> Any:
    """A comparison of sizes as a tensor; other values as they are."""
    if isinstance(value, torch.SymBool) and free_unbacked_symbols(value):
        return as_tensor(value)
    return value


def _iterated_rows(x: Any, dim: int = 0) -> Rows | None:
    """`x.unbind(dim)` of an axis of dynamic size, where loops over it are to be kept."""
    session = current()
    if session is None or not session.keeps_loops or not isinstance(x.shape[dim], torch.SymInt):
        return None
    return Rows.of_tensor(x.movedim(dim, 0))


def _iterated_parts(x: Any, split_size: Any, dim: int = 0) -> Rows | None:
    """The same for `x.split(size, dim)`; the parts of sizes that are known at run time only."""
    if isinstance(split_size, Rows):
        return Rows([Column(x, dim % x.ndim, split_size.whole("split"))])
    if is_unknown(split_size):
        return _split_at_run_time(x, split_size, dim)
    if not isinstance(split_size, int) or split_size < 1:
        return None
    rows = _iterated_rows(x, dim)
    if rows is not None and split_size > 1:
        dim, length = dim % x.ndim, x.shape[dim]
        count = torch.sym_max((length + split_size - 1) // split_size, 1)
        sizes = (length - torch.arange(count) * split_size).clamp(max=split_size)
        return Rows([Column(x, dim, sizes)])
    return None if rows is None else Rows.of_tensor(rows.whole("split").unsqueeze(dim % x.ndim + 1))


def _chunks(x: Any, chunks: Any, dim: int = 0) -> Rows | None:
    """`x.chunk(chunks, dim)` of a number that is known at run time only."""
    if not is_unknown(chunks):
        return None
    count, length = as_place(chunks), as_place(x.shape[dim])
    return _split_at_run_time(x, ((length + count - 1) // count).clamp(min=1), dim)


def _split_at_run_time(x: torch.Tensor, size: Any, dim: int) -> Rows:
    """The parts of a tensor of `size` elements of an axis each, a number of run time."""
    length, each = as_place(x.shape[dim]), as_place(size)
    count = ((length + each - 1) // each).clamp(min=1).item()
    torch._check(count >= 1)
    sizes = (length - torch.arange(count) * each).clamp(max=each)
    return Rows([Column(x, dim % x.ndim, sizes)])


def _tensor_of(values: Any, **options: Any) -> torch.Tensor | None:
    """`torch.tensor(values)` of a list of numbers of run time."""
    session = current()
    if session is None or not isinstance(values, (list, tuple)) or isinstance(values, Rows):
        return None
    if not _has_number_of_run_time(values, session):
        return None
    items = [one if (one := _tensor_of(v)) is not None else _item_of(v) for v in values]
    dtype = functools.reduce(torch.promote_types, (item.dtype for item in items))
    tensor = torch.stack([item.to(dtype) for item in items])
    return tensor.to(options.get("dtype") or dtype)


def of_numbers(own: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.tensor` of a list, of which PyTorch asks no mode where it has symbolic numbers."""

    def make(*args: Any, **kwargs: Any) -> Any:
        tensor = _tensor_of(args[0], **kwargs) if args else None
        return own(*args, **kwargs) if tensor is None else tensor

    return make


def _item_of(value: Any) -> torch.Tensor:
    is_open = stands_for_number(value) or isinstance(value, SYMBOLS)
    return as_new_tensor(as_tensor(value)) if is_open else torch.as_tensor(value)


def _new_tensor(like: Any, values: Any, **options: Any) -> torch.Tensor | None:
    """`like.new_tensor(values)` of sizes, alone or in a list."""
    if isinstance(values, Rows):
        tensor: torch.Tensor = _as_tensor(values).to(options.get("dtype") or like.dtype)
        return tensor
    if not is_dynamic(values):
        return None
    all_options = {"dtype": like.dtype, "device": like.device} | options
    return refs_tensor(values, dtype=all_options["dtype"], device=all_options["device"])


def _has_number_of_run_time(values: Any, session: Session) -> bool:
    if isinstance(values, (list, tuple)):
        return any(_has_number_of_run_time(value, session) for value in values)
    return isinstance(values, torch.SymBool) or (
        isinstance(values, torch.Tensor) and values in session.numbers
    )


def _stacked(items: Rows, dim: int = 0) -> torch.Tensor:
    """`torch.stack(items, dim)`."""
    return items.whole("stack").movedim(0, dim)


def _joined(items: Rows, dim: int = 0) -> torch.Tensor:
    """`torch.cat(items, dim)`."""
    column = items.columns[0]
    if items.form.is_leaf and column.axis is not None:
        if (dim - column.axis) % column.values.ndim:
            raise items.misuse("torch.cat along another axis")
        return column.values.clone()
    rows = items.whole("cat")
    if rows.ndim < 2:
        raise items.misuse("torch.cat of numbers")
    dim = dim % (rows.ndim - 1)
    return rows.movedim(0, dim).flatten(dim, dim + 1)


def _padded(
    items: Rows,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> torch.Tensor:
    """`pad_sequence(items, ...)`: rows of one tensor, with a number where one is shorter."""
    column = items.columns[0]
    if not items.form.is_leaf or padding_side != "right" or column.axis:
        raise items.misuse("pad_sequence")
    if column.axis is None:
        return _stacked(items, 0 if batch_first else 1)
    longest = column.sizes.max().item()
    torch._check(longest >= 0)
    starts = (column.sizes.cumsum(0) - column.sizes)[:, None]
    places = torch.arange(longest)[None]
    free = torch.full_like(column.values[:1].sum(0, keepdim=True), padding_value)
    values = torch.cat([column.values, free])
    last = column.sizes.sum()
    rows = values[torch.where(places < column.sizes[:, None], starts + places, last)]
    return rows if batch_first else rows.transpose(0, 1)


def _as_tensor(items: Rows, **options: Any) -> torch.Tensor:
    """`torch.tensor(items, ...)`: of tuples of numbers a row for each."""
    dtype = options.get("dtype")
    if items.form.is_leaf:
        rows = items.whole("tensor")
        if dtype is None and items.form.is_number and rows.is_floating_point():
            dtype = torch.get_default_dtype()  # numbers of Python are doubles
        if dtype is None:
            _note_type(items, rows.dtype)
        return rows if dtype is None else rows.to(dtype)
    if not items.form.is_ordered:
        raise items.misuse("torch.tensor")
    columns = [_as_tensor(part, **options) for part in items.by_parts()]
    common = functools.reduce(torch.promote_types, (one.dtype for one in columns))
    return torch.stack([one.to(dtype or common) for one in columns], 1)


def _note_type(items: Rows, dtype: torch.dtype) -> None:
    """Remember a list whose tensor has another type where the list has no items."""
    session, default = current(), torch.get_default_dtype()
    is_known = statically_known_true(items.length > 0)
    if session is not None and dtype != default and not is_known:
        session.two_types.setdefault(model_line(), (dtype, default, dtype))


def _below(rows: torch.Tensor) -> torch.Tensor:
    """Items of two axes or more below each other; of one axis as rows."""
    return rows if rows.ndim == 2 else rows.flatten(0, 1)


def _side_by_side(items: Rows) -> torch.Tensor:
    """`torch.hstack(items)`."""
    return _joined(items, min(items.whole("hstack").ndim - 2, 1))


_CAT = (torch.cat, torch.concat, torch.concatenate)
_PARTS: dict[Any, Callable[..., Any]] = {
    torch.unbind: _iterated_rows,
    torch.Tensor.unbind: _iterated_rows,
    torch.split: _iterated_parts,
    torch.chunk: _chunks,
    torch.Tensor.chunk: _chunks,
    **dict.fromkeys((torch.tensor, torch.as_tensor, torch.asarray), _tensor_of),
    torch.Tensor.split: _iterated_parts,
    torch.Tensor.new_tensor: _new_tensor,
}
_JOINED: dict[Any, Callable[..., Any]] = {
    torch.stack: _stacked,
    **dict.fromkeys(_CAT, _joined),
    **dict.fromkeys((torch.tensor, torch.as_tensor), _as_tensor),
    **dict.fromkeys((torch.vstack, torch.row_stack), lambda items: _below(_stacked(items))),
    torch.hstack: _side_by_side,
    torch._C._nn.pad_sequence: _padded,
}
"""Functions of torch that join the items of a list."""


class ListFunctions(CallHandler):
    """Functions of torch that join the items of a list take one of run-time length."""

    functions = (*_PARTS, *_INDEXING)
    kinds = (List, torch.SymBool)

    def is_for_all(self) -> bool:
        """Whether a tensor may stand for a number of Python."""
        session = current()
        return session is not None and bool(session.numbers)

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of torch."""
        if func in _PARTS:
            tensors = _PARTS[func](*args, **kwargs)
            if tensors is not None:
                return tensors
        if func in _INDEXING and len(args) > 1:
            args = (*at_places(args[0], _index(args[1])), *args[2:])
        for name in ("tensors", "sequences", "data"):
            if not args and isinstance(kwargs.get(name), Rows):
                args = (kwargs.pop(name),)
        for value in (*args[1:], *kwargs.values()):
            if isinstance(value, Rows):
                raise value.misuse(getattr(func, "__name__", "a function"))
        if args and isinstance(args[0], Rows):
            joined = _JOINED.get(func)
            if joined is None:
                raise args[0].misuse(getattr(func, "__name__", "a function"))
            return joined(*args, **kwargs)
        args = tuple(list(x) if type(x) is List else x for x in args)
        if getattr(func, "__name__", "") in _LOGIC:
            args = [_truth_tensor(x) for x in args]
        return func(*args, **kwargs)


# -- where PyTorch takes lists apart or makes them: `tolist`, and the results of a model -----------
# PyTorch flattens results with its pytrees.  The model has one output for each leaf of the items
# of a list, and one more for the sizes of items that differ in size.  The exported program makes
# the list of them that the module returns.

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
    """A tensor that stands for a number is refused as a key of a dictionary or an item of a set."""
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
