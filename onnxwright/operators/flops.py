"""Estimated floating point operations: what a formula sees of a call, and the common formulas.

One multiplication or one addition counts as one; so a multiply-add counts as two (Golub and Van
Loan, Matrix Computations, section 1.1.15: a product of m-by-k and k-by-n takes 2mkn).  What an
operator computes is taken from the ONNX operator reference.  Operators that only move, select,
compare shapes or cast count as zero; comparisons, logic and integer arithmetic are counted like
floating point.  These are estimates of the work a straightforward implementation does, not of what
a runtime executes after fusing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Sizes: TypeAlias = tuple[int, ...]


class UnknownSizeError(Exception):
    """A shape that a formula needs is not known."""


class Sized(Protocol):
    """A call whose shapes are known: numbers, no names."""

    @property
    def inputs(self) -> int:
        """How many inputs there are."""

    def input(self, index: int) -> Sizes:
        """The shape of an input; UnknownSizeError where it is not known."""

    def output(self, index: int = 0) -> Sizes:
        """The shape of an output; UnknownSizeError where it is not known."""

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""


Cost: TypeAlias = Callable[[Sized], int]


def free(call: Sized) -> int:
    """Nothing is computed."""
    del call
    return 0


def per_output(cost: int) -> Cost:
    """The same number for each element of the result."""
    return lambda call: cost * math.prod(call.output())


def per_input(cost: int) -> Cost:
    """The same number for each element of the first input."""
    return lambda call: cost * math.prod(call.input(0))


def per_further_input(call: Sized) -> int:
    """One for each element of the result and each input after the first."""
    return math.prod(call.output()) * max(call.inputs - 1, 0)
