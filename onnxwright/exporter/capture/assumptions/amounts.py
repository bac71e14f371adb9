"""Amounts that follow from a condition on sizes, in the form that is 0 where it does not hold.

Where `n % 4 != 0`, `4 - n % 4` is `(-n) % 4`, which is 0 elsewhere.  Where `n < 8`, `8 - n` is
`max(0, 8 - n)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.proving import Prover
from onnxwright.exporter.torch_internals import FloorDiv, size_functions


def general(expression: Any, condition: Any, prover: Prover) -> Any:
    """The form of an amount that changes nothing where a condition does not hold.

    Args:
        expression: a sympy expression of torch's symbols.
        condition: what holds where the amount is used.
        prover: says whether both forms are equal there.

    Returns:
        The form; None where there is none that is known, or it is the expression itself.

    Example:
        >>> from torch.utils._sympy.functions import PythonMod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> general(4 - PythonMod(n, 4), sympy.Ne(PythonMod(n, 4), 0), Prover())
        PythonMod(-n, 4)
        >>> general(8 - n, n < 8, Prover())
        Max(0, 8 - n)
    """
    if not expression.free_symbols & condition.free_symbols:
        return None
    for found in (*_rounded(expression), *_limited(expression, condition)):
        if found != expression and prover.answer(sympy.Eq(found, expression)) is None:
            if prover.holds_where(sympy.Eq(found, expression), condition):
                return found
    return None


def _rounded(expression: Any) -> Iterator[Any]:
    """Sums in which `w - n % w` stands, or `n // w + 1`."""
    for part in expression.atoms(sympy.Function):
        if type(part).__name__ not in ("Mod", "PythonMod", "FloorDiv"):
            continue
        number, modulus = part.args
        if not modulus.is_Integer or modulus <= 1:
            continue
        whole = expression.expand()
        factor, constant = whole.coeff(part), whole.as_coeff_Add()[0]
        if not factor.is_Integer or factor == 0:
            continue
        if isinstance(part, FloorDiv) and constant >= factor > 0:
            # `(n // w + 1) * w`
            yield whole + factor * (FloorDiv(number + modulus - 1, modulus) - part - 1)
        elif not isinstance(part, FloorDiv) and factor < 0 and constant >= -factor * modulus:
            rest = size_functions.PythonMod(-number, modulus)
            yield whole - factor * (part - modulus + rest)


def _limited(expression: Any, condition: Any) -> Iterator[Any]:
    """A difference that is above 0 by the condition."""
    if isinstance(condition, sympy.core.relational.Relational):
        difference = condition.lhs - condition.rhs
        for amount in (difference, -difference):
            rest = sympy.expand(expression - amount)
            if rest.is_Integer and abs(rest) <= 1:
                yield size_functions.Max(0, expression)
