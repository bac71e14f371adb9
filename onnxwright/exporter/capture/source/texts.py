"""Texts of rewritten code that have a number which is known at run time only.

`f"task_{n}"` and `names[n]` are keys of a dict, a `ModuleDict` or attributes of an object: which of
them is meant is a decision by `n`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.optional_values import MaybeNone, certain, plain
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.capture.source.text_uses import is_used
from onnxwright.exporter.capture.source.truth import is_unknown

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FORMATTER = string.Formatter()


class Text(str):  # noqa: SLOT000 - it has a number
    """A text that depends on a whole number of run time.

    As a `str` it has the name of the symbol in the place of the number, for messages.

    Fields:
        number: the number, a tensor of one element or a symbolic one.
        before, after: the text around it.
        items: the texts that the number chooses from, from 0; None where it is written out. Some
            may be None: the number does not choose them.
    """

    number: Any
    before: str
    after: str
    items: tuple[str | None, ...] | None
    # Decides between two branches.
    decide: Any = None

    @classmethod
    def of(
        cls,
        number: Any,
        before: str = "",
        after: str = "",
        items: Sequence[str | None] | None = None,
    ) -> Text:
        """A text around a number, or around the one of `items` that it chooses."""
        made = cls(f"{before}{number}{after}")
        made.number, made.before, made.after = number, before, after
        made.items = None if items is None else tuple(items)
        return made

    @classmethod
    def chosen(cls, number: Any, possible: Iterable[str], decide: Any) -> Any:
        """One of several texts; `number` is that which the session has for it."""
        session = current()
        assert session is not None
        wanted = set(possible)
        if len(wanted) == 1:
            return wanted.pop()
        made = cls.of(number, items=[t if t in wanted else None for t in session.texts])
        made.decide = decide
        return made

    def form(self) -> str:
        """What is the same for texts that differ in the number only."""
        return repr((self.before, self.items, self.after))

    def number_of(self, text: str) -> list[int]:
        """The numbers for which this is a text."""
        if not text.startswith(self.before) or not text.endswith(self.after):
            return []
        if len(text) < len(self.before) + len(self.after):
            return []
        middle = text[len(self.before) : len(text) - len(self.after)]
        if self.items is not None:
            return [n for n, item in enumerate(self.items) if item == middle]
        return [int(middle)] if _WHOLE.fullmatch(middle) and middle != "-0" else []

    def is_text(self, other: str) -> Any:
        """Whether it is another text: a tensor of a truth value, or False."""
        found: Any = False
        for n in self.number_of(other):
            same = self.number == n
            found = same if found is False else found | same
        return found

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Text):
            both = possible_texts(self), possible_texts(other)
            if None in both or self is other:
                return self is other
            return self.number == other.number
        return self.is_text(other) if isinstance(other, str) else False

    def __ne__(self, other: object) -> Any:
        same = self == other
        if isinstance(same, bool):
            return not same
        return torch.sym_not(same) if isinstance(same, SYMBOLS) else torch.logical_not(same)

    __hash__ = str.__hash__

    def __add__(self, other: str) -> str:
        if isinstance(other, Text) or not isinstance(other, str):
            return str.__add__(self, other)
        return Text.of(self.number, self.before, self.after + other, self.items)

    def __radd__(self, other: str) -> str:
        return Text.of(self.number, other + self.before, self.after, self.items)

    def each(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a function gives for the text, of what it gives for each of several texts."""
        possible = sorted(possible_texts(self) or ())
        results = [function(text, *args, **kwargs) for text in possible]
        first = results[0]
        if all(type(r) is type(first) and r == first for r in results):
            return first
        if all(type(r) is str for r in results):
            numbers = dict(zip(possible, map(number_of, results)))
            return Text.chosen(self._picked(numbers), results, self.decide)
        if all(isinstance(r, int) for r in results):
            made = self._picked(dict(zip(possible, results)))
            return made != 0 if isinstance(first, bool) else made
        return function(str(self), *args, **kwargs)

    def _picked(self, numbers: Mapping[str, int]) -> torch.Tensor:
        """A tensor of the number that belongs to the text."""
        found = torch.full((), 0)
        for text, number in numbers.items():
            found = torch.where(torch.as_tensor(self.is_text(text)), number, found)
        return found


