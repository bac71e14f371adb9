"""Messages of the optimizer: patterns, replacements and options (OW85x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, ScriptValueError


@dataclass(frozen=True, kw_only=True)
class NotAPattern(Diagnostic):
    """A function is not a pattern that can be looked for in a model."""

    code: ClassVar[str] = "OW850"
    title: ClassVar[str] = "the pattern of rule `{rule}` is not valid: {reason}"
    label: ClassVar[str] = "defined here"
    help: ClassVar[str] = (
        "a pattern calls standard operators on its parameters, `op.Mul(x, c)` or `x * c`, and "
        "returns what they compute"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    rule: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class TooManyOrders(Diagnostic):
    """A pattern has so many commutative operators that trying all orders would take too long."""

    code: ClassVar[str] = "OW851"
    title: ClassVar[str] = "the pattern of rule `{rule}` has {count} commutative operators"
    label: ClassVar[str] = "defined here"
    help: ClassVar[str] = (
        "each doubles the orders to try, and {most} is the most; split the rule in two, or give "
        "alternatives with `.also`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    rule: str
    count: int
    most: int


@dataclass(frozen=True, kw_only=True)
class BadReplacement(Diagnostic):
    """A rule has no replacement, or one that asks for what the pattern does not bind."""

    code: ClassVar[str] = "OW852"
    title: ClassVar[str] = "the replacement of rule `{rule}` is not valid: {reason}"
    label: ClassVar[str] = "defined here"
    help: ClassVar[str] = "a replacement takes `op` and parameters of the pattern: {known}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    rule: str
    reason: str
    known: str


@dataclass(frozen=True, kw_only=True)
class BadOptimizerOption(Diagnostic):
    """An argument of the optimizer is not one that it takes."""

    code: ClassVar[str] = "OW853"
    title: ClassVar[str] = "`{name}` of the optimizer cannot be {given}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "give {wanted}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    given: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class RuleNotUsed(Diagnostic):
    """A rule given to `rewrite` matches, and its replacement may not be used at any place."""

    code: ClassVar[str] = "OW888"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "rule `{rule}` matches and was not used: {reason}"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = (
        "a replacement has the element types, ranks and known dimensions of what it replaces, and "
        "no more nodes unless the rule has `grows=True`"
    )
    rule: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReplacementFailed(Diagnostic):
    """A replacement raised an error where its pattern was found."""

    code: ClassVar[str] = "OW854"
    title: ClassVar[str] = "the replacement of rule `{rule}` failed at `{node}`: {reason}"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = (
        "return None from the replacement where it does not apply; a parameter that an alternative "
        "of the pattern does not have is None"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    rule: str
    node: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class WrongResults(Diagnostic):
    """A replacement returns more or fewer values than its pattern has results."""

    code: ClassVar[str] = "OW855"
    title: ClassVar[str] = "the replacement of rule `{rule}` returns {given}, its pattern {wanted}"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "return as many values as the pattern returns, in the same order, or None"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    rule: str
    given: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class OptimizedModelDiffers(Diagnostic):
    """With `verify`, the optimized model computes something else than the one that was given."""

    code: ClassVar[str] = "OW859"
    title: ClassVar[str] = "the optimized model computes something else: {difference}"
    label: ClassVar[str] = "verified here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    difference: str
    advice: str


__all__ = [
    "BadOptimizerOption", "BadReplacement", "NotAPattern", "OptimizedModelDiffers",
    "ReplacementFailed", "RuleNotUsed", "TooManyOrders", "WrongResults",
]  # fmt: skip
