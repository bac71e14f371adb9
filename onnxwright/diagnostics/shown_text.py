"""`ShownText`: objects whose text is a table or a list, which a notebook shows with its columns."""

from __future__ import annotations

import html


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
