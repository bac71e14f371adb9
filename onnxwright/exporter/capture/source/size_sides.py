"""Decisions by sizes in a capture by source: both sides run, each with sizes of its own.

A side runs with sizes at which it is taken, so that torch's operators see what they would see.
What torch asks there holds for this side only: it is proven of all its sizes, or recorded as
"on this side, that holds".
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols
from torch.utils._sympy.functions import Max, Min

from onnxwright.exporter.capture.assumptions.asking import passed_over
from onnxwright.exporter.capture.assumptions.fitting import fitting
from onnxwright.exporter.capture.assumptions.proving import Prover
from onnxwright.exporter.capture.assumptions.size_functions import value_of
from onnxwright.exporter.capture.assumptions.specialization import is_fixed_value
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.size_amounts import amounts_generalized
from onnxwright.exporter.places import is_of_user

_ORDERS = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)
# Decisions that stand in sides of others: each is traced for both sides of these.
_DEEPEST = 3


class FixedSizeError(RuntimeError):
    """A side of a decision makes a number of a size."""


class NoSizesError(RuntimeError):
    """No sizes are found at which a side of a decision is taken."""


# Numbers of the times that sizes of their own were given to a side.
_MOVES = itertools.count(1)


@dataclass(frozen=True)
class SizeDecision:
    """A decision by sizes that is exported for both of its sides.

    Fields:
        file, line: where the user's code decides.
        condition: of torch's symbols; it holds on the side that is exported for all sizes.
        both: whether both sides are in an If, as none of them is right at all sizes.
        sizes: sizes of both sides, by the names of torch's symbols.
    """

    file: str
    line: int
    condition: Any
    both: bool
    sizes: tuple[Mapping[str, int], ...]


@dataclass
class SizeDecisions:
    """Decisions by sizes of one capture.

    Fields:
        prover: knows what holds at all sizes.
        path: the conditions of the sides that run now.
        made: the decisions that are exported for both sides.
        guarded: the lines whose sides cannot be joined.
    """

    prover: Prover = field(default_factory=Prover)
    path: list[Any] = field(default_factory=list)
    made: list[SizeDecision] = field(default_factory=list)
    guarded: dict[tuple[str, int], str] = field(default_factory=dict)
    choosing: list[Any] = field(default_factory=list)
    _moved: int = 0
    _hints: dict[Any, Any] = field(default_factory=dict)

    def where(self) -> Any:
        """What holds on the sides that run now."""
        return sympy.And(*self.path)

    def known(self, condition: Any) -> bool | None:
        """Whether a condition holds at all sizes of the sides that run now."""
        found = self.prover.answer(condition)
        if found is None and self.path:
            if self.prover.holds_where(condition, self.where()):
                return True
            if self.prover.holds_where(sympy.Not(condition), self.where()):
                return False
        return found

    def may_join(self) -> bool:
        """Whether both sides of a decision here are run."""
        return len(self.path) < _DEEPEST

    def below(self, condition: Any) -> Any:
        """A condition that was asked now, as one of all sizes; None where it says nothing."""
        if self.known(condition) is True:
            return None
        return sympy.Or(sympy.Not(self.where()), condition) if self.path else condition

    def sizes_of(self, env: Any, condition: Any) -> dict[str, int] | None:
        """Sizes at which a condition holds, beside those around it; None if none are found."""
        now, ranges = {}, {}
        for symbol, value in env.backed_var_to_val.items():
            if value.is_Integer:
                now[str(symbol)] = int(value)
                known = env.var_to_range[symbol]
                high = int(known.upper) if known.upper.is_Integer else None
                ranges[str(symbol)] = max(int(known.lower), 2), high
        involved = condition.free_symbols
        # Guards by operators, about the layout of memory, do not limit the sizes.
        others = [
            g.expr for g in env.guards
            if g.expr.free_symbols & involved and not free_unbacked_symbols(g.expr)
            and is_of_user(str(getattr(g.sloc.framework_loc, "filename", "")))
        ]  # fmt: skip
        found = fitting([condition, *self.path, *others], now, ranges)
        if found is None:
            return None
        for symbol, other in env.replacements.items():
            if str(symbol) in now and (size := value_of(other, found)) is not None:
                found[str(symbol)] = int(size)
        return found

    @contextmanager
    def side(self, env: Any, condition: Any, sizes: Mapping[str, int]) -> Iterator[None]:
        """In this context, a side of a decision runs, with sizes of its own.

        Args:
            env: torch's environment of sizes.
            condition: what holds on the side.
            sizes: by the names of torch's symbols.

        Raises:
            FixedSizeError: the side made a number of a size.
        """
        state = _Known(env)
        self.path.append(condition)
        self._give(env, sizes)
        try:
            with amounts_generalized(self):
                yield
            self._check(state.guards())
        finally:
            state.restore()
            self._give(env, state.values)
            self.path.pop()

    @contextmanager
    def supposing(self, condition: Any) -> Iterator[None]:
        """In this context, a condition holds; it runs with the sizes around it.

        Args:
            condition: of torch's symbols.
        """
        self.path.append(condition)
        try:
            yield
        finally:
            self.path.pop()

    def _check(self, guards: list[Any]) -> None:
        """Refuse a side that made a number of a size: it is of one size only."""
        for guard in guards:
            if is_fixed_value(guard) and self.known(guard.expr) is not True:
                raise FixedSizeError(str(guard.expr))

    def _give(self, env: Any, sizes: Mapping[Any, Any]) -> None:
        self._moved = next(_MOVES)
        self._hints.clear()
        for symbol in env.backed_var_to_val:
            if str(symbol) in sizes:
                env.backed_var_to_val[symbol] = sympy.Integer(sizes[str(symbol)])
        _forget(env)

    def hint(self, node: Any) -> Any:
        """The value of a symbolic number at the sizes of the side that runs."""
        own = node._hint
        if not self._moved or own is None or not isinstance(own, (bool, int, float)):
            return own
        known = node.__dict__.get("_ow_hint")  # torch asks the same node again and again
        if known is None or known[0] != self._moved:
            known = node._ow_hint = self._moved, self._hint_of(node, own)
        return known[1]

    def _hint_of(self, node: Any, own: Any) -> Any:
        """The value of a symbolic number whose hint was `own` when it was made."""
        expression = node.expr
        key = expression, type(own)
        if key not in self._hints:
            values = node.shape_env.backed_var_to_val
            found = value_of(
                expression, {str(s): values[s] for s in expression.free_symbols if s in values}
            )
            if found is None:
                return own
            self._hints[key] = type(own)(found)
        return self._hints[key]

    def merged(self, one: Any, two: Any) -> Any:
        """The size that a tensor has on both sides of the decision that is made now.

        Args:
            one, two: the sizes on its sides.

        Returns:
            One of them, or the lesser or the larger of both, if that is proven; else None.
        """
        if not self.choosing:
            return None
        left, right = _expression(one), _expression(two)
        if free_unbacked_symbols(left) or free_unbacked_symbols(right):
            return None
        condition = self.choosing[-1]
        where = sympy.And(condition, *self.path), sympy.And(sympy.Not(condition), *self.path)

        def is_both(size: Any) -> bool:
            equal = sympy.Eq(size, left), sympy.Eq(size, right)
            return all(map(self.prover.holds_where, equal, where))

        if is_both(left):
            return one
        if is_both(right):
            return two
        for function, kind in ((torch.sym_min, Min), (torch.sym_max, Max)):
            if is_both(kind(left, right)):
                return function(one, two)
        return None


class SizeSides:
    """The sides of one decision by sizes.

    Args:
        sizes: those of the capture.
        env: torch's environment of sizes.
        condition: of torch's symbols.
    """

    def __init__(self, sizes: SizeDecisions, env: Any, condition: Any) -> None:
        self.sizes, self.env = sizes, env
        self.conditions = {True: condition, False: sympy.Not(condition)}
        self.at = {side: sizes.sizes_of(env, held) for side, held in self.conditions.items()}

    @classmethod
    def of(cls, test: Any) -> SizeSides | None:
        """Those of a test; None for one that is not about sizes, or is answered by torch."""
        if not is_open(test):
            return None
        session = current()
        assert session is not None
        condition = condition_of(test)
        return cls(session.sizes, test.node.shape_env, condition)

    @contextmanager
    def on(self, side: bool) -> Iterator[None]:
        """In this context, a side runs.

        Raises:
            NoSizesError: no sizes of this side are found.
        """
        found = self.at[side]
        if found is None:
            raise NoSizesError(str(self.conditions[side]))
        with self.sizes.side(self.env, self.conditions[side], found):
            yield

    @contextmanager
    def merging(self) -> Iterator[None]:
        """In this context, results of both sides are merged."""
        self.sizes.choosing.append(self.conditions[True])
        try:
            yield
        finally:
            self.sizes.choosing.pop()

    def proves_where(self, side: bool) -> Any:
        """What says whether a condition holds at all sizes of a side."""
        where = sympy.And(self.conditions[side], *self.sizes.path)
        return lambda condition: self.sizes.prover.holds_where(condition, where)

    def record(self, side: bool | None) -> None:
        """Remember the decision.

        Args:
            side: the one that is right at all sizes; None for both, in an If.
        """
        condition = self.conditions[side is not False]
        sizes = tuple(found for found in self.at.values() if found is not None)
        self.sizes.made.append(SizeDecision(*model_line(), condition, side is None, sizes))


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def condition_of(test: Any) -> Any:
    """A test as a condition on sizes of inputs alone; None for other tests.

    Args:
        test: a truth value or a number of Python, or a symbolic one.
    """
    session = current()
    if session is None or session.sizes is None:
        return None
    if not isinstance(test, (torch.SymBool, torch.SymInt)):
        return None
    expression = test.node.expr
    if not getattr(expression, "free_symbols", None) or free_unbacked_symbols(expression):
        return None
    return expression if isinstance(test, torch.SymBool) else sympy.Ne(expression, 0)


def is_open(test: Any) -> bool:
    """Whether a test is about sizes, and holds at some of them only."""
    condition, session = condition_of(test), current()
    if condition is None or session is None or not session.sizes.may_join():
        return False
    if condition in (sympy.true, sympy.false):
        return False
    if test.node.shape_env._maybe_evaluate_static(condition) is not None:
        return False
    return session.sizes.known(condition) is None


class _Known:
    """What torch knows of sizes of inputs, to be known again."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.count = len(env.guards)
        self.values = {str(s): v for s, v in env.backed_var_to_val.items() if v.is_Integer}
        self.ranges = {s: r for s, r in env.var_to_range.items() if s in env.backed_var_to_val}
        self.replaced = {s: r for s, r in env.replacements.items() if s in env.backed_var_to_val}
        self.axioms = dict(getattr(env, "axioms", ()))
        self.divisible = dict.fromkeys(getattr(env, "divisible", ()))

    def guards(self) -> list[Any]:
        """The guards since."""
        return list(self.env.guards[self.count :])

    def restore(self) -> None:
        """Forget what was learned since."""
        env = self.env
        del env.guards[self.count :]
        for symbol in env.backed_var_to_val:
            if symbol in self.ranges:
                env.var_to_range[symbol] = self.ranges[symbol]
            env.replacements.pop(symbol, None)
            if symbol in self.replaced:
                env.replacements[symbol] = self.replaced[symbol]
        if hasattr(env, "axioms"):
            env.axioms = {
                e: holds for e, holds in env.axioms.items()
                if e in self.axioms or free_unbacked_symbols(e)
            }  # fmt: skip
        if hasattr(env, "divisible"):
            kept = [d for d in env.divisible if d in self.divisible or free_unbacked_symbols(d)]
            env.divisible = type(env.divisible)(dict.fromkeys(kept))


