"""One of several functions, modules or members of an enumeration, chosen when the model runs."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch

from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.optional_values import MaybeNone
from onnxwright.exporter.capture.source.regions import SYMBOLS, depth
from onnxwright.exporter.capture.source.session import asking_line, current, note_choice
from onnxwright.exporter.capture.source.state import Branch, State, result_of
from onnxwright.exporter.capture.source.texts import Text, is_asked_by_model, number_of
from onnxwright.exporter.capture.source.unknown_numbers import truth_tensor
from onnxwright.exporter.places import line_of

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
        for name, held in (("place", place), ("items", tuple(items)), ("decide", decide)):
            object.__setattr__(self, f"_ow_{name}", held)
        note_choice()

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
        known = [n for n, item in enumerate(self._ow_items) if hasattr(item, name)]
        found = [getattr(item, name) for item in (self._ow_items[n] for n in known)]
        if not known:
            raise AttributeError(name)
        place = self._ow_place
        if len(known) < len(self._ow_items):
            # As Python, the model raises an error for the others.
            place = checked_place(place_of_key(tensor_of(place), known), len(known))
        return picked(place, found, self._ow_decide)

    def __setattr__(self, name: str, value: Any) -> None:
        raise _refused(f"setting `{name}`")

    def __delattr__(self, name: str) -> None:
        raise _refused(f"deleting `{name}`")

    def _ow_each(self, function: Callable[[Any], Any]) -> Any:
        """One of what a function gives for the objects."""
        return picked(self._ow_place, list(map(function, self._ow_items)), self._ow_decide)

    def _ow_where(self, test: Callable[[Any], Any]) -> Any:
        """Whether a test is true of the object that is chosen: a bool, or a tensor of a truth."""
        answers = [_answer(item, test) for item in self._ow_items]
        if all(answer is answers[0] for answer in answers) and isinstance(answers[0], bool):
            return answers[0]
        place = tensor_of(self._ow_place)
        found = torch.full((), False)
        for n, answer in enumerate(answers):
            if answer is not False:
                found = found | ((place == n) & truth_tensor(answer))
        session = current()
        assert session is not None
        session.numbers.add(found, frozenset([False, True]))
        return found

    def _ow_is(self, other: Any) -> Any:
        """`self is other`."""
        if isinstance(other, OneOf):
            return self is other or self._ow_where(other._ow_is)
        return self._ow_where(lambda item: item is other)

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        return self._ow_where(lambda item: item == other)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return not same if isinstance(same, bool) else torch.logical_not(same)

    def __hash__(self) -> int:
        if is_asked_by_model():
            raise _refused("a key")
        return object.__hash__(self)

    def __bool__(self) -> bool:
        found = self._ow_where(bool)
        if not isinstance(found, bool):
            raise CaptureStoppedError("which object a variable has is data-dependent")
        return found

    def __len__(self) -> int:
        lengths = {len(item) for item in self._ow_items}
        if len(lengths) > 1:
            raise _refused("`len`, which differs,")
        return lengths.pop()

    def __iter__(self) -> Iterator[Any]:
        columns = zip(*map(tuple, self._ow_items)) if len(self) else ()
        return iter([picked(self._ow_place, list(c), self._ow_decide) for c in columns])

    def __getitem__(self, index: Any) -> Any:
        return self._ow_each(lambda item: item[index])

    def __contains__(self, value: Any) -> bool:
        found = self._ow_where(lambda item: value in item)
        if not isinstance(found, bool):
            raise _refused("`in`")
        return found


def _operation(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    """An operator, of members of an enumeration of numbers."""

    def method(self: OneOf, *others: Any) -> Any:
        if not all(isinstance(item, int) for item in self._ow_items):
            return NotImplemented

        def result(item: Any) -> Any:
            values = (int(item), *others)
            return function(*(values[::-1] if swapped else values))

        return self._ow_each(result)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(OneOf, f"__{_name}__", _operation(getattr(operator, _name)))
    setattr(OneOf, f"__r{_name}__", _operation(getattr(operator, _name), swapped=True))
for _name in ("lt", "le", "gt", "ge", "neg"):
    setattr(OneOf, f"__{_name}__", _operation(getattr(operator, _name)))


def _answer(item: Any, test: Callable[[Any], Any]) -> Any:
    found = item._ow_where(test) if isinstance(item, OneOf) else test(item)
    return bool(found) if isinstance(found, int) else found


def _refused(use: str) -> CannotRewriteError:
    reason = f"{use} of one of several objects that is known at run time only"
    return CannotRewriteError(reason, line_of(*asking_line()))


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
    if session is None or any(isinstance(t, Text) for t in items):
        return Text.of(place, items=items)
    numbers = [number_of(text) for text in items]
    if depth():
        number = _number_at(checked_place(tensor_of(place), len(items)), numbers)
    else:
        number = torch.ops.aten.index.Tensor(torch.tensor(numbers), [tensor_of(place)])
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


def among_all(value: Any, other: Any, decide: Decide) -> Any:
    """An object as one of all that a variable may have, which it is carried as by a loop.

    Args:
        value: an object that is choosable, or one of several.
        other: what the same variable is at another time.
        decide: decides between two branches.

    Returns:
        A `OneOf` of all objects of both; `value` if it is one already, or if there is one object.
    """
    items = objects_in(value)
    items += [item for item in objects_in(other) if _number(item, items) is None]
    if len(items) == 1:
        return items[0]
    session = current()
    assert session is not None
    for item in items:
        if _number(item, session.objects) is None:
            session.objects.append(item)
    # One order and one object of equal ones, whichever was found first.
    numbers = sorted(_number(item, session.objects) or 0 for item in items)
    items = [session.objects[n] for n in numbers]
    if isinstance(value, OneOf) and list(map(id, value._ow_items)) == list(map(id, items)):
        return value
    return OneOf(_place_among(value, items), items, decide)


def _number(value: Any, items: Sequence[Any]) -> int | None:
    return next((n for n, item in enumerate(items) if is_same_object(item, value)), None)


def objects_in(value: Any) -> list[Any]:
    """The objects that a value may be, each once."""
    if not isinstance(value, OneOf):
        return [value]
    found: list[Any] = []
    for item in (one for part in value._ow_items for one in objects_in(part)):
        if _number(item, found) is None:
            found.append(item)
    return found


def is_same_object(one: Any, other: Any) -> bool:
    """Whether two objects are one; reading a method or a `lambda` again gives another object."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, MethodType):
        return bool(one == other)
    return isinstance(one, FunctionType) and _is_same_function(one, other)


