r"""Text of a model made safe to print: the one place where it becomes text of ours.

Names, doc strings and metadata of a model are untrusted.  An escape sequence in one of them moves
the cursor or changes the title of a terminal, a bidirectional mark reorders the line around it.
Both are written as escapes (`\x1b`, `\u202e`) here; everything that prints is left alone.
"""

from __future__ import annotations


def clean(text: str) -> str:
    r"""One line of printable characters.

    Args:
        text: any text of a model.

    Returns:
        The text, each character that is not printable (line ends, too) written as an escape.

    Example:
        >>> clean("a\x1b[31mb\n")
        'a\\x1b[31mb\\n'
        >>> clean("price \u202e001")
        'price \\u202e001'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def as_utf8(text: str) -> str:
    r"""Text that Python decoded with the encoding of the locale, decoded as UTF-8 instead.

    In the C locale, paths and arguments hold surrogates for the bytes beyond ASCII.  A model cannot
    hold these.

    Args:
        text: a path, or an argument of a command.

    Returns:
        The text; a byte that is not UTF-8 becomes a question mark in a diamond.

    Example:
        >>> as_utf8("caf\udcc3\udca9.py")
        'café.py'
    """
    if text.isascii():
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which stands for no byte
        raw = text.encode("utf-8", "replace")
    return raw.decode("utf-8", "replace")


def clean_lines(text: str) -> str:
    r"""Lines of printable characters: like `clean`, but line ends stay.

    Args:
        text: a text of several lines that holds texts of a model.

    Returns:
        The text; tabs are kept as well.

    Example:
        >>> clean_lines("a\x1b[2J\n\tb")
        'a\\x1b[2J\n\tb'
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" else clean(c) for c in text)
