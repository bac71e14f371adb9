"""Expressions put together from expressions, with brackets where Python needs them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from onnxwright.decompiler.layout import Expr, flatten

ATOM, POWER, UNARY, COMPARE = 100, 14, 13, 5
_BINDS = {"*": 12, "/": 12, "@": 12, "+": 11, "-": 11, "&": 9, "^": 8, "|": 7, "**": POWER}
_SIMPLE = re.compile(r"-?[A-Za-z_0-9.]+")


@dataclass(frozen=True)
class Piece:
    """An expression.

    Attributes:
        expr: its text, as a tree that can be laid out.
        binds: how tightly its outermost operator binds; a name or call is `ATOM`.
        depth: how many operators are nested in it.
    """

    expr: Expr
    binds: int = ATOM
    depth: int = 0

    @property
    def text(self) -> str:
        """The text on one line."""
        return flatten(self.expr)

    def inside(self, least: int) -> str:
        """Its text as an operand of something that binds as tightly as `least`."""
        return self.text if self.binds >= least else f"({self.text})"


def number_piece(text: str) -> Piece:
    """A number or list as it is written."""
    return Piece(text, UNARY if text.startswith("-") else ATOM)


def binary(symbol: str, left: Piece, right: Piece) -> Piece:
    """`left symbol right`.

    Example:
        >>> a, b = Piece("a"), Piece("b")
        >>> binary(
        ...     "*", binary("+", a, b), binary("**", binary("*", a, b), number_piece("-2.0"))
        ... ).text
        '(a + b) * (a * b) ** -2.0'
    """
    binds = _BINDS.get(symbol, COMPARE)
    if symbol == "**":
        first, second = left.inside(ATOM), right.inside(UNARY)
    elif binds == COMPARE:
        first, second = left.inside(COMPARE + 1), right.inside(COMPARE + 1)
    else:
        first, second = left.inside(binds), right.inside(binds + 1)
    tight = symbol == "**" and _SIMPLE.fullmatch(first) and _SIMPLE.fullmatch(second)
    space = "" if tight else " "
    return Piece(f"{first}{space}{symbol}{space}{second}", binds, 1 + max(left.depth, right.depth))


def unary(symbol: str, operand: Piece) -> Piece:
    """`-operand` or `~operand`."""
    inside = operand.inside(ATOM if operand.text.startswith(("-", "~")) else UNARY)
    return Piece(f"{symbol}{inside}", UNARY, 1 + operand.depth)


def subscript(base: Piece, index: str) -> Piece:
    """`base[index]`."""
    return Piece(f"{base.inside(ATOM)}[{index}]", ATOM, 1 + base.depth)
