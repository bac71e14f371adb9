"""Conditions on sizes as functions of Python: sympy expressions compiled, and their values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.torch_internals import PythonPrinter


@functools.lru_cache(maxsize=4096)
def compiled(expression: Any, symbols: tuple[Any, ...]) -> Callable[..., Any] | None:
    """An expression as a function of its symbols; None where it has what Python does not.

    Args:
        expression: a sympy expression of torch's symbols.
        symbols: the parameters, in order.
    """
    try:
        names = {s: sympy.Symbol(f"_{n}", integer=True) for n, s in enumerate(symbols)}
        text = PythonPrinter().doprint(expression.xreplace(names))
        parameters = ", ".join(f"_{n}" for n in range(len(symbols)))
        function: Callable[..., Any] = eval(f"lambda {parameters}: {text}", dict(_NAMES))  # noqa: S307
    except Exception:  # noqa: BLE001 - sympy's printers raise what they like
        return None
    return function


class _Torch:
    """The functions of torch that printed expressions call, for numbers of Python."""

    sym_float, sym_int = staticmethod(float), staticmethod(int)
    sym_max, sym_min = staticmethod(max), staticmethod(min)
    _sym_sqrt = staticmethod(math.sqrt)

    @staticmethod
    def sym_ite(test: Any, one: Any, other: Any) -> Any:
        return one if test else other


_NAMES: Mapping[str, Any] = {
    "__builtins__": {
        "max": max,
        "min": min,
        "abs": abs,
        "float": float,
        "int": int,
        "round": round,
    },
    "math": math,
    "torch": _Torch,
}


def value_of(expression: Any, sizes: Mapping[str, int]) -> Any:
    """The value of an expression at sizes; None if it has none.

    Args:
        expression: a sympy expression of torch's symbols.
        sizes: by the names of the symbols.
    """
    symbols = tuple(sorted(expression.free_symbols, key=str))
    function = compiled(expression, symbols)
    if function is None or any(str(s) not in sizes for s in symbols):
        return None
    try:
        return function(*(sizes[str(s)] for s in symbols))
    except (ArithmeticError, ValueError, TypeError, NameError):
        return None
