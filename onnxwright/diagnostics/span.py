"""Places in Python source: a `Span` of characters, and the lines it points into.

A span is data only.  Columns count characters (never UTF-8 bytes), from zero; lines count from
one, as in a traceback.  Text that exists in no file (a REPL entry, `exec`, a given `source=`) is
registered with `register_source`, so that a message can still show it.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of characters in a Python source file.

    Example:
        >>> Span("model.py", 12, 11, 12, 12).place
        'model.py:12:12'
    """

    file: str
    line: int
    col: int
    end_line: int
    end_col: int

    @property
    def place(self) -> str:
        """`file:line:col`, the column counted from one as editors do."""
        return f"{self.file}:{self.line}:{self.col + 1}"

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.file, self.line, self.col, other.end_line, other.end_col)


# Full names of the files of origins written in this process: models hold no folders.
_folders: dict[str, str] = {}


def origin_text(span: Span) -> str:
    """A place as written on nodes of models: `file:line:col`, the file without its folders.

    Example:
        >>> origin_text(Span("/home/model.py", 12, 11, 12, 12))
        'model.py:12:12'
    """
    name = span.file.replace("\\", "/").rsplit("/", 1)[-1]
    text = f"{name}:{span.line}:{span.col + 1}"
    _folders[text] = span.file
    return text


def file_of_origin(text: str) -> str | None:
    """The full file name of an origin, where it was written in this process."""
    return _folders.get(text)


def register_source(file: str, text: str) -> None:
    """Make `text` the lines that messages about `file` show (kept in `linecache`)."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def source_line(file: str, line: int) -> str | None:
    """One line of a source file without its newline, or None where it cannot be had."""
    text = linecache.getline(file, line)
    return text.rstrip("\r\n") if text else None
