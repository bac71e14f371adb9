"""Texts of a model made fit to be shown: printable, on one line, not too long."""

from __future__ import annotations

_WIDE = 60  # characters of a text that are written out


def clean(text: str) -> str:
    r"""A text with whatever is not printable written as an escape.

    Terminal control sequences and direction marks in the names of a model stay harmless.

    Args:
        text: any text.

    Returns:
        One line of printable characters.

    Example:
        >>> clean("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def short(text: str, width: int = _WIDE) -> str:
    """A text cut to a width, three dots at its end where something is missing."""
    return text if len(text) <= width else text[: width - 3] + "..."


__all__ = ["clean", "short"]
