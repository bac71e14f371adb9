"""Remainders of sizes as quotients where that is shorter: `n - n % 4` is `4 * (n // 4)`.

PyTorch keeps `n % 4` as it is written, and does not see that `n + (-n) % 4` is divisible by 4:
sizes of windows of a padded tensor become long quotients, with a guard for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental.sym_node import SymNode

from onnxwright.exporter.capture.assumptions.asking import sym_node_changed
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import FloorDiv

_ARITHMETIC = ("add", "sub", "mul", "neg", "floordiv", "int_floordiv")
_REMAINDERS = ("Mod", "PythonMod")


def remainders_divided(changes: Changes, model: Any) -> None:
    """Sums, products and quotients of sizes have quotients for remainders."""
    for name in _ARITHMETIC:
        if hasattr(SymNode, name):
            changes.later(sym_node_changed(name, _computing(name)))


def _computing(name: str) -> Callable[..., Any]:
    own = getattr(SymNode, name)

    def compute(*operands: Any) -> Any:
        result = own(*operands)
        if isinstance(result, SymNode) and not any(result is one for one in operands):
            expression = result._expr
            if isinstance(expression, sympy.Basic):
                simplified = without_remainders(expression)
                if simplified is not expression:
                    result._expr = simplified
                    result._optimized_summation = False
        return result

    return compute


@functools.lru_cache(maxsize=4096)
def without_remainders(expression: Any) -> Any:
    """An expression with remainders as quotients, if it is shorter so; itself if not.

    Example:
        >>> from torch.utils._sympy.functions import Mod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> without_remainders(n + 4 - Mod(n, 4)), without_remainders(4 - Mod(n, 4))
        (4*((n//4)) + 4, 4 - (Mod(n, 4)))
    """
    if not _has_remainder(expression):
        return expression
    expanded = sympy.expand(_divided(expression), deep=False)
    return expanded if _length(expanded) < _length(expression) else expression


def _has_remainder(expression: Any) -> bool:
    return any(type(part).__name__ in _REMAINDERS for part in sympy.preorder_traversal(expression))


def _divided(expression: Any) -> Any:
    """An expression in which `x % c` is `x - c * (x // c)`."""
    if not expression.args:
        return expression
    parts = [_divided(part) for part in expression.args]
    if type(expression).__name__ in _REMAINDERS and parts[1].is_Integer:
        value, divisor = parts
        return sympy.expand(value - divisor * FloorDiv(value, divisor), deep=False)
    if all(one is two for one, two in zip(parts, expression.args, strict=True)):
        return expression
    return expression.func(*parts)


def _length(expression: Any) -> int:
    return sum(1 for _ in sympy.preorder_traversal(expression))
