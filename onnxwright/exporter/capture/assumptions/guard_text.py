"""Conditions on sizes as users write them: `past + seq <= total`, `w > 32`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.examples import first_size
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.torch_internals import PythonPrinter
from onnxwright.types import dims

_DIVISIONS = ("FloorDiv", "Mod", "PythonMod", "CleanDiv", "CeilToInt", "FloorToInt", "CeilDiv",
              "IntTrueDiv", "TruncToInt")  # fmt: skip


def guard_text(expression: Any, names: Mapping[str, str]) -> str:
    """A condition as Python, with the user's names.

    Args:
        expression: a sympy expression of torch's symbols.
        names: torch's symbol -> name.

    Returns:
        `n % 4 != 0`, for example.

    Example:
        >>> a, b = sympy.symbols("s1 s2", integer=True)
        >>> guard_text(sympy.Le(a - b - 3, 0, evaluate=False), {"s1": "past", "s2": "total"})
        'past <= total + 3'
    """
    interval = _as_interval(expression, names)
    return size_text(expression, names) if interval is None else interval


def size_text(expression: Any, names: Mapping[str, str]) -> str:
    """What is computed of sizes as Python, with the user's names.

    Args:
        expression: a sympy expression of torch's symbols.
        names: torch's symbol -> name.
    """
    words = str(_Printer().doprint(_without_minus(expression)))
    for symbol in sorted(map(str, expression.free_symbols), key=len, reverse=True):
        words = re.sub(rf"\b{re.escape(symbol)}\b", names.get(symbol, symbol), words)
    words = words.replace("torch.sym_float(", "float(").replace("torch._sym_sqrt(", "math.sqrt(")
    words = re.sub(r"(\.\d+?)0+\b", r"\1", words)  # sympy writes all digits of a float
    return re.sub(r"^\(([^()]*)\)(?= [<>=!]|$)", r"\1", words)


class _Printer(PythonPrinter):  # type: ignore[misc]
    """Sums with `-` for what is subtracted, numbers last."""

    def _print_Add(self, expr: Any, order: Any = None) -> str:  # noqa: N802 - named by sympy
        terms = [t for t in expr.args if not t.is_number] + [t for t in expr.args if t.is_number]
        plus = [t for t in terms if not t.could_extract_minus_sign()]
        minus = [t for t in terms if t.could_extract_minus_sign()]
        if not plus:
            return str(super()._print_Add(expr, order))
        words = " + ".join(self.parenthesize(t, 50) for t in plus)
        return words + "".join(f" - {self.parenthesize(-t, 50)}" for t in minus)


def _without_minus(expression: Any) -> Any:
    """A comparison in which what is subtracted stands on the other side."""
    if not isinstance(expression, sympy.core.relational.Relational):
        return expression
    left, right = expression.args
    if not any(_is_less(t) for side in (left, right) for t in sympy.Add.make_args(side)):
        return expression
    moved = [[], []]  # type: list[list[Any]]
    for n, side in enumerate((left, right)):
        for term in sympy.Add.make_args(side):
            if _is_less(term):
                moved[1 - n].append(-term)
            else:
                moved[n].append(term)
    sides = [sympy.Add(*terms) for terms in moved]
    if not sides[0].free_symbols and sides[1].free_symbols:
        return expression.reversed.func(*reversed(sides), evaluate=False)
    return expression.func(*sides, evaluate=False)


def _is_less(term: Any) -> bool:
    return bool(term != 0 and term.could_extract_minus_sign())


def _as_interval(expression: Any, names: Mapping[str, str]) -> str | None:
    """A range of one size, for a condition that divides it and is not written so by hand."""
    if isinstance(expression, sympy.core.relational.Relational):
        left, right = expression.args
        if right.is_number and _is_plain(left):
            return None
    bounds = divided_interval(expression)
    if bounds is None:
        return None
    (symbol,) = expression.free_symbols
    name = names.get(str(symbol), str(symbol))
    low, high = bounds
    if high is None:
        return f"{name} > {low - 1}"
    return f"{name} <= {high}" if low <= 1 else f"{low} <= {name} <= {high}"


def divided_interval(condition: Any) -> tuple[int, int | None] | None:
    """The sizes at which a condition that divides its one size holds, if they are neighbours.

    Args:
        condition: a sympy expression.

    Returns:
        The smallest and the largest size, which is None without an upper bound; None for others.

    Example:
        >>> from torch.utils._sympy.functions import FloorDiv
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> divided_interval(FloorDiv(n + 3, 8) > 5), divided_interval(sympy.Eq(FloorDiv(n, 8), 5))
        ((45, None), (40, 47))
    """
    parts = sympy.preorder_traversal(condition)
    if len(condition.free_symbols) != 1 or not any(type(p).__name__ in _DIVISIONS for p in parts):
        return None
    (symbol,) = condition.free_symbols
    low = first_size(condition, symbol)
    if low is None:
        return None
    above = first_size(sympy.Not(condition), symbol, low)
    interval = symbol >= low if above is None else sympy.And(symbol >= low, symbol < above)
    if not Facts((condition,)).proves(interval) or not Facts((interval,)).proves(condition):
        return None
    return low, None if above is None else above - 1


def _is_plain(side: Any) -> bool:
    """Whether a side is a quotient or a remainder of a size."""
    name = type(side).__name__
    return name in _DIVISIONS and all(a.is_Symbol or a.is_number for a in side.args)


def by_names(expression: Any, names: Mapping[str, str]) -> Any:
    """A condition in which sizes of one name are one, and `past + seq` is the sum of two.

    Args:
        expression: a sympy expression of torch's symbols.
        names: torch's symbol -> name; calls check that sizes of one name are equal, and that those
            with the name of a sum are that sum.

    Returns:
        The condition over names; `true` where they alone make it hold.

    Example:
        >>> a, b = sympy.symbols("s1 s2", integer=True)
        >>> by_names(sympy.Le(a, b), {"s1": "n", "s2": "n"})
        True
    """
    all_names = set(names.values())
    named_symbols = {
        s: _named(names.get(str(s), str(s)), all_names) for s in expression.free_symbols
    }
    return expression.xreplace(named_symbols)


def _named(name: str, all_names: set[str]) -> Any:
    """The symbol of a name, or the sum that it says."""
    parts = sum_of(name, all_names)
    if parts is None:
        return _symbol(name)
    terms = [factor * _symbol(part) for part, factor in parts[0].items()]
    return sympy.Add(*terms, sympy.Integer(parts[1]))


def _symbol(name: str) -> Any:
    return sympy.Symbol(name, integer=True, nonnegative=True)


def sum_of(name: str, all_names: set[str]) -> tuple[dict[str, int], int] | None:
    """What the name of a dimension says about others: `past + seq`, `2*n`.

    Args:
        name: the name.
        all_names: the names of all dimensions.

    Returns:
        The factor of each of them and the number that is added; None for a name by itself.

    Example:
        >>> sum_of("p+2*t", {"p", "t", "p+2*t"}), sum_of("seq-len", {"seq-len"})
        (({'p': 1, 't': 2}, 0), None)
    """
    parts = dims.names_in(name)
    if not parts or parts == (name,) or not set(parts) <= all_names:
        return None
    zero = dims.evaluate(name, dict.fromkeys(parts, 0))
    ones = [dims.evaluate(name, {p: int(p == one) for p in parts}) for one in parts]
    if zero is None or any(n is None for n in ones):
        return None
    factors = {p: n - zero for p, n in zip(parts, ones, strict=True) if n is not None}
    for start in (3, 7):
        values = {p: start + 5 * n * n for n, p in enumerate(parts)}
        if dims.evaluate(name, values) != zero + sum(f * values[p] for p, f in factors.items()):
            return None
    return factors, zero


def named_sums(sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that are named as sums of others, as these sums are.

    Args:
        sizes: by name.

    Example:
        >>> named_sums({"past": 5, "seq": 2, "past + seq": 6})
        {'past + seq': 7}
    """
    sums = [name for name in sizes if sum_of(name, set(sizes)) is not None]
    sum_sizes = {name: dims.evaluate(name, sizes) for name in sums}
    return {name: size for name, size in sum_sizes.items() if size is not None}
