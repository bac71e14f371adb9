"""Texts of rewritten code that have a number which is known at run time only.

`f"task_{n}"` and `names[n]` are keys of a dict, a `ModuleDict` or attributes of an object: which of
them is meant is a decision by `n`.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.optional_values import MaybeNone, certain, plain
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.session import asking_line, current, note_choice
from onnxwright.exporter.capture.source.text_uses import is_used
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown, truth_tensor
from onnxwright.exporter.places import is_of_user, line_of

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FORMATTER = string.Formatter()


class Text(str):  # noqa: SLOT000 - it has a number
    """A text that depends on a whole number of run time.

    As a `str` it has the name of the symbol in the place of the number, for messages.

    Fields:
        number: the number, a tensor of one element or a symbolic one; None where the text depends
            on more than one whole number: it can be shown only.
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
        note_choice()
        return made

    @classmethod
    def shown_only(cls, text: str) -> Text:
        """A text that depends on what is known at run time in another way."""
        made = cls(text)
        made.number, made.before, made.after, made.items = None, text, "", None
        note_choice()
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
        return repr((self.before, self.items, self.after, self.number is None))

    def by_number(self) -> dict[int, str] | None:
        """All texts that it may be, by the number; None where these are not known."""
        session = current()
        if self.number is None or session is None:
            return None
        if self.items is not None:
            known = {n: item for n, item in enumerate(self.items) if item is not None}
        else:
            known = {n: str(n) for n in sorted(session.numbers.choices(self.number))}
        return {n: f"{self.before}{t}{self.after}" for n, t in known.items()} or None

    def number_of(self, text: str) -> list[int]:
        """The numbers for which this is a text."""
        if self.number is None:
            raise _refused("a comparison")
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
            return True if self is other else _is_same(self, other)
        return self.is_text(other) if isinstance(other, str) else False

    def __ne__(self, other: object) -> Any:
        same = self == other
        if isinstance(same, bool):
            return not same
        return torch.sym_not(same) if isinstance(same, SYMBOLS) else torch.logical_not(same)

    def __hash__(self) -> int:
        if is_asked_by_model():
            raise _refused("a key")
        return str.__hash__(self)

    def __len__(self) -> int:
        if is_asked_by_model():
            raise _refused("`len`")
        return str.__len__(self)

    def __add__(self, other: str) -> str:
        if isinstance(other, Text):
            return _joined(self, other)
        if self.number is None:
            return Text.shown_only(str.__add__(self, other))
        return Text.of(self.number, self.before, self.after + other, self.items)

    def __radd__(self, other: str) -> str:
        if self.number is None:
            return Text.shown_only(other + str(self))
        return Text.of(self.number, other + self.before, self.after, self.items)

    def each(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a function gives for the text, of what it gives for each text that it may be.

        Args:
            function: takes a text.
            args, kwargs: what it takes besides.

        Raises:
            CannotRewriteError: it is not known which texts it may be, or the results are of
                several kinds.
        """
        name = f"`{getattr(function, '__name__', 'a function')}`"
        known = self.by_number()
        if known is None or any(isinstance(v, Text) for v in (*args, *kwargs.values())):
            raise _refused(name)
        return self._one_of({n: function(t, *args, **kwargs) for n, t in known.items()}, name)

    def _one_of(self, results: Mapping[int, Any], name: str) -> Any:
        """One of several results, by the number."""
        values = list(results.values())
        first = values[0]
        if all(type(v) is type(first) and v == first for v in values):
            return first
        if all(type(v) is str for v in values):
            if self.decide is not None:
                numbers = {n: number_of(text) for n, text in results.items()}
                return Text.chosen(self._picked(numbers), values, self.decide)
            return Text.of(self._picked({n: k for k, n in enumerate(results)}), items=values)
        if all(isinstance(v, int) for v in values):
            made = self._picked(results)
            found = made != 0 if isinstance(first, bool) else made
            session = current()
            assert session is not None
            session.numbers.add(found, frozenset(values))
            return found
        if type(first) in (list, tuple) and len({(type(v), len(v)) for v in values}) == 1:
            parts = [{n: v[k] for n, v in results.items()} for k in range(len(first))]
            return type(first)(self._one_of(part, name) for part in parts)
        raise _refused(name)

    def _picked(self, numbers: Mapping[int, int]) -> torch.Tensor:
        """A tensor of what belongs to the number."""
        found = torch.full((), 0)
        for n, value in numbers.items():
            found = torch.where(truth_tensor(self.number == n), value, found)
        return found


def _of_each(name: str) -> Callable[..., Any]:
    function = getattr(str, name)

    def method(self: Text, *args: Any, **kwargs: Any) -> Any:
        if is_asked_by_model():
            return self.each(function, *args, **kwargs)
        return function(self, *args, **kwargs)

    return method


for _name in (
    *(name for name in dir(str) if not name.startswith("_") and name != "format"),
    "__getitem__", "__contains__", "__iter__", "__mul__", "__rmul__", "__lt__", "__le__",
    "__gt__", "__ge__",
):  # fmt: skip
    setattr(Text, _name, _of_each(_name))


def is_asked_by_model() -> bool:
    """Whether a method is called by code of the model, and not by what only shows a text."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    return current() is not None and is_of_user(file) and is_used(file, frame.f_lineno)


def _refused(use: str) -> CannotRewriteError:
    reason = f"{use} of a text that depends on a number which is known at run time only"
    return CannotRewriteError(reason, line_of(*asking_line()))


def _is_same(one: Text, other: Text) -> Any:
    """Whether two texts are the same, a tensor of a truth value or False."""
    if possible_texts(one) is not None and possible_texts(other) is not None:
        return one.number == other.number
    if one.form() == other.form() and one.items is None and one.number is not None:
        return one.number == other.number
    known, others = one.by_number(), other.by_number()
    if known is None or others is None:
        raise _refused("a comparison")
    found: Any = False
    for text in dict.fromkeys(known.values()):
        if text in others.values():
            same = torch.logical_and(truth_tensor(one == text), truth_tensor(other == text))
            found = same if found is False else found | same
    return found


# Texts of two numbers that are written out at most.
_MOST_TEXTS = 256


def _joined(one: Text, other: Text) -> Text:
    """One text after another."""
    known, others = one.by_number(), other.by_number()
    if known is None or others is None or len(known) * len(others) > _MOST_TEXTS:
        return Text.shown_only(str.__add__(one, other))
    first = one._picked({n: k * len(others) for k, n in enumerate(known)})
    second = other._picked({n: k for k, n in enumerate(others)})
    items = [a + b for a in known.values() for b in others.values()]
    return Text.of(first + second, items=items)


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
        return Text.of(value) if whole else Text.shown_only(str(value))
    if isinstance(value, Text):
        if not spec and conversion in ("", "s"):
            return value
        return _formatted_each(value, conversion, spec)
    return _plainly(value, conversion, spec)


def _formatted_each(value: Text, conversion: str, spec: str) -> str:
    """`f"{value!r:>5}"` of a text that may be one of several."""
    if value.by_number() is None:
        return Text.shown_only(_plainly(str(value), conversion, spec))
    found: str = value.each(_plainly, conversion, spec)
    return found


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
    if isinstance(value, torch.SymInt) and value.node.expr.free_symbols:
        return True
    return not (isinstance(value, torch.Tensor) and value.ndim) and is_unknown(value)


def _is_whole(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        number = value.dtype != torch.bool and not value.is_complex()
        return number and not value.is_floating_point()
    return isinstance(value, torch.SymInt)
