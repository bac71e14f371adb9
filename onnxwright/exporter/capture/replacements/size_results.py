"""What PyTorch computed with sizes is not computed again.

An operator asks the same of the same sizes again and again: whether each is 1, and equal to each
other one, for its shape, its strides and its place among the operators that are known.  What comes
out follows from the operands and from what PyTorch knows of sizes now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.sym_node import SymNode

from onnxwright.exporter.capture.assumptions.asking import sym_node_changed
from onnxwright.exporter.capture.replacements.changes import Changes

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
    known = _Known()
    for name in _OPERATIONS:
        if hasattr(SymNode, name):
            changes.later(sym_node_changed(name, known.computing(name)))


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
            found = self.results.get(key)
            if found is None:
                made = own(self_, other)
                if _is_plain(made) and self.version == env._version_counter:
                    self.results[key] = (
                        made._expr, made.pytype, made._hint, made._optimized_summation
                    )  # fmt: skip
                return made
            expression, kind, hint, is_sum = found
            return SymNode(expression, env, kind, hint, optimized_summation=is_sum)

        return compute


def _is_plain(made: Any) -> bool:
    """Whether a symbolic number is an expression with its value in the example, and no more."""
    if type(made) is not SymNode or made.constant is not None or made.fx_node:
        return False
    return type(made._hint) in _HINTS
