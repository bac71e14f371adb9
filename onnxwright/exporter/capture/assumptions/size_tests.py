"""Which tests are decisions by sizes: those that hold at some sizes of the inputs only."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import (
    ShapeEnv,
    free_unbacked_symbols,
    statically_known_true,
)

from onnxwright.exporter.capture.assumptions.asking import passed_over
from onnxwright.exporter.capture.assumptions.decisions import Decision, if_empty
from onnxwright.exporter.capture.control import functions
from onnxwright.exporter.capture.graphs.facts import forget_answers
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.torch_internals import ValueRanges, values_of_sizes


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


def empty_of(test: Any) -> Decision | None:
    """The decision that a size is not 0, on which a test depends; None for other tests."""
    session = current()
    if session is None or session.sizes is None or not session.sizes.may_join():
        return None
    return if_empty(test.node) if isinstance(test, torch.SymBool) else None


def as_test(value: Any) -> Any:
    """The truth value of a number that follows from sizes, also in a tensor; other tests as is."""
    session = current()
    if session is None:
        return value
    number = session.number_of(value) if isinstance(value, torch.Tensor) else value
    if number is None or (number is not value and free_unbacked_symbols(number)):
        return value
    is_size = isinstance(number, torch.SymInt) and not free_unbacked_symbols(number)
    return number != 0 if is_size else number


def has_sides(test: Any) -> bool:
    """Whether both sides of a test are run, as it is about sizes."""
    return is_open(test) or empty_of(test) is not None


def is_open(test: Any) -> bool:
    """Whether a test is about sizes, and holds at some of them only."""
    condition, session = condition_of(test), current()
    if condition is None or session is None or not session.sizes.may_join():
        return False
    if condition in (sympy.true, sympy.false):
        return False
    env = test.node.shape_env
    ranges = tuple((s, own_range(value_range)) for s, value_range in env.var_to_range.items())
    if env._maybe_evaluate_static(condition, var_to_range=ranges) is not None:
        return False
    return session.sizes.facts.verdict(condition) is None


def is_certain(test: Any) -> bool:
    """Whether a test holds at all sizes: torch takes them for 2 or more, and narrows ranges."""
    condition, session = _or_if_empty(test), current()
    if condition is None or session is None:
        return bool(statically_known_true(test))
    if empty_of(test) is not None:
        return bool(replace(session.sizes.facts, least=0).proves(condition))
    return bool(session.sizes.is_certain(condition, test.node.shape_env))


def is_certain_if_filled(test: Any) -> bool:
    """Whether a test holds at all sizes but 0, which the model refuses from now on."""
    return is_certain(test) or (empty_of(test) is not None and bool(test))


def supposing(test: Any) -> AbstractContextManager[Any]:
    """In this context, a test about sizes holds."""
    condition, session = _or_if_empty(test), current()
    if condition is None or session is None:
        return nullcontext()
    context: AbstractContextManager[Any] = session.sizes.supposing(condition)
    return context


def _or_if_empty(test: Any) -> Any:
    """As `condition_of`; of a test that torch answers as no size is 0 for it, that one is not 0."""
    decision = empty_of(test)
    if decision is None:
        return condition_of(test)
    return decision.expression if test.node.expr == sympy.true else sympy.Not(decision.expression)


def own_range(value_range: Any) -> Any:
    """The range of a size; torch's lower bound of 2 says nothing."""
    return ValueRanges(1, value_range.upper) if value_range.lower == 2 else value_range


# -- torch sizes -----------------------------------------------------------------------------------
# What torch knows of sizes while both sides of decisions run: asked of proofs, and put back.

_ORDERS = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)


class Known:
    """What torch knows of sizes of inputs, to be known again."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.count = len(env.guards)
        sizes = values_of_sizes(env)
        self.values = {str(s): v for s, v in sizes.items() if v.is_Integer}
        self.ranges = {s: r for s, r in env.var_to_range.items() if s in sizes}
        self.replaced = {s: r for s, r in env.replacements.items() if s in sizes}
        self.axioms = dict(getattr(env, "axioms", ()))
        self.divisible = dict.fromkeys(getattr(env, "divisible", ()))

    def guards(self) -> list[Any]:
        """The guards since."""
        return list(self.env.guards[self.count :])

    def restore(self) -> None:
        """Forget what was learned since."""
        env = self.env
        del env.guards[self.count :]
        replaced = False
        for symbol in values_of_sizes(env):
            if symbol in self.ranges:
                env.var_to_range[symbol] = self.ranges[symbol]
            if env.replacements.get(symbol) != self.replaced.get(symbol):
                replaced = True
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
        forget_answers(env, replaced=replaced)


@functools.lru_cache(maxsize=1 << 14)
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


def decide_sizes(sizes: Any, changes: Changes, _: Any) -> None:
    """Let torch make no guard of what holds at all sizes, and ask each side's sizes.

    Args:
        sizes: the `SizeDecisions` of the capture; None where decisions by sizes are torch's.
        changes: undo it.
    """
    if sizes is None:
        return
    evaluate, defer = ShapeEnv.evaluate_expr, ShapeEnv.guard_or_defer_runtime_assert

    def verdict_of(condition: Any) -> bool | None:
        if condition is sympy.true or condition is sympy.false or not _is_provable(condition):
            return None
        verdict: bool | None = sizes.facts.verdict(condition)
        return verdict

    def evaluate_expr(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        verdict = verdict_of(condition)
        if verdict is not None:
            return sympy.true if verdict else sympy.false
        return evaluate(self, condition, *args, **kwargs)

    def guard_or_defer(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if verdict_of(condition) is True:
            return True
        return defer(self, condition, *args, **kwargs)

    changes.attribute(ShapeEnv, "evaluate_expr", evaluate_expr)
    changes.attribute(ShapeEnv, "guard_or_defer_runtime_assert", guard_or_defer)
    changes.attribute(SymNode, "hint", property(sizes.hint))
    # `torch._check` is called by `functions`: the line of its guard is the user's.
    for file in (__file__, functions.__file__):
        changes.later(passed_over(file))
