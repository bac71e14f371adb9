"""Places in Python source: a `Span` of characters, and the lines it points into.

A span is data only.  Columns count characters (never UTF-8 bytes), from zero; lines count from
one, as in a traceback.  Text that exists in no file (a REPL entry, `exec`, a given `source=`) is
registered with `register_source`, so that a message can still show it.
"""

from __future__ import annotations

import linecache
import stat
from dataclasses import dataclass
from pathlib import Path

from onnxwright.diagnostics.notebook import shown_file

# Bytes of a source file from which on no line of it is shown.
_LARGEST = 16 << 20


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
        return f"{shown_file(self.file)}:{self.line}:{self.col + 1}"


def register_source(file: str, text: str) -> None:
    """Make `text` the lines that messages about `file` show (kept in `linecache`)."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def source_line(file: str, line: int) -> str | None:
    """One line of a source file without its newline, or None where it cannot be had.

    Only regular files of a sane size are opened: never a pipe or a device.
    """
    if file not in linecache.cache and not _is_readable(file):
        return None
    text = linecache.getline(file, line)
    return text.rstrip("\r\n") if text else None


def _is_readable(file: str) -> bool:
    try:
        facts = Path(file).stat()
    except (OSError, ValueError):
        return "\0" not in file  # `linecache` looks along `sys.path`, and in what `exec` registered
    return stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST
