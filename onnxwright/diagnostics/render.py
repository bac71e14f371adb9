"""Turns diagnostics into text: plain, coloured, or JSON for editors.

`str(error)` is `render_all(error.diagnostics)`.  Nothing here decides what a message says; it only
places the words of a `Diagnostic` beside the source lines they are about.  Columns of the source
are characters; columns of the output are terminal cells, so carets stay under wide characters.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from onnxwright.diagnostics.fixes import fixes_of
from onnxwright.diagnostics.origins import UnreadSpan
from onnxwright.diagnostics.span import Span, source_line
from onnxwright.diagnostics.text import clean, clean_lines
from onnxwright.errors import Message

TAB = "    "
"""What a tab is shown as; its width must not depend on where the gutter ends."""

SHOWN_WHOLE = 4
"""A span over at most this many lines is shown whole, a longer one by its two ends."""

_RED, _YELLOW, _BLUE, _CYAN, _BOLD, _RESET = (
    "\x1b[1;31m",
    "\x1b[1;33m",
    "\x1b[1;34m",
    "\x1b[1;36m",
    "\x1b[1m",
    "\x1b[0m",
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Cells to underline on one source line, with the words beside them."""

    line: int
    start: int
    stop: int
    sign: str
    text: str


# Texts that were made before, by the message and the source lines that it points into.
_texts: dict[tuple[Message, tuple[str | None, ...]], str] = {}
_MOST_TEXTS = 1024
_MOST_LINES = 20


def render_once(diagnostic: Message) -> str:
    """As `render`, with the text of an equal message if the source lines are still the same.

    Python asks for the text of a warning each time, also where it has shown that warning before.

    Returns:
        Several lines without a final newline.

    Example:
        >>> from onnxwright.diagnostics.diagnostic import Diagnostic
        >>> render_once(Diagnostic(notes=("no place is known",))).splitlines()
        ['error: ', '   = note: no place is known']
    """
    spans = [span for span in (diagnostic.span, *(x.span for x in diagnostic.labels)) if span]
    lines = tuple(
        _line(_file(span), n)
        for span in spans
        for n in range(span.line, min(span.end_line, span.line + _MOST_LINES) + 1)
    )
    try:
        text = _texts.get((diagnostic, lines))
    except TypeError:  # a fact that has no hash
        return render(diagnostic)
    if text is None:
        text = render(diagnostic)
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        _texts[diagnostic, lines] = text
    return text


def render(diagnostic: Message, *, color: bool = False) -> str:
    r"""The text of one message, with the source lines it is about.

    Args:
        color: whether to add ANSI colours.

    Returns:
        Several lines without a final newline.

    Raises:
        KeyError: a template names a fact the message does not have.

    Example:
        >>> from onnxwright.diagnostics.diagnostic import Diagnostic
        >>> render(Diagnostic(notes=("no place is known",)))
        'error: \n   = note: no place is known'
    """
    paint = _Paint(color, _YELLOW if diagnostic.severity == "warning" else _RED)
    code = f"[{diagnostic.code}]" if diagnostic.code else ""
    title, *more = clean_lines(diagnostic.words(diagnostic.title)).split("\n")
    out = [paint.main(f"{diagnostic.severity}{code}") + paint.bold(f": {title}")]
    out += ["  " + line for line in more]
    places = _by_file(diagnostic)
    lines = [mark.line for _, _, marks in places for mark in marks]
    width = max([len(str(line)) for line in lines], default=2)
    for place, file, marks in places:
        out.append(f"{' ' * width}{paint.frame('-->')} {clean(place)}")
        out += _snippet(file, marks, width, paint)
    for note in diagnostic.notes:
        out += _footer("note", clean_lines(note), width, paint)
    help_ = diagnostic.optional_words(diagnostic.help)
    if help_:
        out += _footer("help", clean_lines(help_), width, paint)
    return "\n".join(out)


def render_all(diagnostics: Iterable[Message], *, color: bool = False) -> str:
    """The text of several messages; one JSON object per line where `OW_DIAGNOSTICS=json`.

    Args:
        diagnostics: the messages, in the order they are shown.
        color: whether to add ANSI colours (never in JSON).

    Returns:
        The renderings, an empty line between two.

    Raises:
        KeyError: a template names a fact its message does not have.

    Example:
        >>> render_all([])
        ''
    """
    if os.environ.get("OW_DIAGNOSTICS") == "json":
        return "\n".join(render_json(d) for d in diagnostics)
    return "\n\n".join(render(d, color=color) for d in diagnostics)


def render_json(diagnostic: Message) -> str:
    """One message as a JSON object on one line, for editors and scripts.

    Returns:
        An object with `code`, `severity`, `title`, `label`, `help`, `notes`, `span`, `labels` and
        `fixes`; lines count from one, columns from zero, both in characters.

    Raises:
        KeyError: a template names a fact the message does not have.

    Example:
        >>> from onnxwright.diagnostics.diagnostic import Diagnostic
        >>> render_json(Diagnostic())[:23]
        '{"code": "", "severity"'
    """
    return json.dumps(
        {
            "code": diagnostic.code,
            "severity": diagnostic.severity,
            "title": diagnostic.words(diagnostic.title),
            "label": diagnostic.optional_words(diagnostic.label),
            "help": diagnostic.optional_words(diagnostic.help),
            "notes": list(diagnostic.notes),
            "span": _span_json(diagnostic.span),
            "labels": [{"text": x.text, "span": _span_json(x.span)} for x in diagnostic.labels],
            "fixes": [
                {"title": fix.title, "span": _span_json(fix.span), "text": fix.text}
                for fix in fixes_of(diagnostic)
            ],
        },
        ensure_ascii=False,
    )


