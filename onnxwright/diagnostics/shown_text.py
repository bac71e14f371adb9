"""Texts that are tables or lists, and objects whose text a notebook shows with its columns."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence


class ShownText:
    """A base class: a notebook shows `str()` of the object, in letters of one width.

    Example:
        >>> class Report(ShownText):
        ...     def __str__(self) -> str:
        ...         return "nodes 3 -> 2"
        >>> Report()._repr_html_()
        '<pre>nodes 3 -&gt; 2</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def text_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> str:
    """A table for the terminal.

    Args:
        head: the column titles.
        right: the columns that are aligned to the right.

    Example:
        >>> print(text_table(["name", "bytes"], [["w", "8"]], right=["bytes"]))
        name  bytes
        w         8
    """
    everything = [list(head), *map(list, rows)]
    widths = [max(len(row[n]) for row in everything) for n in range(len(head))]
    lines = []
    for row in everything:
        parts = [
            cell.rjust(width) if title in right else cell.ljust(width)
            for cell, width, title in zip(row, widths, head, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
