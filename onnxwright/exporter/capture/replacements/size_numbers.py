"""Numbers that follow from sizes, computed as tensors of one number compute them.

A quotient of integers is kept as one, so that rounding it needs no floats.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

_T = torch.Tensor


@dataclass(frozen=True)
class Ratio:
    """A number of a float tensor that is a quotient of integers: rounded without floats.

    Fields:
        over: an integer or a symbolic one.
        under: an integer above 0.
    """

    over: Any
    under: int

    def value(self) -> Any:
        """As a float."""
        return torch.sym_float(self.over) if self.under == 1 else self.over / self.under


def ratio_of(number: Any) -> Ratio | None:
    """A number as a quotient of integers; None if it is not one."""
    if isinstance(number, Ratio):
        return number
    if is_integer(number):
        return Ratio(number, 1)
    return Ratio(int(number), 1) if isinstance(number, float) and number.is_integer() else None


def plain(number: Any) -> Any:
    """A number of Python, or a symbolic one."""
    return number.value() if isinstance(number, Ratio) else number


def _exact(name: str) -> Callable[[Any, Any], Any]:
    """`add`, `sub` or `mul`, of quotients exactly."""
    function = getattr(operator, name)

    def computed(a: Any, b: Any) -> Any:
        one, two = ratio_of(a), ratio_of(b)
        if (isinstance(a, Ratio) or isinstance(b, Ratio)) and one and two:
            if name == "mul":
                return Ratio(one.over * two.over, one.under * two.under)
            if one.under == two.under:
                return Ratio(function(one.over, two.over), one.under)
            over = function(one.over * two.under, two.over * one.under)
            return Ratio(over, one.under * two.under)
        return function(plain(a), plain(b))

    return computed


def _of_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*map(plain, args))


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    whole = is_integer(a) and is_integer(b)
    if whole and (rounding_mode == "floor" or (rounding_mode and _is_positive(a, b))):
        return a // b
    one, two = ratio_of(a), ratio_of(b)
    if rounding_mode is None and one and two and isinstance(two.over, int) and two.over > 0:
        return Ratio(one.over * two.under, one.under * two.over)
    quotient = operator.truediv(plain(a), plain(b))
    if rounding_mode is None:
        return quotient
    return math.floor(quotient) if rounding_mode == "floor" else torch.sym_int(quotient)


def _ceil(number: Any) -> Any:
    if isinstance(number, Ratio):
        return Ratio(-(-number.over // number.under), 1)
    return number if is_integer(number) else torch.sym_float(math.ceil(number))


def _floor(number: Any) -> Any:
    if isinstance(number, Ratio):
        return Ratio(number.over // number.under, 1)
    return number if is_integer(number) else torch.sym_float(math.floor(number))


def without_fraction(number: Any) -> Any:
    """A number rounded towards zero."""
    if isinstance(number, Ratio):
        if number.under == 1:
            return number.over
        if _is_positive(number.over, number.under):
            return number.over // number.under
    return torch.sym_int(plain(number))


def _is_positive(a: Any, b: Any) -> bool:
    """Whether a division of sizes has the same result however it is rounded down."""
    return bool(statically_known_true(a >= 0) and statically_known_true(b > 0))


def _reversed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(b, a)


def _truncated(number: Any) -> Any:
    return number if is_integer(number) else Ratio(without_fraction(number), 1)


# Functions of tensors -> the same of numbers, with the rest of the arguments as they are.
RULES: dict[Any, Callable[..., Any]] = {}
for _names, _function in (
    (("add", "__add__", "__radd__"), _exact("add")),
    (("sub", "__sub__"), _exact("sub")),
    (("__rsub__",), _reversed(_exact("sub"))),
    (("mul", "__mul__", "__rmul__", "multiply"), _exact("mul")),
    (("div", "true_divide", "divide", "__truediv__", "__div__"), _divided),
    (("__rtruediv__", "__rdiv__"), _reversed(_divided)),
    (("floor_divide", "__floordiv__"), _of_plain(operator.floordiv)),
    (("__rfloordiv__",), _of_plain(_reversed(operator.floordiv))),
    (("remainder", "__mod__"), _of_plain(operator.mod)),
    (("neg", "__neg__"), lambda a: _exact("mul")(a, -1)),
    (("maximum",), _of_plain(torch.sym_max)),
    (("minimum",), _of_plain(torch.sym_min)),
    (("lt", "less", "__lt__"), _of_plain(operator.lt)),
    (("le", "less_equal", "__le__"), _of_plain(operator.le)),
    (("gt", "greater", "__gt__"), _of_plain(operator.gt)),
    (("ge", "greater_equal", "__ge__"), _of_plain(operator.ge)),
    (("ceil",), _ceil),
    (("floor",), _floor),
    (("trunc", "fix"), _truncated),
    (("sqrt",), _of_plain(torch.sym_sqrt)),
    (("clone", "detach", "contiguous", "squeeze", "cpu"), lambda a: a),
    (("float", "double"), lambda a: ratio_of(a) or torch.sym_float(a)),
    (("long", "int"), without_fraction),
):
    # The same in place: `add_`, `+=`.
    _in_place = [f"__i{n[2:]}" if n.startswith("__") else f"{n}_" for n in _names]
    for _name in (*_names, *_in_place):
        for _home in (torch, _T):
            _found = getattr(_home, _name, None)
            if callable(_found):
                RULES[_found] = _function


def is_integer(number: Any) -> bool:
    """Whether a number is an integer or a symbolic one; truth values are not."""
    return isinstance(number, (int, torch.SymInt)) and not isinstance(number, bool)
