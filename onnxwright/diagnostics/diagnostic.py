"""A message as data: facts are fields, words are templates, the rendering is somebody else's.

A subclass of `Diagnostic` is one entry of the catalogue: `code`, `title`, `label` and `help` are
class variables (format strings over the fields), `error` is the exception class it is raised as.
"""

from __future__ import annotations

import dataclasses
import re
import string
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NoReturn

from typing_extensions import dataclass_transform

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError, OnnxwrightWarning, ScriptError

if TYPE_CHECKING:
    from typing_extensions import Self

CATALOGUE: dict[str, type[Diagnostic]] = {}


@dataclass(frozen=True, slots=True)
class Label:
    """A second place a message points at, with a few words."""

    span: Span
    text: str


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """The base of every message; subclasses add facts as fields and words as class variables.

    A subclass is a frozen dataclass, whose fields are given by name, without a decorator.

    Fields:
        span: the primary place, or None where no Python line is known.
        labels: further places.
        notes: lines under the message.
        meant: the word that was probably meant where the source has the fact `name`.
    """

    code: ClassVar[str] = ""
    title: ClassVar[str] = ""
    label: ClassVar[str] = ""
    help: ClassVar[str] = ""
    severity: ClassVar[str] = "error"
    error: ClassVar[type[OnnxwrightError]] = ScriptError

    span: Span | None = None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = field(default=())
    meant: str | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(frozen=True, kw_only=True)(cls)
        code = cls.__dict__.get("code")
        if code:
            # A module that is run again has the same qualified names, which is not a clash.
            entry = CATALOGUE.get(code)
            if entry is not None and _path(entry) != _path(cls):
                raise AssertionError(f"{code} is both {_path(entry)} and {_path(cls)}")
            CATALOGUE[code] = cls

    def facts(self) -> dict[str, object]:
        """The fields that templates may name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def words(self, template: str) -> str:
        """A template filled with the facts; a missing fact raises `KeyError`."""
        return template.format_map(self.facts())

    def optional_words(self, template: str) -> str:
        """A template whose lines disappear where a fact they name is None or empty.

        Help says `did you mean {suggestion}?` on a line of its own; without a suggestion that
        line is dropped.
        """
        facts = self.facts()
        return "\n".join(
            line.format_map(facts)
            for line in template.split("\n")
            if not any(_is_empty(facts[name]) for name in _names(line))
        ).strip("\n")

    def at(self, span: Span | None) -> Self:
        """This message at `span`, unless it has a place already."""
        if self.span is not None or span is None:
            return self
        return dataclasses.replace(self, span=span)

    def with_notes(self, *notes: str) -> Self:
        """This message with further lines under it."""
        return dataclasses.replace(self, notes=(*self.notes, *notes))

    def rendered(self, others: Iterable[Diagnostic] = ()) -> str:
        """The text of this message and of others."""
        from onnxwright.diagnostics.render import render_all

        return render_all((self, *others))

    def rendered_once(self) -> str:
        """The text of a warning, kept for the next time it is asked for."""
        from onnxwright.diagnostics.render import render_once

        return render_once(self)

    def traceback_lines(self, error: BaseException) -> list[str]:
        """What IPython shows of an error that carries this message."""
        from onnxwright.diagnostics.tracebacks import traceback_lines

        return traceback_lines(error)


class Advised(Diagnostic):
    """A message whose help depends on the place that raises it."""

    help = "{advice}"
    advice: str


class Hinted(Diagnostic):
    """As `Advised`, where the exporter and the operators call the advice a hint."""

    help = "{hint}"
    hint: str


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _names(template: str) -> list[str]:
    """The facts a template names."""
    parsed = string.Formatter().parse(template)
    return [re.split(r"[.\[]", name)[0] for _, name, _, _ in parsed if name]


def _is_empty(fact: object) -> bool:
    return fact is None or (isinstance(fact, (str, tuple, list)) and not fact)


_inside = threading.local()


def fail(*diagnostics: Diagnostic) -> NoReturn:
    """Raise the exception class of the first diagnostic with all of them.

    A message without a place gets the one of the `with located(...)` around it; where there is
    none, the user's line that called us.
    """
    if not getattr(_inside, "depth", 0):
        diagnostics = tuple(d if d.span is not None else d.at(user_span()) for d in diagnostics)
    raise diagnostics[0].error(*diagnostics)


@contextmanager
def located(place: Span | Callable[[], Span | None] | None) -> Iterator[None]:
    """Give errors raised inside, where they have no place yet, this one.

    Args:
        place: a span, or a function that says it when an error comes.
    """
    _inside.depth = getattr(_inside, "depth", 0) + (place is not None)
    try:
        yield
    except OnnxwrightError as error:
        if all(d.span is not None for d in error.diagnostics):
            raise
        span = place() if callable(place) else place
        moved = type(error)(*(d.at(span) for d in error.diagnostics))
        raise moved.with_traceback(error.__traceback__) from error.__cause__
    finally:
        _inside.depth -= place is not None


class Sink:
    """Collects diagnostics so that all errors of a function come at once."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        """Remember an error (the same message at the same place only once)."""
        if diagnostic not in self.errors:
            self.errors.append(diagnostic)

    def raise_if_any(self) -> None:
        """Raise everything collected, in source order."""
        if self.errors:

            def place(d: Diagnostic) -> tuple[int, int]:
                return (d.span.line, d.span.col) if d.span else (0, 0)

            fail(*sorted(self.errors, key=place))


@contextmanager
def collecting(pending: list[Diagnostic]) -> Iterator[None]:
    """Keep warnings of this thread in a list, for whoever knows whether they will stay true.

    Left without an error, it hands them to the `collecting` around it, or issues each one once;
    left with an error it forgets them.
    """
    around: list[Diagnostic] | None = getattr(_inside, "pending", None)
    _inside.pending = pending
    try:
        yield
    finally:
        _inside.pending = around
    once: list[Diagnostic] = []
    for diagnostic in pending:
        if diagnostic not in once:
            once.append(diagnostic)
    if around is not None:
        around.extend(once)
    else:
        for diagnostic in once:
            warn(diagnostic)


# What was said of each file, as Python keeps it in a module's `__warningregistry__`: its usual
# filter shows a warning once for a place.
_registries: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}


def warn(diagnostic: Diagnostic, stacklevel: int = 2) -> None:
    """Issue a located warning; its text names the Python line, as an error's does."""
    pending: list[Diagnostic] | None = getattr(_inside, "pending", None)
    if pending is not None:
        if diagnostic.span is None:
            diagnostic = diagnostic.at(user_span())
        pending.append(diagnostic)
        return
    if diagnostic.span is not None:
        warnings.warn_explicit(
            OnnxwrightWarning(diagnostic),
            OnnxwrightWarning,
            diagnostic.span.file,
            diagnostic.span.line,
            registry=_registries.setdefault(diagnostic.span.file, {}),
        )
    else:
        warnings.warn(OnnxwrightWarning(diagnostic), stacklevel=stacklevel + 1)
