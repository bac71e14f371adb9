"""Origins: the Python place that a node of a model says it comes from, and which of them are read.

Metadata of a model is untrusted and may name any file.  A line of a file is shown only where this
process wrote origins for the file itself (it compiled a function of it), or where the user names
the file (`sources=`).  For any other origin a message names the place and shows no line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from onnxwright.diagnostics.span import Span, source_line
from onnxwright.diagnostics.text import as_utf8, clean

Sources = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]], None]

_PLACE = re.compile(r"(.{1,4096}?):(\d{1,9}):(\d{1,9})(?:-(\d{1,9}):(\d{1,9}))?", re.DOTALL)
_FOLDER = re.compile(r"[/\\]")

# Name without folders -> path -> lines, of the files that origins were written for.
_compiled: dict[str, dict[str, set[int]]] = {}


@dataclass(frozen=True, slots=True, order=True)
class UnreadSpan(Span):
    """A place that a model names in a file that is not read; messages show it without the line."""


def origin_text(span: Span) -> str:
    """A place as written on nodes of models: `file:line:col`, the file without its folders.

    From now on this process shows lines of the file where a model names it.

    Args:
        span: a place in Python that is being compiled.

    Example:
        >>> origin_text(Span("/home/model.py", 12, 11, 12, 12))
        'model.py:12:12'
    """
    name = as_utf8(_base(span.file))
    _compiled.setdefault(name, {}).setdefault(span.file, set()).add(span.line)
    return f"{name}:{span.line}:{span.col + 1}"


def span_of_origin(text: str, sources: Sources = None) -> Span | None:
    """The place that a model names.

    Args:
        text: `file:line:col`, or with the end as `file:line:col-line:col`; columns count from one.
        sources: files, or folders of files, of which the user wants to see lines.

    Returns:
        A span in a file that may be read; an `UnreadSpan` where it may not; None where the text is
        not a place.

    Example:
        >>> span_of_origin("/etc/passwd:1:1").place, span_of_origin("nonsense")
        ('/etc/passwd:1:1', None)
        >>> line_of(span_of_origin("/etc/passwd:1:1"))
        ''
    """
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    line, col = int(match[2]), int(match[3]) - 1
    end = (line, col + 1) if match[4] is None else (int(match[4]), int(match[5]) - 1)
    if end[0] < line or end[0] > line + 10_000:
        end = (line, col + 1)
    file = _named(match[1], sources) or _known(match[1], line)
    if file is None:
        return UnreadSpan(clean(match[1]), line, max(col, 0), end[0], max(end[1], 0))
    return Span(file, line, max(col, 0), end[0], max(end[1], 0))


def line_of(span: Span | None) -> str:
    """The first line of a place without its indentation; empty where it is not read."""
    if span is None or isinstance(span, UnreadSpan):
        return ""
    return (source_line(span.file, span.line) or "").strip()


def _base(file: str) -> str:
    return _FOLDER.split(file)[-1]


def _known(name: str, line: int) -> str | None:
    """The file of this name that this process compiled from."""
    paths = _compiled.get(_base(name), {})
    if name in paths:
        return name
    if _FOLDER.search(name):
        return None
    exact = [path for path, lines in paths.items() if line in lines] or list(paths)
    return exact[0] if len(exact) == 1 else None


def _named(name: str, sources: Sources) -> str | None:
    """The file of this name among those that the user names."""
    if sources is None:
        return None
    folders = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    base = _base(name)
    for source in folders:
        path = Path(source)
        if path.is_dir() and base not in ("", ".", "..") and (path / base).is_file():
            return str(path / base)
        if path.name == base and path.is_file():
            return str(path)
    return None
