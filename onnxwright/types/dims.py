"""Arithmetic on dimensions: numbers, names, expressions of names such as `2*N + 1`, or None.

A dimension that is an expression is its canonical text: equal expressions are equal strings, and
ONNX takes them as `dim_param`.  Names denote numbers that are at least 0; a rule that would be
wrong for some such numbers is not applied.  Division is Python's, and nothing is promised of a
division by a name that turns out to be 0, since no model can do it either.  A text that is
not an expression (`seq-len`, `batch size`) is one name; in an expression it is quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from onnxwright.types import polynomials as poly
from onnxwright.types.shapes import Dim


def _poly(dim: int | str) -> poly.Poly:
    return poly.constant(dim) if isinstance(dim, int) else poly.read(dim)


@lru_cache(maxsize=8192)
def _dim(p: poly.Poly) -> int | str:
    number = poly.as_int(p)
    if number is not None:
        return number
    if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1 and p[0][0][0][1] == 1:
        atom = p[0][0][0][0]
        if atom.kind == "name":
            # A name alone needs no quotes, unless it would be read as something else then.
            name: str = atom.args[0]
            return name if poly.read(name) == p else atom.text
    return poly.show(p)


def _cached(function: Callable[..., poly.Poly]) -> Callable[..., Dim]:
    @lru_cache(maxsize=16384)
    def apply(*dims: int | str) -> Dim:
        try:
            return _dim(function(*map(_poly, dims)))
        except (poly.TooLargeError, ZeroDivisionError):
            return None

    return apply


_add = _cached(poly.add)
_sub = _cached(lambda a, b: poly.add(a, b, -1))
_mul = _cached(poly.mul)
_floordiv = _cached(poly.floordiv)
_mod = _cached(poly.mod)
_max = _cached(lambda *parts: poly.largest(parts))
_min = _cached(lambda *parts: poly.smallest(parts))


def add(a: Dim, b: Dim) -> Dim:
    """The sum of two dimensions.

    Args:
        a: a number, an expression, or None.

    Returns:
        The sum, None where one is unknown.

    Example:
        >>> add("N", 1), add("N", "N"), add(2, 3), add("N", None)
        ('N + 1', '2*N', 5, None)
    """
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a is None or b is None:
        return None
    return _add(a, b)


def sub(a: Dim, b: Dim) -> Dim:
    """The difference of two dimensions.

    Example:
        >>> sub("N", 1), sub("N", "N"), sub("N + M", "M")
        ('N - 1', 0, 'N')
    """
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if a is None or b is None:
        return None
    return _sub(a, b)


def neg(a: Dim) -> Dim:
    """Minus a dimension.

    Example:
        >>> neg("N"), neg("N - 1")
        ('-N', '1 - N')
    """
    return sub(0, a)


def mul(a: Dim, b: Dim) -> Dim:
    """The product of two dimensions; 0 times an unknown one is 0.

    Example:
        >>> mul("N", 2), mul("N", "M"), mul("N + 1", "N"), mul(0, None)
        ('2*N', 'M*N', 'N**2 + N', 0)
    """
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a is None or b is None:
        return 0 if a == 0 or b == 0 else None
    return _mul(a, b)


def floordiv(a: Dim, b: Dim) -> Dim:
    """The quotient of two dimensions, rounded down; None where the divisor is 0.

    Example:
        >>> floordiv("N", 2), floordiv("4*N + 2", 2), floordiv("M*N", "N"), floordiv(7, 0)
        ('N//2', '2*N + 1', 'M', None)
    """
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return _floordiv(a, b)


def ceildiv(a: Dim, b: Dim) -> Dim:
    """The quotient of two dimensions, rounded up.

    Example:
        >>> ceildiv("N", 2), ceildiv(7, 2), ceildiv("2*N", 2)
        ('(N + 1)//2', 4, 'N')
    """
    if isinstance(b, int) and b > 0:
        return floordiv(add(a, b - 1), b)
    return neg(floordiv(neg(a), b))


def mod(a: Dim, b: Dim) -> Dim:
    """The remainder of a division, with the sign of the divisor.

    Example:
        >>> mod("N", 2), mod("2*N + 3", 2), mod(7, 4)
        ('N % 2', 1, 3)
    """
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return _mod(a, b)


def maximum(*dims: Dim) -> Dim:
    """The largest of dimensions.

    Example:
        >>> maximum("N", 0), maximum("N", 1), maximum("N", "N + 2"), maximum(2, 3)
        ('N', 'max(1, N)', 'N + 2', 3)
    """
    return None if any(d is None for d in dims) else _max(*dims)


def minimum(*dims: Dim) -> Dim:
    """The smallest of dimensions.

    Example:
        >>> minimum("N", 0), minimum("N", "N + 2"), minimum("N", "M")
        (0, 'N', 'min(M, N)')
    """
    return None if any(d is None for d in dims) else _min(*dims)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dimensions, 1 for none.

    Example:
        >>> product(("N", 2, "M", 3)), product(()), product((None, 0))
        ('6*M*N', 1, 0)
    """
    total: Dim = 1
    unknown = False
    for dim in dims:
        if dim is None:
            unknown = True
        else:
            total = mul(total, dim)
    return total if not unknown or total == 0 else None


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of dimensions, 0 for none.

    Example:
        >>> total(("N", 2, "N"))
        '2*N + 2'
    """
    result: Dim = 0
    for dim in dims:
        result = add(result, dim)
    return result


def canonical(dim: Dim) -> Dim:
    """The dimension in its canonical form.

    Example:
        >>> canonical("1 + N*2"), canonical("seq-len"), canonical("4//2")
        ('2*N + 1', 'seq-len', 2)
    """
    return dim if dim is None or isinstance(dim, int) else _add(dim, 0)


def equal(a: Dim, b: Dim) -> bool | None:
    """Whether two dimensions are the same number, whatever the names are.

    Returns:
        True or False where that is sure, None where it depends.

    Example:
        >>> equal("N + 1", "1 + N"), equal("N", "N + 1"), equal("N", "M"), equal(None, 2)
        (True, False, None, None)
    """
    if a is None or b is None:
        return None
    if a == b:
        return True
    difference = sub(a, b)
    if isinstance(difference, int):
        return difference == 0
    return False if at_least(difference, 1) or at_least(neg(difference), 1) else None


def at_least(dim: Dim, number: int) -> bool:
    """Whether a dimension is surely at least `number`, names being at least 0.

    Example:
        >>> at_least("N + 1", 1), at_least("N", 1), at_least("N - 1", 0), at_least(3, 2)
        (True, False, False, True)
    """
    if isinstance(dim, int):
        return dim >= number
    return dim is not None and _at_least(dim, number)


@lru_cache(maxsize=8192)
def _at_least(dim: str, number: int) -> bool:
    try:
        return poly.not_negative(poly.add(poly.read(dim), poly.constant(number), -1))
    except poly.TooLargeError:
        return False


def names_in(dim: Dim) -> tuple[str, ...]:
    """The names in a dimension, sorted.

    Example:
        >>> names_in("2*N + max(M, 1)"), names_in(3), names_in("batch size")
        (('M', 'N'), (), ('batch size',))
    """
    return tuple(sorted(poly.names(poly.read(dim)))) if isinstance(dim, str) else ()


def evaluate(dim: Dim, values: Mapping[str, int]) -> int | None:
    """The number a dimension is where its names have values.

    Returns:
        The number; None where a name has none or something is divided by 0.

    Example:
        >>> evaluate("(N + 1)//2", {"N": 4}), evaluate("N", {})
        (2, None)
    """
    if dim is None or isinstance(dim, int):
        return dim
    try:
        return poly.evaluate(poly.read(dim), values)
    except (KeyError, ZeroDivisionError):
        return None


def substitute(dim: Dim, values: Mapping[str, int | str]) -> Dim:
    """A dimension with other dimensions in place of names.

    Example:
        >>> substitute("2*N + M", {"N": "K + 1"}), substitute("N", {"N": 3})
        ('2*K + M + 2', 3)
    """
    if dim is None or isinstance(dim, int):
        return dim
    try:
        return _dim(poly.substitute(poly.read(dim), {n: _poly(v) for n, v in values.items()}))
    except (poly.TooLargeError, ZeroDivisionError):
        return None
