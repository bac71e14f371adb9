"""Decisions by sizes in a capture by source: both sides run, each with sizes of its own.

A side runs with sizes at which it is taken, so that torch's operators see what they would see.
What torch asks there holds for this side only: it is proven of all its sizes, or recorded as
"on this side, that holds".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.decisions import (
    Decision,
    recorded_now,
)
from onnxwright.exporter.capture.assumptions.examples import at_size, fitting, value_of
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.joined_sides import SizeDecision
from onnxwright.exporter.capture.assumptions.size_tests import (
    Known,
    condition_of,
    empty_of,
    is_open,
    own_range,
)
from onnxwright.exporter.capture.assumptions.specialization import is_fixed_value
from onnxwright.exporter.capture.decisions.size_amounts import amounts_generalized
from onnxwright.exporter.capture.graphs.facts import forget_answers
from onnxwright.exporter.capture.graphs.regions import fake_mode
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.torch_internals import Max, Min, ValueRanges, values_of_sizes

# Decisions that stand in sides of others: each is traced for both sides of these.
_DEEPEST = 3


class FixedSizeError(RuntimeError):
    """A side of a decision makes a number of a size."""


class NoSizesError(RuntimeError):
    """No sizes are found at which a side of a decision is taken."""


# Numbers of the times that sizes of their own were given to a side.
_MOVES = itertools.count(1)


@dataclass
class SizeDecisions:
    """Decisions by sizes of one capture.

    Fields:
        path: the conditions of the sides that run now.
        joined: the decisions that are exported for both sides.
        guarded: the lines whose sides cannot be joined.
        choosing: the conditions of the sides whose results are merged.
        filled: the sizes that are not 0 on the sides that run now.
        empty: those that are 0.
    """

    path: list[Any] = field(default_factory=list)
    joined: list[SizeDecision] = field(default_factory=list)
    guarded: dict[tuple[str, int], str] = field(default_factory=dict)
    choosing: list[Any] = field(default_factory=list)
    filled: list[Any] = field(default_factory=list)
    empty: list[Any] = field(default_factory=list)
    _moved: int = 0
    _hints: dict[Any, Any] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """What is known of the sizes of the sides that run now."""
        return Facts(tuple(self.path))

    def is_certain(self, condition: Any, env: Any) -> bool:
        """Whether a condition holds at all sizes of these sides that the user's lines allow."""
        return self.facts.given(*_stated(env, condition)).proves(condition)

    def is_filled(self, symbol: Any) -> bool:
        """Whether a size is not 0 on the sides that run now.

        Raises:
            FixedSizeError: it is 0, and torch takes it for another number.
        """
        if symbol in self.empty:
            raise FixedSizeError(f"{symbol} is 0")
        return symbol in self.filled

    def may_join(self) -> bool:
        """Whether both sides of a decision here are run."""
        return len(self.path) < _DEEPEST

    def below(self, condition: Any) -> Any:
        """A condition that was asked now, as one of all sizes; None where it says nothing."""
        if self.facts.proves(condition):
            symbol = self._differs_at_zero(condition)
            return None if symbol is None else sympy.Ge(symbol, 1, evaluate=False)
        return sympy.Or(sympy.Not(sympy.And(*self.path)), condition) if self.path else condition

    def _differs_at_zero(self, condition: Any) -> Any:
        """The size that makes a condition false where it is 0, on a side that is taken for 0, too.

        Args:
            condition: of torch's symbols; it holds on the sides that run now.
        """
        for symbol in condition.free_symbols if self.path else ():
            is_taken = all(at_size(one, symbol, others=1) for one in self.path)
            if symbol not in self.filled and is_taken:
                if at_size(condition, symbol, others=1) is False:
                    return symbol
        return None

    def sizes_of(self, env: Any, condition: Any) -> dict[str, int] | None:
        """Sizes at which a condition holds, beside those around it; None if none are found."""
        now, ranges = {}, {}
        for symbol, value in values_of_sizes(env).items():
            if value.is_Integer:
                now[str(symbol)] = int(value)
                value_range = own_range(env.var_to_range[symbol])
                high = int(value_range.upper) if value_range.upper.is_Integer else None
                ranges[str(symbol)] = int(value_range.lower), high
        sizes = fitting([condition, *self.path, *_stated(env, condition)], now, ranges)
        if sizes is None:
            return None
        for symbol, other in env.replacements.items():
            if str(symbol) in now and (size := value_of(other, sizes)) is not None:
                sizes[str(symbol)] = int(size)
        return sizes

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
        state, mode = Known(env), fake_mode()
        remembers = mode.cache_enabled
        self.path.append(condition)
        try:
            self._give(env, sizes)
            if self._set_ones(env):
                mode.cache_enabled = False  # shapes of operators are others here
            with amounts_generalized(self):
                yield
            self._check(state.guards())
        finally:
            state.restore()
            self._give(env, state.values)
            self.path.pop()
            mode.cache_enabled = remembers

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
            if is_fixed_value(guard) and not self.facts.proves(guard.expr):
                raise FixedSizeError(str(guard.expr))

    def _give(self, env: Any, sizes: Mapping[Any, Any]) -> None:
        self._moved = next(_MOVES)
        self._hints.clear()
        for symbol in values_of_sizes(env):
            if str(symbol) in sizes:
                values_of_sizes(env)[symbol] = sympy.Integer(sizes[str(symbol)])
        forget_answers(env, replaced=False)

    def _set_ones(self, env: Any) -> bool:
        """Let torch know the sizes that are 1 on this side: it takes sizes for 2 or more.

        Returns:
            Whether there are some.
        """
        values = values_of_sizes(env).items()
        ones = [s for s, value in values if value == 1 and env.var_to_range[s].lower >= 2]
        for symbol in ones:
            if not self.facts.proves(sympy.Eq(symbol, 1)):
                raise NoSizesError(f"{symbol} is 1 or more")
            env.var_to_range[symbol] = ValueRanges(1, 1)
        forget_answers(env, replaced=False)
        return bool(ones)

    def hint(self, node: Any) -> Any:
        """The value of a symbolic number at the sizes of the side that runs."""
        own = node._hint
        if not self._moved or own is None or not isinstance(own, (bool, int, float)):
            return own
        cached_hint = node.__dict__.get("_ow_hint")  # torch asks the same node again and again
        if cached_hint is None or cached_hint[0] != self._moved:
            cached_hint = node._ow_hint = self._moved, self._hint_of(node, own)
        return cached_hint[1]

    def _hint_of(self, node: Any, own: Any) -> Any:
        """The value of a symbolic number whose hint was `own` when it was made."""
        expression = node.expr
        key = expression, type(own)
        if key not in self._hints:
            values = values_of_sizes(node.shape_env)
            hint = value_of(
                expression, {str(s): values[s] for s in expression.free_symbols if s in values}
            )
            if hint is None:
                return own
            self._hints[key] = type(own)(hint)
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
        if condition is None:
            return None
        then, orelse = self.facts.given(condition), self.facts.given(sympy.Not(condition))

        def is_both(size: Any) -> bool:
            return then.proves(sympy.Eq(size, left)) and orelse.proves(sympy.Eq(size, right))

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
        session = current()
        empty = empty_of(test)
        if empty is not None and session is not None:
            return EmptySides(session.sizes, test.node.shape_env, bool(test.node.expr), empty)
        if not is_open(test):
            return None
        assert session is not None
        condition = condition_of(test)
        return cls(session.sizes, test.node.shape_env, condition)

    @contextmanager
    def on(self, side: bool) -> Iterator[None]:
        """In this context, a side runs.

        Raises:
            NoSizesError: no sizes of this side are found.
        """
        side_sizes = self.at[side]
        if side_sizes is None:
            raise NoSizesError(str(self.conditions[side]))
        with self.sizes.side(self.env, self.conditions[side], side_sizes):
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
        return self.sizes.facts.given(self.conditions[side]).proves

    def record(self, side: bool | None) -> None:
        """Remember the decision.

        Args:
            side: the one that is right at all sizes; None for both, in an If.
        """
        condition = self.conditions[side is not False]
        sizes = tuple(side_sizes for side_sizes in self.at.values() if side_sizes is not None)
        self.sizes.joined.append(SizeDecision(*model_line(), condition, side is None, sizes))