def _forget(env: Any) -> None:
    """What torch remembers of answers is asked again."""
    env._replacements_version_counter += 1
    env._version_counter += 1
    for name in dir(type(env)):
        clear = getattr(getattr(type(env), name), "cache_clear", None)
        if clear is not None:
            clear()


@functools.lru_cache(maxsize=4096)
def _is_provable(condition: Any) -> bool:
    """Whether a condition is one of sizes for which a proof is tried."""
    # A symbol of sympy is a Boolean, too: torch asks for the number.
    if not isinstance(condition, sympy.logic.boolalg.Boolean) or condition.is_Symbol:
        return False
    symbols = condition.free_symbols
    if not symbols or free_unbacked_symbols(condition):
        return False
    # An order of two sizes is about the layout of memory, mostly: dear to prove, no limit of sizes.
    return not isinstance(condition, _ORDERS) or len(symbols) == 1


@contextmanager
def sizes_decided(sizes: SizeDecisions | None) -> Iterator[None]:
    """In this context, torch makes no guard of what holds at all sizes, and asks each side's sizes.

    Args:
        sizes: the decisions of the capture; None where decisions by sizes are torch's.
    """
    if sizes is None:
        yield
        return
    evaluate, defer = ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert
    hint = SymNode.hint

    def known(condition: Any) -> bool | None:
        return sizes.known(condition) if _is_provable(condition) else None

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
    SymNode.hint = property(sizes.hint)
    undo = passed_over(__file__)
    try:
        yield
    finally:
        undo()
        ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert = evaluate, defer
        SymNode.hint = hint
