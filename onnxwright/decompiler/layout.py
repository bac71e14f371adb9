"""Python expressions as a small tree that is laid out in lines of 100 columns.

Text from a model enters only through `text`, `data` and `number`, which quote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

WIDTH = 100


@dataclass(frozen=True)
class Group:
    """Something with brackets: a call, a list, a dict."""

    head: str
    items: tuple[Expr, ...]
    tail: str


@dataclass(frozen=True)
class Lines:
    """A literal in several lines, in brackets where it has a prefix."""

    whole: str
    parts: tuple[str, ...]
    front: str = ""


Expr = Union[str, Group, Lines]
_WORDS = 72


def call(function: str, *args: Expr, **keywords: Expr) -> Group:
    """`function(args, key=value)`."""
    named = [_keyword(key, value) for key, value in keywords.items()]
    return Group(f"{function}(", (*args, *named), ")")


def _keyword(key: str, value: Expr) -> Expr:
    return join(f"{key}=", value)


def join(front: str, value: Expr) -> Expr:
    """Text directly in front of an expression."""
    if isinstance(value, Group):
        return Group(front + value.head, value.items, value.tail)
    if isinstance(value, Lines):
        return Lines(value.whole, value.parts, front + value.front)
    return front + value


def listed(items: Iterable[Expr]) -> Group:
    """`[a, b]`."""
    return Group("[", tuple(items), "]")


def mapping(pairs: Iterable[tuple[str, Expr]]) -> Group:
    """`{"a": b}` from Python keys and values."""
    return Group("{", tuple(join(f"{text(key)}: ", value) for key, value in pairs), "}")


def text(value: str) -> str:
    """A string as a literal of ASCII characters only, in double quotes where that reads better."""
    literal = ascii(value)
    if literal.startswith("'") and '"' not in literal:
        return f'"{literal[1:-1]}"'
    return literal


def words(value: str) -> Expr:
    """A string of many words as a literal, in several lines where it is long."""
    if len(value) <= _WORDS:
        return text(value)
    lines: list[str] = []
    current = ""
    for word in value.split(" "):
        if current and len(current) + len(word) > _WORDS:
            lines.append(current + " ")
            current = word
        else:
            current = f"{current} {word}" if current else word
    return Lines(text(value), (*map(text, lines), text(current)))


def long_text(value: str) -> Expr:
    """Any string as a literal, in several lines where it is long and has blanks."""
    if len(value) <= _WORDS:
        return text(value)
    lines = [""]
    for token in re.findall(r"\s*[^\s]*\s?", value):
        if lines[-1] and (len(lines[-1]) + len(token) > _WORDS or lines[-1].endswith("\n")):
            lines.append("")
        lines[-1] += token
    parts = [line for line in lines if line]
    return Lines(text(value), tuple(map(text, parts))) if len(parts) > 1 else text(value)


def data(value: bytes) -> str:
    """Bytes as a literal."""
    return ascii(value)


def number(value: Any) -> str:
    """A number or flag as Python; infinities and NaN by numpy's names."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if value != value:  # noqa: PLR0124 - NaN
        return "np.nan"
    if value in (float("inf"), float("-inf")):
        return "np.inf" if value > 0 else "-np.inf"
    return short_float(value)


def short_float(value: Any) -> str:
    """The shortest number that becomes this one again in its own type."""
    own = isinstance(value, (np.float32, np.float16))
    return with_point(str(value) if own else repr(float(value)))


def with_point(literal: str) -> str:
    """The text of a float, with a decimal point: `1e-05` is `1.0e-05`."""
    mantissa, mark, exponent = literal.partition("e")
    if "." not in mantissa and "n" not in mantissa:
        mantissa += ".0"
    return mantissa + mark + exponent


def render(expr: Expr, column: int, indent: int = 0, width: int = WIDTH) -> str:
    """The expression's text; broken over lines where it is too long.

    Args:
        expr: the expression.
        column: where its first line begins.
        indent: how far its line is indented.
        width: the longest line.
    """
    if isinstance(expr, str):
        return expr
    if left_of(width - column, expr) >= 0:
        return flatten(expr)
    if isinstance(expr, Lines):
        return _several(expr, indent)
    if not expr.items:
        return flatten(expr)
    inner = indent + 4
    space = " " * inner
    numbers = [i for i in expr.items if type(i) is str and i[:1] in _NUMBER_STARTS]
    if expr.head.endswith("[") and len(numbers) == len(expr.items):
        lines = _filled(numbers, width - inner)
    else:
        lines = [render(item, inner, inner, width - 1) for item in expr.items]
    body = "".join(f"{space}{line},\n" for line in lines)
    return f"{expr.head}\n{body}{' ' * indent}{expr.tail}"


def _several(expr: Lines, indent: int) -> str:
    if not expr.front:
        return ("\n" + " " * indent).join(expr.parts)
    space = "\n" + " " * (indent + 4)
    return f"{expr.front}({space}{space.join(expr.parts)}\n{' ' * indent})"


def marked(statement: str) -> str:
    """A statement, with a word to formatters where lines hold several numbers each."""
    return f"{statement}  # fmt: skip" if _FILLED.search(statement) else statement


_FILLED = re.compile(r"^ +-?[0-9][^ \"'(){}=]*, -?[0-9][^\"'(){}=]*,$", re.MULTILINE)


_NUMBER_STARTS = frozenset("-0123456789")


def flatten(expr: Expr) -> str:
    """The expression on one line."""
    if isinstance(expr, str):
        return expr
    if isinstance(expr, Lines):
        return expr.front + expr.whole
    items = ", ".join([i if type(i) is str else flatten(i) for i in expr.items])
    return f"{expr.head}{items}{expr.tail}"


def left_of(room: int, expr: Expr) -> int:
    """The columns that are left beside an expression on one line.

    Args:
        room: how many columns there are.
        expr: the expression; it is read only as far as it fits.

    Returns:
        The number of columns; a negative number where the expression does not fit.

    Example:
        >>> left_of(10, call("f", "x", "y")), left_of(3, call("f", "x", "y")) < 0
        (3, True)
    """
    if isinstance(expr, str):
        return room - len(expr)
    if isinstance(expr, Lines):
        return room - len(expr.front) - len(expr.whole)
    room -= len(expr.head) + len(expr.tail) + 2 * max(len(expr.items) - 1, 0)
    for item in expr.items:
        if room < 0:
            break
        room = room - len(item) if type(item) is str else left_of(room, item)
    return room


def _filled(items: Sequence[str], width: int) -> list[str]:
    """Short items, as many on a line as fit."""
    lines: list[str] = []
    start = used = 0
    for n, item in enumerate(items):
        used += len(item) + 2
        if n > start and used - 1 > width:
            lines.append(", ".join(items[start:n]))
            start, used = n, len(item) + 2
    return [*lines, ", ".join(items[start:])]