def _of_each(name: str) -> Callable[..., Any]:
    function = getattr(str, name)

    def method(self: Text, *args: Any, **kwargs: Any) -> Any:
        if self.decide is None:
            return function(self, *args, **kwargs)
        return self.each(function, *args, **kwargs)

    return method


for _name in (
    "capitalize", "casefold", "count", "endswith", "find", "isalpha", "isdigit", "islower",
    "isupper", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip",
    "startswith", "strip", "title", "upper", "__getitem__", "__contains__",
):  # fmt: skip
    setattr(Text, _name, _of_each(_name))


def possible_texts(value: Any) -> set[str] | None:
    """The texts that a variable may have by a number of the session; None for other texts.

    Args:
        value: a text.
    """
    if not isinstance(value, Text):
        return {value}
    session = current()
    if session is None or value.items is None or value.before or value.after:
        return None
    found = {text for text in value.items if text is not None}
    known = all(session.texts.get(t) == n for n, t in enumerate(value.items) if t is not None)
    return found if known else None


def number_of(text: str) -> Any:
    """The number of a text among those that variables have in this session."""
    session = current()
    assert session is not None
    if isinstance(text, Text):
        return text.number
    return session.texts.setdefault(text, len(session.texts))


def shown(value: Any) -> Any:
    """What a text has for a value: of a tensor of one known number that number."""
    if isinstance(value, MaybeNone):
        value = certain(value) if is_used(*asking_line()) else plain(value)
    t = tracer()
    if current() is None or t is None or not isinstance(value, torch.Tensor) or value.ndim:
        return value
    proxy = t.tensor_tracker.get(value)
    return value if proxy is None or proxy.constant is None else proxy.constant.item()


def text(*parts: Any) -> str:
    """A text of parts, as an f-string gives it.

    Args:
        parts: texts, and tuples of a value, the conversion ("r", "s", "a" or "") and the format.
    """
    made: str = ""
    for part in parts:
        made = made + (part if isinstance(part, str) else _formatted(*part))
    return made


def _formatted(value: Any, conversion: str, spec: str) -> str:
    value = shown(value)
    if _is_of_run_time(value):
        whole = _is_whole(value) and conversion in ("", "s") and spec in ("", "d")
        return Text.of(value) if whole else str(value)
    if isinstance(value, Text) and not spec and conversion in ("", "s"):
        return value
    return _plainly(value, conversion, spec)


def _plainly(value: Any, conversion: str, spec: str) -> str:
    """As Python does it."""
    kinds: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
    return format(kinds[conversion](value) if conversion else value, spec)


def format_(template: str, *args: Any, **kwargs: Any) -> str:
    """`template.format(...)`."""
    if not any(map(_depends, (*args, *kwargs.values()))):
        return template.format(*args, **kwargs)
    parts: list[Any] = []
    count = 0
    for before, name, spec, conversion in _FORMATTER.parse(template):
        parts.append(before)
        if name is None:
            continue
        if not name:
            name, count = str(count), count + 1
        value, _ = _FORMATTER.get_field(name, args, kwargs)
        parts.append((value, conversion or "", str.format(spec or "", *args, **kwargs)))
    return text(*parts)


def percent(template: Any, values: Any) -> Any:
    """`template % values`."""
    given = values if isinstance(values, tuple) else (values,)
    places = re.split(r"%[dis]", template)
    if not any(map(_depends, given)) or len(places) != len(given) + 1 or "%" in "".join(places):
        return template % values
    parts: list[Any] = [places[0]]
    for value, after in zip(given, places[1:]):
        parts += [(value, "", ""), after]
    return text(*parts)


def str_(*args: Any) -> str:
    """`str(x)`."""
    value = args[0] if len(args) == 1 else None
    session = current()
    if isinstance(value, Text):
        return value
    if isinstance(value, torch.Tensor) and (session is None or value not in session.numbers):
        return str(*args)
    return Text.of(value) if _is_of_run_time(value) and _is_whole(value) else str(*args)


def _depends(value: Any) -> bool:
    return isinstance(value, Text) or _is_of_run_time(shown(value))


def _is_of_run_time(value: Any) -> bool:
    """Whether a value is one number that is known at run time only."""
    if current() is None or not isinstance(value, (torch.Tensor, *SYMBOLS)):
        return False
    return not (isinstance(value, torch.Tensor) and value.ndim) and is_unknown(value)


def _is_whole(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        number = value.dtype != torch.bool and not value.is_complex()
        return number and not value.is_floating_point()
    return isinstance(value, torch.SymInt)
