"""Texts that a model can hold: half of a surrogate pair cannot be encoded as UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnxwright.diagnostics.catalogue.names import TextNotUnicode
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.text import clean

_LONGEST = 80


def check_text(text: str, what: str) -> None:
    """Refuse a text that no model can hold.

    Args:
        text: a name, a description, the value of an attribute.
        what: what it is, as the message starts.

    Raises:
        ScriptValueError: it has no UTF-8 form (OW627).

    Source:
        `string` fields of protobuf hold UTF-8.

    Example:
        >>> check_text("café", "the name")
    """
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        fail(TextNotUnicode(what=what, text=clean(text[:_LONGEST])))


@contextmanager
def unicode_checked(what: str = "the text") -> Iterator[None]:
    """Errors about a text without a UTF-8 form, of protobuf or of Python, as ours.

    Args:
        what: what is encoded inside, as the message starts.

    Raises:
        ScriptValueError: a text has no UTF-8 form (OW627).

    Example:
        >>> with unicode_checked():
        ...     _ = "name".encode()
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, UnicodeEncodeError):
            cause = cause.__cause__
        if cause is None:
            raise
        fail(TextNotUnicode(what=what, text=clean(cause.object[:_LONGEST])))
