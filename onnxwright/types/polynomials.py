"""Dimensions as polynomials with integer coefficients: reading them, writing them, exact rules.

A polynomial is a sorted tuple of terms `(monomial, coefficient)`, a monomial a sorted tuple of
`(atom, power)`.  An atom is a name or a quotient, remainder, maximum or minimum of polynomials.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple


class Atom(NamedTuple):
    """What a polynomial does not look into: a name, or an operation on polynomials."""

    text: str  # as written in a sum; two atoms of one text are the same
    kind: str  # `name`, `//`, `%`, `max`, `min`
    args: tuple[Any, ...]  # the name, or polynomials


Monomial = tuple[tuple[Atom, int], ...]
Poly = tuple[tuple[Monomial, int], ...]

ZERO: Poly = ()
# Larger results are not worth having: the dimension becomes unknown.
MOST_TERMS = 24
MOST_TEXT = 240

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_QUOTED = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
_TOKENS = re.compile(
    rf"(?:[A-Za-z_]\w*(?!\w)|\d+(?!\w)|{_QUOTED}|//|\*\*|[+*%(), ]|-)*\Z", re.ASCII
)
# A minus without spaces is part of a name such as `seq-len`.
_HYPHEN = re.compile(r"\w-\w", re.ASCII)


class TooLargeError(ArithmeticError):
    """A result has too many terms to be worth having."""


# -- making ----------------------------------------------------------------------------------------


def constant(number: int) -> Poly:
    """A number."""
    return (((), number),) if number else ZERO


def of_atom(atom: Atom) -> Poly:
    """An atom alone."""
    return ((((atom, 1),), 1),)


def of_name(name: str) -> Poly:
    """A name alone, whatever characters it has."""
    plain = _IDENTIFIER.match(name) and not keyword.iskeyword(name)
    return of_atom(Atom(name if plain else repr(name), "name", (name,)))


def _collect(terms: Mapping[Monomial, int]) -> Poly:
    if len(terms) > MOST_TERMS:
        raise TooLargeError
    return tuple(sorted((m, c) for m, c in terms.items() if c))


def add(a: Poly, b: Poly, factor: int = 1) -> Poly:
    """`a + factor * b`."""
    terms = dict(a)
    for monomial, c in b:
        terms[monomial] = terms.get(monomial, 0) + factor * c
    return _collect(terms)


def mul(a: Poly, b: Poly) -> Poly:
    """`a * b`."""
    terms: dict[Monomial, int] = {}
    for left, c in a:
        for right, d in b:
            powers = dict(left)
            for atom, power in right:
                powers[atom] = powers.get(atom, 0) + power
            monomial = tuple(sorted(powers.items()))
            terms[monomial] = terms.get(monomial, 0) + c * d
    return _collect(terms)


def as_int(p: Poly) -> int | None:
    """The number a polynomial is, if it is one."""
    if not p:
        return 0
    return p[0][1] if len(p) == 1 and not p[0][0] else None


def split(p: Poly) -> tuple[Poly, int]:
    """A polynomial without its constant term, and that term."""
    if p and not p[0][0]:
        return p[1:], p[0][1]
    return p, 0


# -- what is known of signs ------------------------------------------------------------------------


def not_negative(p: Poly) -> bool:
    """Whether a polynomial is surely at least 0, names being at least 0."""
    return all(c >= 0 and all(n % 2 == 0 or _atom_sign(a) for a, n in m) for m, c in p)


def _atom_sign(atom: Atom) -> bool:
    if atom.kind == "name":
        return True
    if atom.kind == "%":
        return not_negative(atom.args[1])
    if atom.kind == "//":
        return not_negative(atom.args[0]) and not_negative(atom.args[1])
    return (any if atom.kind == "max" else all)(not_negative(a) for a in atom.args)


# -- division --------------------------------------------------------------------------------------


def _exact_quotient(a: Poly, b: Poly) -> Poly | None:
    """`q` with `a == q * b`, where long division finds one."""
    quotient, rest = ZERO, a
    lead, lead_c = max(b, key=_order)
    for _ in range(MOST_TERMS):
        if not rest:
            return quotient
        top, top_c = max(rest, key=_order)
        powers = dict(top)
        for atom, power in lead:
            powers[atom] = powers.get(atom, 0) - power
        if top_c % lead_c or min(powers.values(), default=0) < 0:
            return None
        monomial = tuple(sorted((atom, n) for atom, n in powers.items() if n))
        step: Poly = ((monomial, top_c // lead_c),)
        quotient, rest = add(quotient, step), add(rest, mul(step, b), -1)
    return None


def _order(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[str, int], ...]]:
    # By degree, then by names: a fixed choice of the leading term; the loop above is bounded.
    return sum(n for _, n in term[0]), tuple((a.text, n) for a, n in reversed(term[0]))


def floordiv(a: Poly, b: Poly) -> Poly:
    """`a // b`, towards minus infinity; where `b` is 0 there is no result to be wrong about."""
    if not b:
        raise ZeroDivisionError
    number = as_int(b)
    if number is not None:
        return _floordiv_number(a, number)
    exact = _exact_quotient(a, b)
    return exact if exact is not None else _operation("//", a, b)


def _floordiv_number(a: Poly, n: int) -> Poly:
    if n < 0:
        return _floordiv_number(mul(a, constant(-1)), -n)
    whole = _collect({m: c // n for m, c in a if c % n == 0 or not m})
    rest = _collect({m: (c % n if not m else c) for m, c in a if not m or c % n})
    variable, number = split(rest)
    if not variable:
        return whole
    common = math.gcd(n, *(c for _, c in variable))
    if common > 1:
        rest = add(_collect({m: c // common for m, c in variable}), constant(number // common))
        return add(whole, _floordiv_number(rest, n // common))
    if len(variable) == 1 and variable[0][1] == 1 and len(variable[0][0]) == 1:
        (atom, power) = variable[0][0][0]
        inner = as_int(atom.args[1]) if atom.kind == "//" else None
        if power == 1 and inner is not None and inner > 0:
            # A quotient of a quotient is one quotient, whatever is added in between.
            joined = add(atom.args[0], constant(number * inner))
            return add(whole, _floordiv_number(joined, inner * n))
    return add(whole, _operation("//", rest, constant(n)))


def mod(a: Poly, b: Poly) -> Poly:
    """`a % b` with the sign of `b`."""
    if not b:
        raise ZeroDivisionError
    number = as_int(b)
    if number is None:
        return ZERO if _exact_quotient(a, b) is not None else _operation("%", a, b)
    if number > 0:
        a = _collect({m: c % number for m, c in a})
        if as_int(a) is not None:
            return a
    return _operation("%", a, b)


def largest(parts: tuple[Poly, ...]) -> Poly:
    """The maximum of polynomials."""
    return _extreme("max", parts, 1)


def smallest(parts: tuple[Poly, ...]) -> Poly:
    """The minimum of polynomials."""
    return _extreme("min", parts, -1)


def _extreme(kind: str, parts: tuple[Poly, ...], sign: int) -> Poly:
    flat: list[Poly] = []
    for part in parts:
        inner = _only_atom(part)
        for p in inner.args if inner is not None and inner.kind == kind else (part,):
            if p not in flat:
                flat.append(p)
    kept = list(flat)
    for p in flat:
        others = [q for q in kept if q is not p]
        if len(kept) > 1 and any(
            not_negative(add(mul(q, constant(sign)), p, -sign)) for q in others
        ):
            kept = others
    if len(kept) == 1:
        return kept[0]
    return _operation(kind, *sorted(kept, key=show))


def _only_atom(p: Poly) -> Atom | None:
    if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1 and p[0][0][0][1] == 1:
        return p[0][0][0][0]
    return None


def _operation(kind: str, *args: Poly) -> Poly:
    if kind in ("max", "min"):
        text = f"{kind}({', '.join(map(show, args))})"
    else:
        sides = [_factor(p) for p in args]
        text = f"{sides[0]}//{sides[1]}" if kind == "//" else f"{sides[0]} % {sides[1]}"
    if len(text) > MOST_TEXT:
        raise TooLargeError
    return of_atom(Atom(text, kind, args))


# -- writing ---------------------------------------------------------------------------------------


def _factor(p: Poly) -> str:
    """A polynomial as an operand of an operator that binds tightly."""
    atom = _only_atom(p)
    if (atom is not None and atom.kind not in ("//", "%")) or (as_int(p) or 0) > 0:
        return show(p)
    return f"({show(p)})"


def _power(atom: Atom, power: int, alone: bool) -> str:
    text = atom.text if (alone and power == 1) or atom.kind not in ("//", "%") else f"({atom.text})"
    return text if power == 1 else f"{text}**{power}"


def _term(monomial: Monomial, c: int) -> str:
    if not monomial:
        return str(c)
    alone = len(monomial) == 1 and c == 1
    text = "*".join(_power(atom, power, alone) for atom, power in monomial)
    return text if c == 1 else f"{c}*{text}"


def show(p: Poly) -> str:
    """The canonical text of a polynomial."""
    if not p:
        return "0"
    terms = sorted(p, key=lambda t: (-sum(n for _, n in t[0]), [(a.text, -n) for a, n in t[0]]))
    first = next((n for n, t in enumerate(terms) if t[1] > 0), None)
    if first is None:
        terms.insert(0, ((), 0))
    else:
        terms.insert(0, terms.pop(first))
    text = _term(*terms[0]) if first is not None else ""
    for monomial, c in terms[1:]:
        if text:
            text += (" + " if c > 0 else " - ") + _term(monomial, abs(c))
        else:
            # A minus in front binds more tightly than a quotient.
            alone = c == -1 and monomial and monomial[0][0].kind in ("//", "%")
            text = f"-({_term(monomial, 1)})" if alone else f"-{_term(monomial, abs(c))}"
    if len(text) > MOST_TEXT:
        raise TooLargeError
    return text


# -- reading ---------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def read(text: str) -> Poly:
    """A dimension's text as a polynomial; what is not an expression is one name.

    `a-b` without spaces is a name with a hyphen, as people write them; so is everything with
    characters that no expression has.
    """
    if _IDENTIFIER.match(text):
        return of_name(text)
    if len(text) <= 2 * MOST_TEXT and text == text.strip() and _TOKENS.match(text):
        if _HYPHEN.search(re.sub(_QUOTED, "", text)):
            return of_name(text)
        try:
            return _read(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError):
            pass
    return of_name(text)


_CALLS = {"max": "max", "Max": "max", "min": "min", "Min": "min", "Mod": "%", "FloorDiv": "//"}


def _read(node: ast.expr) -> Poly:
    if isinstance(node, ast.Name):
        return of_name(node.id)
    if isinstance(node, ast.Constant):
        return _read_constant(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return mul(_read(node.operand), constant(-1))
    if isinstance(node, ast.BinOp):
        return _read_binary(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        kind = _CALLS.get(node.func.id)
        args = tuple(_read(a) for a in node.args)
        if kind in ("max", "min") and args:
            return (largest if kind == "max" else smallest)(args)
        if kind is not None and len(args) == 2:
            return (mod if kind == "%" else floordiv)(*args)
    raise ValueError


def _read_constant(value: object) -> Poly:
    if type(value) is int:
        return constant(value)
    if type(value) is str:
        return of_name(value)
    raise ValueError


def _read_binary(node: ast.BinOp) -> Poly:
    left, right = _read(node.left), _read(node.right)
    if isinstance(node.op, ast.Add):
        return add(left, right)
    if isinstance(node.op, ast.Sub):
        return add(left, right, -1)
    if isinstance(node.op, ast.Mult):
        return mul(left, right)
    if isinstance(node.op, ast.FloorDiv):
        return floordiv(left, right)
    if isinstance(node.op, ast.Mod):
        return mod(left, right)
    power = as_int(right) if isinstance(node.op, ast.Pow) else None
    if power is None or not 0 < power <= 8:
        raise ValueError
    result = left
    for _ in range(power - 1):
        result = mul(result, left)
    return result


def evaluate(p: Poly, values: Mapping[str, int]) -> int:
    """The number a polynomial is where names have values.

    Raises:
        KeyError: a name has no value.
        ZeroDivisionError: something is divided by 0.
    """
    total = 0
    for monomial, c in p:
        for atom, power in monomial:
            c *= _evaluate_atom(atom, values) ** power
        total += c
    return total


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if atom.kind == "name":
        return values[atom.args[0]]
    numbers = [evaluate(p, values) for p in atom.args]
    if atom.kind == "//":
        return numbers[0] // numbers[1]
    if atom.kind == "%":
        return numbers[0] % numbers[1]
    return max(numbers) if atom.kind == "max" else min(numbers)


def substitute(p: Poly, values: Mapping[str, Poly]) -> Poly:
    """A polynomial with polynomials in place of names."""
    total = ZERO
    for monomial, c in p:
        term = constant(c)
        for atom, power in monomial:
            inner = _substitute_atom(atom, values)
            for _ in range(power):
                term = mul(term, inner)
        total = add(total, term)
    return total


def _substitute_atom(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    if atom.kind == "name":
        return values.get(atom.args[0], of_atom(atom))
    args = tuple(substitute(p, values) for p in atom.args)
    if atom.kind == "//":
        return floordiv(*args)
    if atom.kind == "%":
        return mod(*args)
    return (largest if atom.kind == "max" else smallest)(args)


def names(p: Poly) -> dict[str, None]:
    """The names in a polynomial, in order of appearance."""
    variables: dict[str, None] = {}
    for monomial, _ in p:
        for atom, _ in monomial:
            if atom.kind == "name":
                variables[atom.args[0]] = None
            else:
                for inner in atom.args:
                    variables.update(names(inner))
    return variables
