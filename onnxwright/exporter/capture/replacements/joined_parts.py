"""Parts of a tensor by sizes that are values, joined again: the tensor itself.

`torch.cat(torch.split(x, sizes.tolist()))` is `x`.  How many sizes there are is not known where the
length of `sizes` is dynamic; a list of Python would fix it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import FakeTensor


class _ReadAsList:
    """What Python reads as a list, which fixes the number of its items."""

    def __iter__(self) -> Any:
        return iter(self._as_list())

    def __len__(self) -> int:
        return len(self._as_list())

    def __getitem__(self, place: Any) -> Any:
        return self._as_list()[place]

    def _as_list(self) -> Any:
        """The list: what torch makes without a substitute."""
        raise NotImplementedError


class Lengths(_ReadAsList):
    """What `sizes.tolist()` is, of a number of sizes that is known at run time."""

    def __init__(self, sizes: Any) -> None:
        self.sizes = sizes

    def __getitem__(self, place: Any) -> Any:
        size = self.sizes[place]
        return Lengths(size) if isinstance(place, slice) else size.item()

    def __getattr__(self, name: str) -> Any:
        if name in _SEARCHES:
            raise RuntimeError(f"`{name}` of a list of a run-time length is data-dependent")
        raise AttributeError(f"'list' object has no attribute '{name}'")

    def _as_list(self) -> Any:
        return [item.item() for item in self.sizes]


# What a rewritten function asks of the tensor.
_SEARCHES = ("count", "index")


class NumberRows(_ReadAsList):
    """What `x.tolist()` is, of a matrix with a number of rows that is known at run time."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def _as_list(self) -> Any:
        return [row.tolist() for row in self.rows]


class Parts(_ReadAsList, tuple):  # type: ignore[type-arg]  # noqa: SLOT001 - a tuple for torch
    """What `torch.split(x, Lengths)` is: of `x` alone for torch, of all parts for Python."""

    whole: Any
    lengths: Lengths
    dim: int

    @classmethod
    def of(cls, whole: Any, lengths: Lengths, dim: int) -> Parts:
        """The parts of a tensor along an axis."""
        parts = cls((whole,))
        parts.whole, parts.lengths, parts.dim = whole, lengths, dim
        return parts

    def _as_list(self) -> Any:
        return torch.split(self.whole, self.lengths._as_list(), self.dim)


def lengths_open(changes: Changes, model: Any) -> None:
    """`tolist` of a traced list of numbers of dynamic length is `Lengths`."""
    own = FakeTensor.tolist

    def tolist(self: Any) -> Any:
        is_open = self.dim() == 1 and isinstance(self.shape[0], torch.SymInt)
        if is_open and not self.is_complex():
            # Numbers of Python are doubles.
            return Lengths(self.double() if self.is_floating_point() else self)
        if _is_matrix(self) and not self.is_complex():
            return NumberRows(self.double() if self.is_floating_point() else self)
        return own(self)

    changes.attribute(FakeTensor, "tolist", tolist)


def _is_matrix(x: Any) -> bool:
    """Whether a tensor has rows of run-time number, of a length of Python."""
    return x.dim() == 2 and isinstance(x.shape[0], torch.SymInt) and isinstance(x.shape[1], int)


def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    if not isinstance(split_size_or_sections, Lengths):
        return torch.split(tensor, split_size_or_sections, dim)
    return Parts.of(tensor, split_size_or_sections, dim)


def _method_split(self: Any, split_size: Any, dim: int = 0) -> Any:
    return _split(self, split_size, dim)


def _joined(own: Callable[..., Any]) -> Callable[..., Any]:
    def cat(*args: Any, **options: Any) -> Any:
        tensors = args[0] if args else options.get("tensors")
        if not isinstance(tensors, Parts):
            return own(*args, **options)
        dim = args[1] if len(args) > 1 else options.pop("axis", options.pop("dim", 0))
        options.pop("tensors", None)
        if not options and (dim - tensors.dim) % tensors.whole.dim() == 0:
            return tensors.whole.clone()
        return own(tensors._as_list(), dim, **options)

    return cat


JOINED_PARTS: dict[Any, Callable[..., Any]] = {
    torch.split: _split,
    torch.Tensor.split: _method_split,
    torch.cat: _joined(torch.cat),
    torch.concat: _joined(torch.concat),
}
"""Functions of torch -> the same, where the parts are only joined again."""
