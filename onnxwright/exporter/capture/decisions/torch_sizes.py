"""What torch knows of sizes while both sides of decisions run: asked of proofs, and put back."""

from __future__ import annotations

import functools
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.asking import passed_over
from onnxwright.exporter.capture.control import functions
from onnxwright.exporter.capture.graphs.facts import forget_answers
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import values_of_sizes

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

    def known(condition: Any) -> bool | None:
        if condition is sympy.true or condition is sympy.false or not _is_provable(condition):
            return None
        found: bool | None = sizes.facts.verdict(condition)
        return found

    def evaluate_expr(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        found = known(condition)
        if found is not None:
            return sympy.true if found else sympy.false
        return evaluate(self, condition, *args, **kwargs)

    def guard_or_defer(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if known(condition) is True:
            return True
        return defer(self, condition, *args, **kwargs)

    changes.attribute(ShapeEnv, "evaluate_expr", evaluate_expr)
    changes.attribute(ShapeEnv, "guard_or_defer_runtime_assert", guard_or_defer)
    changes.attribute(SymNode, "hint", property(sizes.hint))
    # `torch._check` is called by `functions`: the line of its guard is the user's.
    for file in (__file__, functions.__file__):
        changes.later(passed_over(file))
