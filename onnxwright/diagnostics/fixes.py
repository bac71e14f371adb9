"""Fixes of messages that know the word that was meant: what an editor may put in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from onnxwright.diagnostics.span import Span, source_line
from onnxwright.errors import Message


@dataclass(frozen=True, slots=True)
class Fix:
    """One change of a source file.

    Fields:
        title: what it does.
        span: the characters that are replaced.
        text: what comes in their place.
    """

    title: str
    span: Span
    text: str


def fixes_of(diagnostic: Message) -> list[Fix]:
    """The changes that a message suggests.

    Args:
        diagnostic: the message; `meant` is the word that was probably meant where the source has
            the fact `name`.

    Returns:
        One change where the place of the word is known, none where it is not: the source cannot be
        read, or has the word more than once in the place of the message.

    Example:
        >>> from onnxwright.diagnostics.diagnostic import Diagnostic
        >>> fixes_of(Diagnostic())
        []
    """
    wrong, meant, span = getattr(diagnostic, "name", ""), diagnostic.meant, diagnostic.span
    if not meant or not wrong or span is None:
        return []
    places = _places(wrong, span)
    if len(places) != 1:
        return []
    return [Fix(f"replace `{wrong}` by `{meant}`", places[0], meant)]


def _places(word: str, span: Span) -> list[Span]:
    """Where a word stands by itself in a piece of the source."""
    places: list[Span] = []
    for number in range(span.line, span.end_line + 1):
        line = source_line(span.file, number)
        if line is None:
            return []
        start = span.col if number == span.line else 0
        end = span.end_col if number == span.end_line else len(line)
        places += [
            Span(span.file, number, match.start(), number, match.end())
            for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", line)
            if start <= match.start() and match.end() <= end
        ]
    return places
