"""Texts of a model as it is shown: printable, on one line, not too long."""

from __future__ import annotations

from onnxwright.diagnostics.text import clean

_WIDE = 60  # characters of a text that are written out


def short(text: str, width: int = _WIDE) -> str:
    """A text cut to a width, three dots at its end where something is missing."""
    return text if len(text) <= width else text[: width - 3] + "..."


__all__ = ["clean", "short"]
