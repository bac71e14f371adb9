"""What PyTorch computed with sizes is not computed again.

An operator asks the same of the same sizes again and again: whether each is 1, and equal to each
other one, for its shape, its strides and its place among the operators that are known.  What comes
out follows from the operands and from what PyTorch knows of sizes now.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._export import non_strict_utils
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.sym_node import SymNode

from onnxwright.exporter.capture.assumptions.asking import sym_node_changed
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.number_forms import SIZES

_OPERATIONS = (
    "add", "sub", "mul", "mod", "floordiv", "int_floordiv", "sym_max", "sym_min",
    "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
# Of floats, 0.0 and -0.0 are equal.
_HINTS = (int, bool)


def sizes_remembered(changes: Changes) -> None:
    """Let PyTorch compute with the same sizes once.

    Args:
        changes: undo it.
    """
    remembered = _Known()
    for name in _OPERATIONS:
        if hasattr(SymNode, name):
            changes.later(sym_node_changed(name, remembered.computing(name)))


class _Known:
    """Operation and operands -> what comes out, as long as PyTorch knows the same of sizes."""

    def __init__(self) -> None:
        self.results: dict[Any, tuple[Any, type, Any, bool]] = {}
        self.env: Any = None
        self.version: int | None = None

    def computing(self, name: str) -> Callable[[Any, Any], Any]:
        """An operation that gives what is known."""
        own = getattr(SymNode, name)

        def compute(self_: Any, other: Any) -> Any:
            env = self_.shape_env
            if type(other) is not SymNode or env is None or env is not other.shape_env:
                return own(self_, other)
            one, two = self_._hint, other._hint
            if type(one) not in _HINTS or type(two) not in _HINTS or get_proxy_mode():
                return own(self_, other)
            if self.env is not env or self.version != env._version_counter:
                self.results.clear()
                self.env, self.version = env, env._version_counter
            key = name, self_._expr, other._expr, self_.pytype, other.pytype, one, two
            entry = self.results.get(key)
            if entry is None:
                node = own(self_, other)
                if _is_plain(node) and self.version == env._version_counter:
                    self.results[key] = (
                        node._expr, node.pytype, node._hint, node._optimized_summation
                    )  # fmt: skip
                return node
            expression, kind, hint, is_sum = entry
            return SymNode(expression, env, kind, hint, optimized_summation=is_sum)

        return compute


def _is_plain(node: Any) -> bool:
    """Whether a symbolic number is an expression with its value in the example, and no more."""
    if type(node) is not SymNode or node.constant is not None or node.fx_node:
        return False
    return type(node._hint) in _HINTS


# -- size nodes ------------------------------------------------------------------------------------
# Sizes as nodes of a trace: sums and products of more than two sizes, which PyTorch fails on.

_NAMES = ("_build_proxy_for_sym_expr", "_sympy_handlers", "_sym_register")


def sizes_in_pairs(changes: Changes, model: Any) -> None:
    """Torch computes a sum or product of several sizes two by two."""
    if not all(hasattr(proxy_tensor, name) for name in _NAMES):
        return  # a release of torch that does not compute sizes again
    module: Any = proxy_tensor
    build, handlers, register = (getattr(module, name) for name in _NAMES)

    def in_pairs(tracer: Any, expr: Any, out: Any = None) -> Any:
        several = isinstance(expr, (sympy.Add, sympy.Mul)) and len(expr.args) > 2
        if not several or tracer.sympy_expr_tracker.get(expr) is not None:
            return build(tracer, expr, out)
        args = [in_pairs(tracer, arg) for arg in expr.args]
        function = handlers().get(expr.func)
        if function is None or any(arg is None for arg in args):
            return None
        first = functools.reduce(function, args[:-1])
        if out is None:
            return function(first, args[-1])
        register(tracer, function, (first, args[-1]), out)
        return out

    changes.attribute(module, _NAMES[0], in_pairs)


# -- extremes --------------------------------------------------------------------------------------
# `min` and `max` of numbers that follow from dynamic sizes, as operators instead of decisions.
# torch.export does so for two integers. It compares floats and more than two numbers, and keeps
# what is the least for the example.  Where it makes a size that holds a maximum again, it writes a
# call of a function of its own, which its check of the program then does not allow.

_EXTREME, _REGISTER = "_tensor_min_max", "_sym_register"


def is_of_sizes(items: Sequence[Any]) -> bool:
    """Whether all items are numbers, and one at least follows from a dynamic size.

    Example:
        >>> is_of_sizes([1, 2.5])
        False
    """
    numbers = all(isinstance(x, (bool, int, float, *SIZES)) for x in items)
    return numbers and any(isinstance(x, SIZES) for x in items)


def extremes_symbolic(changes: Changes, model: Any) -> None:
    """`min` and `max` in a non-strict capture decide nothing by sizes."""
    before = getattr(non_strict_utils, _EXTREME, None)
    if before is None:
        return

    # It has the name of torch's, by which the user's line is found.
    def _tensor_min_max(*args: Any, real_callable: Any, tensor_callable: Any, **kwargs: Any) -> Any:
        items = args
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            items = tuple(args[0])
        if kwargs or len(items) < 2 or not is_of_sizes(items):
            return before(
                *args, real_callable=real_callable, tensor_callable=tensor_callable, **kwargs
            )
        two = torch.sym_max if tensor_callable is torch.maximum else torch.sym_min
        return functools.reduce(two, items)

    changes.attribute(non_strict_utils, _EXTREME, _tensor_min_max)


def extremes_of_two(changes: Changes, model: Any) -> None:
    """A size that holds a maximum or a minimum is made again of those of two."""
    before = getattr(proxy_tensor, _REGISTER, None)
    several = {
        getattr(proxy_tensor, "_nary_sym_max", None): torch.sym_max,
        getattr(proxy_tensor, "_nary_sym_min", None): torch.sym_min,
    }
    if before is None or None in several:
        return

    def register(tracer: Any, function: Any, args: Any, out: Any) -> Any:
        if function in several:
            function = several[function]
            args = (functools.reduce(function, args[:-1]), args[-1])
        return before(tracer, function, args, out)

    changes.attribute(proxy_tensor, _REGISTER, register)
