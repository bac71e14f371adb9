"""A capture whose decisions by sizes are answered: one side is captured for all sizes.

`if n % 4: x = pad(x, (0, 4 - n % 4))` is right at all sizes with `x = pad(x, (0, (-n) % 4))`: where
there is nothing to pad, it pads by 0.  While such a side is captured, amounts like `4 - n % 4` go
on in the form that changes nothing where the condition does not hold.  Whether the side then is
right at all sizes is not known here: `covering` tries it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols
from torch.overrides import TorchFunctionMode

from onnxwright.exporter.capture.assumptions import amounts
from onnxwright.exporter.capture.assumptions.decisions import asking_line, sym_node_wrapped
from onnxwright.exporter.capture.assumptions.proving import Prover
from onnxwright.exporter.capture.one_side.foreseeing import Asked
from onnxwright.exporter.capture.one_side.sides import Lines, Place, lines_of
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.torch_internals import FloorDiv, pytree

# What Python computes sizes with.
_ARITHMETIC = ("add", "sub", "mul", "neg")


class OtherSideError(RuntimeError):
    """The sizes of a capture are those of the side that is not captured."""


@dataclass
class Steered:
    """A capture with answers.

    Fields:
        answers: what decisions are answered, by their lines; None for what holds at most sizes.
        prover: knows what holds at all sizes.
        asked: the conditions that hold on the sides that were taken, by their lines and answers.
        of_operators: the conditions that held for operators of torch, by the lines that call them.
        settled: the conditions, as they were asked, that need no guard.
        contrary: one that does not hold for the sizes of the capture; it ended there.
        trace: all that was asked in the user's lines, in order.
    """

    answers: Mapping[Place, bool | None]
    prover: Prover = field(default_factory=Prover)
    asked: dict[tuple[Place, bool], dict[Any, None]] = field(default_factory=dict)
    of_operators: dict[Place, dict[Any, None]] = field(default_factory=dict)
    settled: set[Any] = field(default_factory=set)
    contrary: Any = None
    trace: list[Asked] = field(default_factory=list)
    _depth: int = 0
    _sides: dict[tuple[Place, bool], Lines] = field(default_factory=dict)

    def conditions(self) -> list[Any]:
        """The conditions that hold on the sides that were taken."""
        every = (*self.asked.values(), *self.of_operators.values())
        return list(dict.fromkeys(c for found in every for c in found))

    @contextmanager
    def steering(self) -> Iterator[None]:
        """In this context, torch asks here before it decides by a size."""
        with ExitStack() as stack:
            stack.enter_context(sym_node_wrapped("guard_bool", self._guard_bool()))
            for name in _ARITHMETIC:
                stack.enter_context(sym_node_wrapped(name, self._computing(name)))
            stack.enter_context(_proven(self.prover))
            stack.enter_context(_Arguments(self))
            yield

    def _guard_bool(self) -> Callable[..., bool]:
        own = SymNode.guard_bool

        def guard_bool(node: Any, file: str, line: int) -> bool:
            condition = node.expr
            if is_of_sizes(condition):
                known = self.prover.answer(condition)
                if known is not None:
                    self.settled.add(node._expr if known else ~node._expr)
                    return known
                place = asking_line()
                if place is not None and place in self.answers:
                    return self._answered(place, condition, node.hint)
                if place is not None and file and node.hint is not None:
                    now = bool(node.hint)
                    self.settled.add(node._expr if now else ~node._expr)
                    return self._as_now(place, condition, now)
                found: bool = own(node, file, line)
                if place is not None and place[0]:
                    self.trace.append(Asked(condition, place, found))
                return found
            return bool(own(node, file, line))

        return guard_bool

    def _answered(self, place: Place, condition: Any, now: Any) -> bool:
        answer = self.answers[place]
        if answer is None:
            answer = self.prover.holds_mostly(condition)
        held = condition if answer else sympy.Not(condition)
        self.trace.append(Asked(condition, place, answer))
        self.asked.setdefault((place, answer), {}).setdefault(held)
        if now is not None and bool(now) != answer:
            self.contrary = held
            raise OtherSideError
        return answer

    def _as_now(self, place: Place, condition: Any, now: bool) -> bool:
        """The answer to an operator in C++, which mostly asks for the layout of memory."""
        held = condition if now else sympy.Not(condition)
        self.trace.append(Asked(condition, place, now, by_operator=True))
        self.of_operators.setdefault(place, {}).setdefault(held)
        return now

    def _computing(self, name: str) -> Callable[..., Any]:
        own = getattr(SymNode, name)

        def compute(*operands: Any) -> Any:
            with self._inside():
                result = own(*operands)
            if self._depth or not self.asked or not isinstance(result, SymNode):
                return result
            found = self.general(result)
            return result if found is None else found

        return compute

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Numbers that are computed for others stay as they are."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def general(self, number: Any) -> Any:
        """A number in the form that is right at all sizes, as a node; None if it has it."""
        expression = number.expr
        if not is_of_sizes(expression):
            return None
        for condition in self.supposed():
            found = amounts.general(expression, condition, self.prover)
            if found is not None:
                with self._inside():
                    made = _as_number(found, number.shape_env)
                return getattr(made, "node", None)
        return None

    def supposed(self) -> list[Any]:
        """The conditions of the sides that run now."""
        found: dict[Any, None] = {}
        frame: FrameType | None = sys._getframe(1)
        sides: dict[str, list[tuple[Lines, dict[Any, None]]]] = {}
        for place, conditions in self.asked.items():
            if is_of_user(place[0][0]):
                sides.setdefault(place[0][0], []).append((self._lines(place), conditions))
        while frame is not None:
            for lines, conditions in sides.get(frame.f_code.co_filename, ()):
                if any(a <= frame.f_lineno <= b for a, b in lines):
                    found.update(conditions)
            frame = frame.f_back
        return list(found)

    def _lines(self, side: tuple[Place, bool]) -> Lines:
        """The lines of a side; files are read once in a capture."""
        if side not in self._sides:
            self._sides[side] = lines_of(*side)
        return self._sides[side]


@functools.lru_cache(maxsize=1 << 14)
def is_of_sizes(expression: Any) -> bool:
    """Whether an expression follows from sizes of inputs alone."""
    if not getattr(expression, "free_symbols", None):
        return False
    return not free_unbacked_symbols(expression)


class _Arguments(TorchFunctionMode):  # type: ignore[misc]
    """In this context, functions of torch are given numbers in their general form."""

    def __init__(self, steered: Steered) -> None:
        super().__init__()
        self.steered = steered

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch."""
        kwargs = kwargs or {}
        if not self.steered.asked:
            return func(*args, **kwargs)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            index = self._index(args[0], args[1])
            return func(args[0], index, *args[2:], **kwargs)
        if func in _SLICES and len(args) >= 4 and not kwargs:
            part = self._slice(args[0], args[1], slice(*args[2:4]))
            return func(args[0], args[1], part.start, part.stop, *args[4:])
        if self.steered.supposed():
            args, kwargs = pytree.tree_map_only(torch.SymInt, self._number, (args, kwargs))
        return func(*args, **kwargs)

    def _number(self, number: Any) -> Any:
        found = self.steered.general(number.node)
        return number if found is None else torch.SymInt(found)

    def _index(self, tensor: Any, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        rest = next((n for n, p in enumerate(parts) if p is Ellipsis), len(parts))
        before = [p for p in parts[:rest] if p is not None]
        after = [p for p in parts[rest + 1 :] if p is not None]
        axes = iter([*range(len(before)), *range(tensor.dim() - len(after), tensor.dim())])
        made = []
        for part in parts:
            if part is not None and part is not Ellipsis:
                axis = next(axes)
                if isinstance(part, slice):
                    part = self._slice(tensor, axis, part)
            made.append(part)
        return tuple(made) if isinstance(index, tuple) else made[0]

    def _slice(self, tensor: Any, axis: int, part: slice) -> slice:
        """A slice with bounds within the tensor, so that torch decides nothing by them."""
        size = tensor.shape[axis]
        if not _is_number(size) or part.step not in (None, 1):
            return part
        supposed = bool(self.steered.supposed())
        start = self._bound(self._general(part.start), size, last=False)
        # `x[:-n]` leaves nothing of `x` where `n` is 0; here it leaves all.
        stop = self._bound(self._general(part.stop), size, last=supposed)
        return slice(start, stop, part.step)

    def _general(self, bound: Any) -> Any:
        return self._number(bound) if isinstance(bound, torch.SymInt) else bound

    def _bound(self, bound: Any, size: Any, *, last: bool) -> Any:
        """A bound between 0 and the size; as it is where that is not known to be the same."""
        if not _is_number(bound):
            return bound
        of, length = _expression(bound), _expression(size)
        if not of.free_symbols and not length.free_symbols:
            return bound
        known = self.steered.prover.answer
        with self.steered._inside():
            if known(of >= 0) is True and not (last and known(of <= 0) is True):
                return bound if known(of <= length) is True else torch.sym_min(bound, size)
            if known(of < 0) is True or (last and known(of <= 0) is True):
                found = size + bound
                return found if known(length + of >= 0) is True else torch.sym_max(found, 0)
        return bound


# What torch makes of `x[a:b]` with dynamic bounds in a capture.
_SLICES = (torch.ops.aten.slice, torch.ops.aten.slice.Tensor)


def _is_number(value: Any) -> bool:
    """Whether a value is a number that follows from sizes, or one of Python."""
    if isinstance(value, torch.SymInt):
        return not free_unbacked_symbols(value)
    return type(value) is int


def _expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, torch.SymInt) else sympy.Integer(number)