def _span_json(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "col": span.col,
        "end_line": span.end_line,
        "end_col": span.end_col,
    }


@dataclass(frozen=True, slots=True)
class _Paint:
    """Colours, or nothing."""

    on: bool
    strong: str

    def _with(self, code: str, text: str) -> str:
        return f"{code}{text}{_RESET}" if self.on and text else text

    def main(self, text: str) -> str:
        return self._with(self.strong, text)

    def frame(self, text: str) -> str:
        return self._with(_BLUE, text)

    def bold(self, text: str) -> str:
        return self._with(_BOLD, text)

    def sign(self, sign: str, text: str) -> str:
        return self._with(self.strong if sign == "^" else _BLUE, text)

    def footer(self, text: str) -> str:
        return self._with(_CYAN, text)


def _by_file(diagnostic: Message) -> list[tuple[str, str | None, list[_Mark]]]:
    """The marks of each file with the place its block is headed by; the primary file first.

    The file is None where a model names it and it is not read.
    """
    blocks: dict[tuple[str, bool], tuple[str, str | None, list[_Mark]]] = {}
    if diagnostic.span is not None:
        text = clean_lines(diagnostic.optional_words(diagnostic.label))
        marks = list(_marks(diagnostic.span, "^", text))
        blocks[_key(diagnostic.span)] = (diagnostic.span.place, _file(diagnostic.span), marks)
    for label in diagnostic.labels:
        blocks.setdefault(_key(label.span), (label.span.place, _file(label.span), []))
        marks = blocks[_key(label.span)][2]
        marks += _marks(label.span, "-", clean_lines(label.text))
    # Carets come before dashes under one line only where they start first.
    for _, _, marks in blocks.values():
        marks.sort(key=lambda m: (m.line, m.start, m.sign != "^"))
    return list(blocks.values())


def _key(span: Span) -> tuple[str, bool]:
    return span.file, isinstance(span, UnreadSpan)


def _file(span: Span) -> str | None:
    return None if isinstance(span, UnreadSpan) else span.file


def _line(file: str | None, line: int) -> str | None:
    return None if file is None else source_line(file, line)


def _marks(span: Span, sign: str, text: str) -> Iterator[_Mark]:
    """The underlines of a span, one a line; the label is beside the last."""
    lines = range(span.line, max(span.end_line, span.line) + 1)
    if len(lines) > SHOWN_WHOLE:
        shown = [lines[0], lines[-1]]
    else:
        shown = list(lines)
    for line in shown:
        source = _line(_file(span), line)
        if source is None and line != shown[-1]:
            continue
        source_text = source if source is not None else ""
        indent = len(source_text) - len(source_text.lstrip())
        if not source_text.strip() and line not in (lines[0], lines[-1]):
            continue
        start = span.col if line == lines[0] else indent
        stop = span.end_col if line == lines[-1] else len(source_text)
        yield _Mark(line, start, max(stop, start + 1), sign, text if line == shown[-1] else "")


def _snippet(file: str | None, marks: list[_Mark], width: int, paint: _Paint) -> Iterator[str]:
    """The source lines of one file with what is underlined in them."""
    if all(_line(file, mark.line) is None for mark in marks):
        yield from (f"{' ' * width} = {mark.text}" for mark in marks if mark.text)
        return
    gutter = paint.frame(" " * width + " |")
    yield gutter
    previous = None
    for mark in marks:
        source = _line(file, mark.line)
        if source is None:
            continue
        if mark.line != previous:
            yield f"{paint.frame(f'{mark.line:>{width}} |')} {_shown(source)}".rstrip()
        previous = mark.line
        before = _cells(source[: mark.start])
        marked = max(_cells(source[mark.start : mark.stop]), 1)
        under = mark.sign * marked + (f" {mark.text}" if mark.text else "")
        first, *rest = under.split("\n")
        yield f"{gutter} {' ' * before}{paint.sign(mark.sign, first)}"
        for line in rest:
            yield f"{gutter} {' ' * (before + marked + 1)}{paint.sign(mark.sign, line)}"


def _footer(kind: str, text: str, width: int, paint: _Paint) -> Iterator[str]:
    """A note or a help below the snippet; further lines are aligned with the first."""
    first, *rest = text.split("\n")
    yield f"{' ' * width} {paint.frame('=')} {paint.footer(kind + ':')} {first}"
    indent = " " * (width + len(kind) + 5)
    yield from (f"{indent}{line}".rstrip() for line in rest)


def _shown(text: str) -> str:
    """A source line as printed: tabs widened, control characters replaced."""
    return "".join(
        TAB if char == "\t" else "\N{REPLACEMENT CHARACTER}" if _is_control(char) else char
        for char in text
    )


def _cells(text: str) -> int:
    """How many terminal cells a piece of a source line takes."""
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if char == "\t":
        return len(TAB)
    if _is_control(char):
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc"