def _is_same_function(one: FunctionType, other: FunctionType) -> bool:
    """Whether two functions were made by one `def` or `lambda`, with the same variables."""
    if one.__code__ is not other.__code__ or one.__globals__ is not other.__globals__:
        return False
    if one.__kwdefaults__ or other.__kwdefaults__ or one.__dict__ or other.__dict__:
        return False
    held = [[*(f.__closure__ or ()), *(f.__defaults__ or ())] for f in (one, other)]
    return list(map(id, held[0])) == list(map(id, held[1]))


def _place_among(value: Any, items: Sequence[Any]) -> Any:
    """The place of an object among others, from 0."""
    if not isinstance(value, OneOf):
        return _number(value, items)
    if isinstance(value._ow_place, int):
        return _place_among(value._ow_items[value._ow_place], items)
    place = tensor_of(value._ow_place)
    places = [_place_among(item, items) for item in value._ow_items]
    if all(type(n) is int for n in places) and places == list(range(len(items))):
        return place
    return _number_at(place, places)


def _number_at(place: torch.Tensor, numbers: Sequence[Any]) -> torch.Tensor:
    """One of several numbers, without `torch.tensor`: a side of a decision has no constants."""
    found = tensor_of(numbers[-1])
    for n, number in enumerate(numbers[:-1]):
        found = torch.where(place == n, number, found)
    return found


def tensor_of(number: Any) -> torch.Tensor:
    """A tensor without axes of a tensor of one element or a symbolic number."""
    if isinstance(number, torch.Tensor):
        return number.reshape(())
    if isinstance(number, torch.SymBool):
        return torch.scalar_tensor(number, dtype=torch.bool)
    return torch.full((), number, dtype=torch.int64)


def checked_place(place: torch.Tensor, count: int) -> torch.Tensor:
    """A place, from 0; from the end where negative.  The model raises an error for others."""
    places = torch.arange(count, device=place.device)
    return torch.ops.aten.index.Tensor(places, [place.to(torch.int64)])


def place_of_key(wanted: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    """The place of a key, one that does not exist for others."""
    place = torch.full_like(wanted, len(keys), dtype=torch.int64)
    for n, key in enumerate(keys):
        place = torch.where(wanted == key, n, place)
    return place


def is_choosable(value: Any) -> bool:
    """Whether a value is an object that holds no tensor of the part it was made in.

    Args:
        value: anything.

    Returns:
        Whether it is a function, a module or a member of an enumeration, and calls of it mean the
        same outside of that part.

    Example:
        >>> is_choosable(torch.relu), is_choosable(torch.nn.ReLU()), is_choosable(3)
        (True, True, False)
        >>> is_choosable(functools.partial(torch.add, torch.zeros(2)))
        False
    """
    if isinstance(value, (torch.nn.Module, OneOf, enum.Enum)):
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
