"""One of several functions or modules, chosen by a number that is known when the model runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

import torch

from onnxwright.exporter.capture.source.optional_values import MaybeNone
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.state import Branch, State, result_of
from onnxwright.exporter.capture.source.texts import Text, number_of

Decide = Callable[[Any, Branch, Branch, State], bool]
"""`conditional.conditional`, which makes a `OneOf` itself."""


class OneOf:
    """Stands for one of several objects; a call of it is a decision between calls of them.

    Args:
        place: which of them, a tensor of one integer or a symbolic number, from 0.
        items: the objects.
        decide: decides between two branches.
    """

    def __init__(self, place: Any, items: Sequence[Any], decide: Decide) -> None:
        self._ow_place = place
        self._ow_items = tuple(items)
        self._ow_decide = decide

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the chosen one."""
        parts = [functools.partial(item, *args, **kwargs) for item in self._ow_items]
        return _among(self._ow_place, parts, self._ow_decide)

    def _ow_places(self) -> list[Any]:
        """The number, and those of objects that are one of several themselves."""
        inner = [item for item in self._ow_items if isinstance(item, OneOf)]
        return [self._ow_place, *(place for item in inner for place in item._ow_places())]

    def _ow_at(self, places: Iterator[Any]) -> OneOf:
        """One of the same objects by other numbers."""
        place = next(places)
        items = [i._ow_at(places) if isinstance(i, OneOf) else i for i in self._ow_items]
        return OneOf(place, items, self._ow_decide)

    def _ow_form(self) -> str:
        """What is one of what: the same for equal objects, whatever the numbers are."""
        return str([i._ow_form() if isinstance(i, OneOf) else id(i) for i in self._ow_items])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_ow_"):
            raise AttributeError(name)
        found = [getattr(item, name) for item in self._ow_items]
        return picked(self._ow_place, found, self._ow_decide)


def picked(place: Any, items: Sequence[Any], decide: Decide) -> Any:
    """The item at a place that is known when the model runs.

    Args:
        place: the place, from 0.
        items: tensors, numbers, containers of these, or functions and modules, or texts.
        decide: decides between two branches.

    Returns:
        What a decision gives; for functions and modules what stands for one of them, for texts
        a `Text`.
    """
    if all(item is items[0] for item in items):
        return items[0]
    if all(map(is_choosable, items)):
        return OneOf(place, items, decide)
    if all(type(item) is str for item in items):
        return _text_at(place, items, decide)
    return _among(place, [functools.partial(_same, item) for item in items], decide)


def _same(item: Any) -> Any:
    return item


def _text_at(place: Any, items: Sequence[str], decide: Decide) -> Any:
    """The text at a place; where variables have one of several texts, by its number among these."""
    session = current()
    if session is None or not session.asks_constants or any(isinstance(t, Text) for t in items):
        return Text.of(place, items=items)
    numbers = torch.tensor([number_of(text) for text in items])
    number = torch.ops.aten.index.Tensor(numbers, [tensor_of(place)])
    return Text.chosen(number, items, decide)


def _among(place: Any, parts: Sequence[Callable[[], Any]], decide: Decide) -> Any:
    """The result of one of several parts: each half of them is a side of a decision."""
    place = tensor_of(place)

    def between(first: int, parts: Sequence[Callable[[], Any]]) -> Any:
        if len(parts) == 1:
            return parts[0]()
        half = len(parts) // 2

        def either(then: Branch, orelse: Branch, state: State) -> None:
            decide(place < first + half, then, orelse, state)

        return result_of(
            either,
            lambda: between(first, parts[:half]),
            lambda: between(first + half, parts[half:]),
        )

    return between(0, parts)


def tensor_of(number: Any) -> torch.Tensor:
    """A tensor without axes of a tensor of one element or a symbolic number."""
    if isinstance(number, torch.Tensor):
        return number.reshape(())
    if isinstance(number, torch.SymBool):
        return torch.scalar_tensor(number, dtype=torch.bool)
    return torch.full((), number, dtype=torch.int64)


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
    if isinstance(value, (type, torch.Tensor, MaybeNone)) or not callable(value):
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
