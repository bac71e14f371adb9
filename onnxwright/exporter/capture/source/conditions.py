"""Conditions of PyTorch about sizes and numbers, in the names that the user's code has for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.printers import PythonPrinter

_SYMBOLS = (torch.SymInt, torch.SymFloat)
_Numbers = Mapping[sympy.Expr, str]


@dataclass(frozen=True)
class Condition:
    """A condition, or a number that PyTorch has to know.

    Fields:
        expression: it; its symbols are called as the user's expressions are.
        names: these expressions.
    """

    expression: sympy.Basic
    names: tuple[str, ...]

    @classmethod
    def of(cls, about: sympy.Basic, names: _Numbers) -> Condition | None:
        """A condition of PyTorch.

        Args:
            about: an expression of its symbols.
            names: what the user calls the numbers.

        Returns:
            The condition; None if a symbol in it has no name.
        """
        integer = {e: sympy.Symbol(n, integer=e.is_integer) for e, n in names.items()}
        made = about.xreplace(integer)
        known = {str(s) for s in integer.values()}
        found = sorted(str(s) for s in made.free_symbols)
        if not found or not known.issuperset(found):
            return None
        return cls(made, tuple(found))


def names_in(variables: Mapping[str, Any]) -> dict[sympy.Expr, str]:
    """The numbers that PyTorch does not know among variables.

    Args:
        variables: of a function.

    Returns:
        Expressions of its symbols -> what the user calls them: `n`, `x.shape[0]`.
    """
    found: dict[sympy.Expr, str] = {}
    for name, value in variables.items():
        if isinstance(value, _SYMBOLS) and not name.startswith("_"):
            _add(found, value, name)
    for name, value in variables.items():
        if isinstance(value, torch.Tensor) and not name.startswith("_"):
            for axis, size in enumerate(value.shape):
                _add(found, size, f"{name}.shape[{axis}]")
    return found


def _add(found: dict[sympy.Expr, str], number: Any, name: str) -> None:
    if isinstance(number, _SYMBOLS) and number.node.expr.free_symbols:
        found.setdefault(number.node.expr, name)


def conditions_of(condition: Condition, seen: Mapping[str, Sequence[Any]]) -> list[str]:
    """Conditions that settle another, as Python.

    Args:
        condition: what PyTorch has to know.
        seen: the values that the numbers have for the example inputs; those without any are not
            known.

    Returns:
        The conditions that hold for these, the most general first.

    Example:
        >>> n = sympy.Symbol("n", integer=True)
        >>> about = Condition(sympy.Eq(n, 1), ("n",))
        >>> conditions_of(about, {"n": [3]}), conditions_of(about, {"n": [1]})
        (['n >= 2', 'n != 1'], ['n == 1'])
        >>> conditions_of(Condition(n, ("n",)), {"n": [3]})
        ['n == 3']
    """
    symbols = {str(s): s for s in condition.expression.free_symbols}
    known = [name for name in seen if name in symbols]
    values = [
        {symbols[name]: value for name, value in zip(known, row)}
        for row in zip(*(seen[name] for name in known))
    ]
    return [text(c) for c in _settling(condition.expression, values) if _holds(c, values)]


def _settling(about: Any, values: Sequence[Mapping[sympy.Basic, Any]]) -> list[Any]:
    if isinstance(about, (sympy.Eq, sympy.Ne)):
        one, two = about.args
        ways = [sympy.Eq(one, two, evaluate=False), sympy.Ne(one, two, evaluate=False)]
        if isinstance(one, sympy.Symbol) and isinstance(two, sympy.Integer) and two >= 0:
            return [sympy.Ge(one, two + 1, evaluate=False), ways[0], ways[1]]
        return ways
    if isinstance(about, sympy.core.relational.Relational):
        return [about, about.negated]
    if isinstance(about, sympy.Expr) and values:
        # PyTorch wants a number: that of the example inputs, if there is one.
        known = {about.subs(row) for row in values}
        if len(known) == 1:
            number = known.pop()
            if number.is_Integer:
                return [sympy.Eq(about, number, evaluate=False)]
    return []


def _holds(condition: Any, values: Sequence[Mapping[sympy.Basic, Any]]) -> bool:
    """Whether a condition may hold for the example inputs."""
    return all(condition.subs(row) != sympy.false for row in values)


def text(condition: Any) -> str:
    """A comparison, as Python.

    Args:
        condition: of sympy.

    Example:
        >>> n, m = sympy.symbols("n m")
        >>> text(sympy.Lt(n - m, 0)), text(sympy.Eq(n, 2))
        ('n < m', 'n == 2')
    """
    left, right = condition.args
    difference = sympy.Add.make_args(left - right)
    less = [term for term in difference if term.could_extract_minus_sign()]
    more = [term for term in difference if not term.could_extract_minus_sign()]
    sides = [sympy.Add(*more), -sympy.Add(*less)]
    operator = condition.rel_op
    if not sides[0].free_symbols or (condition.rel_op in (">", ">=") and sides[1].free_symbols):
        sides.reverse()
        operator = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
    one, two = (PythonPrinter().doprint(side) for side in sides)
    return f"{one} {operator} {two}"
