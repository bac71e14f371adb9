"""One of several functions or modules, chosen by a number that is known when the model runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import current


class OneOf:
    """Stands for one of several objects; a call of it is a decision between calls of them.

    Args:
        place: which of them, a tensor of one integer or a symbolic number, from 0.
        items: the objects.
    """

    def __init__(self, place: Any, items: Sequence[Any]) -> None:
        self._ow_place = place
        self._ow_items = tuple(items)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the chosen one."""
        session = current()
        assert session is not None
        parts = [functools.partial(item, *args, **kwargs) for item in self._ow_items]
        return session.among(self._ow_place, parts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_ow_"):
            raise AttributeError(name)
        return picked(self._ow_place, [getattr(item, name) for item in self._ow_items])


def picked(place: Any, items: Sequence[Any]) -> Any:
    """The item at a place that is known when the model runs.

    Args:
        place: the place, from 0.
        items: tensors, numbers, containers of these, or functions and modules.

    Returns:
        What a decision gives; for functions and modules what stands for one of them.
    """
    if all(item is items[0] for item in items):
        return items[0]
    if all(map(is_choosable, items)):
        return OneOf(place, items)
    session = current()
    assert session is not None
    return session.among(place, [functools.partial(_same, item) for item in items])


def _same(item: Any) -> Any:
    return item


def is_choosable(value: Any) -> bool:
    """Whether a value is a function or a module that holds no tensor of the part it was made in.

    Args:
        value: anything.

    Returns:
        Whether calls of it mean the same outside of that part.

    Example:
        >>> is_choosable(torch.relu), is_choosable(torch.nn.ReLU()), is_choosable(3)
        (True, True, False)
        >>> is_choosable(functools.partial(torch.add, torch.zeros(2)))
        False
    """
    if isinstance(value, (torch.nn.Module, OneOf)):
        return True
    if isinstance(value, type) or not callable(value) or isinstance(value, torch.Tensor):
        return False
    if isinstance(value, functools.partial):
        held = [*value.args, *value.keywords.values()]
        return is_choosable(value.func) and not any(map(_is_value, held))
    if isinstance(value, FunctionType):
        held = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        for cell in value.__closure__ or ():
            try:
                held.append(cell.cell_contents)
            except ValueError:  # a name that has no value yet
                continue
        return not any(map(_is_value, held))
    return True


def _is_value(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, *SYMBOLS))