@contextmanager
def _proven(prover: Prover) -> Iterator[None]:
    """In this context, torch makes no guard of what holds at all sizes."""
    evaluate, defer = ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert

    def known(condition: Any) -> bool | None:
        if isinstance(condition, sympy.logic.boolalg.Boolean) and is_of_sizes(condition):
            return prover.answer(condition)
        return None

    def evaluate_expr(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        found = known(condition)
        if found is not None:
            return sympy.true if found else sympy.false
        return evaluate(self, condition, *args, **kwargs)

    def guard_or_defer(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if known(condition) is True:
            return True
        return defer(self, condition, *args, **kwargs)

    ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert = evaluate_expr, guard_or_defer
    try:
        yield
    finally:
        ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert = evaluate, defer


def _as_number(expression: Any, environment: Any) -> Any:
    """An expression computed again by operations that torch records."""
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        # Newer releases of torch have another name for it.
        hint_of = getattr(environment, "guarding_hint_or_throw", None) or environment.size_hint
        hint = int(hint_of(expression))
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
    found = operands[0]
    for operand in operands[1:]:
        found = function(found, operand)
    return found


_OPERATIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "Add": lambda operands: _folded(lambda a, b: a + b, operands),
    "Mul": lambda operands: _folded(lambda a, b: a * b, operands),
}
