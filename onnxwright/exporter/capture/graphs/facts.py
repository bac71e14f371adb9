"""What torch learns of sizes in a part of a program holds in this part only.

An assertion in a branch, or a view that needs a size to be some number, makes torch replace the
size by the number everywhere. Where the branch does not run, the size is another one.
"""

from __future__ import annotations

from typing import Any

from torch.fx.experimental.symbolic_shapes import SymT, symbol_is_type

from onnxwright.exporter.torch_internals import ValueRanges

# Torch takes sizes that are known at run time only for this at least, where it may.
_LEAST_SIZE = 2


class Facts:
    """What is known of the sizes that are known at run time only."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.ranges = {s: r for s, r in env.var_to_range.items() if _unbacked(s)}
        self.replaced = {s: env.replacements[s] for s in self.ranges if s in env.replacements}
        self.asserts = {
            s: len(runtime_asserts) for s, runtime_asserts in env.deferred_runtime_asserts.items()
        }
        self.sizes = set(env.size_like)
        self.axioms = dict(getattr(env, "axioms", ()))
        self.divisible = dict.fromkeys(getattr(env, "divisible", ()))

    def suppose(self, condition: Any) -> dict[Any, Any]:
        """Let torch know that a condition holds, until `restore`.

        Args:
            condition: a sympy expression of its symbols; one of sizes that are known at run time
                only is used, others are not.

        Returns:
            What sizes are by the condition: symbol -> sympy expression.
        """
        symbols = condition.free_symbols
        if not symbols or not all(map(_unbacked, symbols)):
            return {}
        env = self.env
        # Torch does not learn that a size is 0 or 1: it takes each for another number elsewhere.
        env.size_like -= symbols
        env.guard_or_defer_runtime_assert(condition, "a side of a decision")
        for symbol in self.sizes & symbols:
            if symbol not in env.replacements:
                value_range = env.var_to_range[symbol]
                if value_range.upper < _LEAST_SIZE:
                    env.var_to_range[symbol] = ValueRanges(value_range.lower, _LEAST_SIZE)
                env.size_like.add(symbol)
        return {s: r for s, r in env.replacements.items() if self.replaced.get(s) != r}

    def restore(self) -> None:
        """Forget what was learned of these sizes since; sizes made since keep theirs."""
        env = self.env
        changed = not self.sizes <= env.size_like
        env.size_like |= self.sizes
        if getattr(env, "axioms", None):
            # What assertions imply.
            env.axioms = {
                e: holds
                for e, holds in env.axioms.items()
                if e in self.axioms or not e.free_symbols & self.ranges.keys()
            }
        if hasattr(env, "divisible") and list(env.divisible) != list(self.divisible):
            env.divisible = type(env.divisible)(self.divisible)
            changed = True
        for symbol, value_range in self.ranges.items():
            if env.var_to_range.get(symbol) != value_range:
                env.var_to_range[symbol] = value_range
                changed = True
            if env.replacements.get(symbol) != self.replaced.get(symbol):
                env.replacements.pop(symbol, None)
                if symbol in self.replaced:
                    env.replacements[symbol] = self.replaced[symbol]
                changed = True
            asserts = env.deferred_runtime_asserts.get(symbol, [])
            added = len(asserts) - self.asserts.get(symbol, 0)
            if added > 0:
                del asserts[-added:]
                env.num_deferred_runtime_asserts -= added
                changed = True
        if changed:
            forget_answers(env)


def forget_answers(env: Any, *, replaced: bool = True) -> None:
    """What torch remembers of answers is asked again.

    Args:
        env: torch's environment of sizes.
        replaced: whether sizes are replaced by others than before: each number asks for it anew.
    """
    if hasattr(env, "_replacements_version_counter"):  # PyTorch 2.10 asks each time
        env._replacements_version_counter += replaced
    env._version_counter += 1
    for name in dir(type(env)):
        clear = getattr(getattr(type(env), name), "cache_clear", None)
        if clear is not None:
            clear()


def _unbacked(symbol: Any) -> bool:
    """Whether a size is known at run time only."""
    return bool(symbol_is_type(symbol, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)))