class EmptySides(SizeSides):
    """The sides of a decision whether a size is 0; torch takes sizes for 1 or more.

    The side of 0 runs with the sizes around it, and may ask nothing of this size.

    Args:
        sizes, env: as above.
        answer: the condition where the size is not 0.
        decision: that it is not.
    """

    def __init__(self, sizes: SizeDecisions, env: Any, answer: bool, decision: Decision) -> None:
        self.sizes, self.env, self.answer, self.decision = sizes, env, answer, decision
        (self.symbol,) = decision.expression.free_symbols
        self.conditions = dict.fromkeys((True, False), decision.expression)
        now = {str(s): int(v) for s, v in values_of_sizes(env).items() if v.is_Integer}
        self.at = {answer: now, not answer: {**now, str(self.symbol): 0}}

    @contextmanager
    def on(self, side: bool) -> Iterator[None]:
        """In this context, a side runs."""
        symbols = self.sizes.filled if side is self.answer else self.sizes.empty
        count = len(self.env.guards)
        symbols.append(self.symbol)
        try:
            yield
            if side is not self.answer and any(map(is_fixed_value, self.env.guards[count:])):
                raise FixedSizeError(f"{self.symbol} is 0")
        finally:
            symbols.remove(self.symbol)

    @contextmanager
    def merging(self) -> Iterator[None]:
        """In this context, results of both sides are merged, each with sizes of its own."""
        self.sizes.choosing.append(None)
        try:
            yield
        finally:
            self.sizes.choosing.pop()

    def proves_where(self, side: bool) -> Any:
        """Nothing is proven of a size of 0."""
        return lambda condition: False

    def record(self, side: bool | None) -> None:
        """Remember the decision, in the place of that the size is not 0."""
        recorded = recorded_now()
        if recorded is not None:
            recorded.remove(self.decision)
        super().record(side)


def _stated(env: Any, condition: Any) -> list[Any]:
    """The guards about sizes of a condition that the user's lines made.

    Those by operators, about the layout of memory, do not limit the sizes.
    """
    return [
        g.expr for g in env.guards
        if g.expr.free_symbols & condition.free_symbols and not free_unbacked_symbols(g.expr)
        and is_of_user(str(getattr(g.sloc.framework_loc, "filename", "")))
    ]  # fmt: skip


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
