"""Numbers on a side of a decision by sizes, in the form that changes nothing on the other side.

`if n % 4: x = pad(x, (0, 4 - n % 4))` is right at all sizes with `x = pad(x, (0, (-n) % 4))`: where
there is nothing to pad, it pads by 0.  On the side itself both forms are equal: that is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.asking import sym_node_changed
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.values.index_parts import axes_of
from onnxwright.exporter.torch_internals import (
    FloorDiv,
    pytree,
    size_functions,
    values_of_sizes,
)

# What Python computes sizes with.
_ARITHMETIC = ("add", "sub", "mul", "neg")
# What torch makes of `x[a:b]` with dynamic bounds in a capture.
_SLICES = (torch.ops.aten.slice, torch.ops.aten.slice.Tensor)


class Sides(Protocol):
    """The sides of decisions that run now."""

    path: list[Any]

    @property
    def facts(self) -> Facts:
        """What is known of the sizes of these sides."""
        ...


@contextmanager
def amounts_generalized(sides: Sides) -> Iterator[None]:
    """In this context, numbers that follow from sizes have their general form.

    Args:
        sides: whose conditions are supposed.
    """
    amounts = Amounts(sides)
    changes = Changes()
    for name in _ARITHMETIC:
        changes.later(sym_node_changed(name, amounts.computing(name)))
    try:
        yield
    finally:
        changes.undo()


class Amounts:
    """The general forms of numbers."""

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self.depth = 0

    def computing(self, name: str) -> Callable[..., Any]:
        """An operation of numbers that gives general forms."""
        own = getattr(SymNode, name)

        def compute(*operands: Any) -> Any:
            with self.inside():
                result = own(*operands)
            if self.depth or not isinstance(result, SymNode):
                return result
            general_form = self.general(result)
            return result if general_form is None else general_form

        return compute

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Numbers that are computed for others stay as they are."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def general(self, number: Any) -> Any:
        """A number in the form that is right at all sizes, as a node; None if it has it."""
        expression = number.expr
        if not getattr(expression, "free_symbols", None) or free_unbacked_symbols(expression):
            return None
        for condition in self.sides.path:
            general_form = general(expression, condition)
            if general_form is not None:
                with self.inside():
                    general_number = _as_number(general_form, number.shape_env)
                return getattr(general_number, "node", None)
        return None


class Arguments(CallHandler):
    """Functions of torch are given numbers in their general form.

    Args:
        amounts: the general forms.
    """

    functions = (torch.Tensor.__getitem__, torch.Tensor.__setitem__, *_SLICES)
    kinds = (torch.SymInt,)

    def __init__(self, amounts: Amounts) -> None:
        self.amounts = amounts

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of torch."""
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            index = self._index(args[0], args[1])
            return func(args[0], index, *args[2:], **kwargs)
        if func in _SLICES and len(args) >= 4 and not kwargs:
            part = self._slice(args[0], args[1], slice(*args[2:4]))
            return func(args[0], args[1], part.start, part.stop, *args[4:])
        if self.amounts.sides.path:
            args, kwargs = pytree.tree_map_only(torch.SymInt, self._number, (args, kwargs))
        return func(*args, **kwargs)

    def _number(self, number: Any) -> Any:
        general_form = self.amounts.general(number.node)
        return number if general_form is None else torch.SymInt(general_form)

    def _index(self, tensor: Any, index: Any) -> Any:
        parts = [
            part if axis is None or not isinstance(part, slice) else self._slice(tensor, axis, part)
            for axis, part in axes_of(tensor, index if isinstance(index, tuple) else (index,))
        ]
        return tuple(parts) if isinstance(index, tuple) else parts[0]

    def _slice(self, tensor: Any, axis: int, part: slice) -> slice:
        """A slice with bounds within the tensor, so that torch decides nothing by them."""
        part = slice(*map(_integer, (part.start, part.stop, part.step)))
        size = tensor.shape[axis]
        if not _is_number(size) or part.step not in (None, 1):
            return part
        start = self._bound(self._general(part.start), size)
        return slice(start, self._bound(self._general(part.stop), size), part.step)

    def _general(self, bound: Any) -> Any:
        return self._number(bound) if isinstance(bound, torch.SymInt) else bound

    def _bound(self, bound: Any, size: Any) -> Any:
        """A bound between 0 and the size; as it is where that is not known to be the same."""
        if not _is_number(bound):
            return bound
        of, length = _expression(bound), _expression(size)
        if not of.free_symbols and not length.free_symbols:
            return bound
        side_facts, always = self.amounts.sides.facts, Facts()
        with self.amounts.inside():
            if side_facts.proves(of >= 0):
                return bound if always.proves(of <= length) else torch.sym_min(bound, size)
            if side_facts.proves(of < 0):
                position = size + bound
                return position if always.proves(length + of >= 0) else torch.sym_max(position, 0)
        return bound


def _integer(bound: Any) -> Any:
    """A bound of a slice; the number of a tensor, which a decision may leave."""
    return bound.item() if isinstance(bound, torch.Tensor) else bound


def _is_number(value: Any) -> bool:
    """Whether a value is a number that follows from sizes, or one of Python."""
    if isinstance(value, torch.SymInt):
        return not free_unbacked_symbols(value)
    return type(value) is int


def _expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, torch.SymInt) else sympy.Integer(number)


def _as_number(expression: Any, environment: Any) -> Any:
    """An expression computed again by operations that torch records."""
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        hint = int(values_of_sizes(environment)[expression])
        return environment.create_symintnode(expression, hint=hint)
    operands = [_as_number(a, environment) for a in expression.args]
    name = type(expression).__name__
    if name == "Max":
        return _folded(torch.sym_max, operands)
    if name == "Min":
        return _folded(torch.sym_min, operands)
    if name in ("Mod", "PythonMod"):
        return operands[0] % operands[1]
    if isinstance(expression, FloorDiv):
        return operands[0] // operands[1]
    return _OPERATIONS[name](operands)


def _folded(function: Callable[[Any, Any], Any], operands: list[Any]) -> Any:
    accumulated = operands[0]
    for operand in operands[1:]:
        accumulated = function(accumulated, operand)
    return accumulated


_OPERATIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "Add": lambda operands: _folded(lambda a, b: a + b, operands),
    "Mul": lambda operands: _folded(lambda a, b: a * b, operands),
}


def general(expression: Any, condition: Any) -> Any:
    """The form of an amount that changes nothing where a condition does not hold.

    Where `n % 4 != 0`, `4 - n % 4` is `(-n) % 4`, which is 0 elsewhere; where `n < 8`, `8 - n` is
    `max(0, 8 - n)`.

    Args:
        expression: a sympy expression of torch's symbols.
        condition: what holds where the amount is used.

    Returns:
        The form; None where there is none that is known, or it is the expression itself.

    Example:
        >>> from torch.utils._sympy.functions import PythonMod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> general(4 - PythonMod(n, 4), sympy.Ne(PythonMod(n, 4), 0))
        PythonMod(-n, 4)
        >>> general(8 - n, n < 8)
        Max(0, 8 - n)
    """
    if not expression.free_symbols & condition.free_symbols:
        return None
    for candidate in (*_rounded(expression), *_limited(expression, condition)):
        if candidate != expression and Facts().verdict(sympy.Eq(candidate, expression)) is None:
            if Facts((condition,)).proves(sympy.Eq(candidate, expression)):
                return candidate
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
