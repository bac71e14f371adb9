"""Messages of the optimizer: patterns, replacements and options (OW85x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptValueError


class NotAPattern(Diagnostic):
    """A function is not a pattern that can be looked for in a model."""

    code = "OW850"
    title = "the pattern of rule `{rule}` is not valid: {reason}"
    label = "defined here"
    help = (
        "a pattern calls standard operators on its parameters, `op.Mul(x, c)` or `x * c`, and "
        "returns what they compute"
    )
    error = ScriptValueError
    rule: str
    reason: str


class TooManyOrders(Diagnostic):
    """A pattern has so many commutative operators that trying all orders would take too long."""

    code = "OW851"
    title = "the pattern of rule `{rule}` has {count} commutative operators"
    label = "defined here"
    help = (
        "each doubles the orders to try, and {most} is the most; split the rule in two, or give "
        "alternatives with `.also`"
    )
    error = ScriptValueError
    rule: str
    count: int
    most: int


class BadReplacement(Diagnostic):
    """A rule has no replacement, or one that asks for what the pattern does not bind."""

    code = "OW852"
    title = "the replacement of rule `{rule}` is not valid: {reason}"
    label = "defined here"
    help = "a replacement takes `op` and parameters of the pattern: {parameters}"
    error = ScriptValueError
    rule: str
    reason: str
    parameters: str


class BadOptimizerOption(Diagnostic):
    """An argument of the optimizer is not one that it takes."""

    code = "OW853"
    title = "`{name}` of the optimizer cannot be {value}"
    label = "given here"
    help = "give {expected}\ndid you mean {suggestion}?"
    error = ScriptValueError
    name: str
    value: str
    expected: str
    suggestion: str | None = None


class RuleNotUsed(Diagnostic):
    """A rule that a caller gives may not be used: where it matches, or in this model at all."""

    code = "OW888"
    severity = "warning"
    title = "rule `{rule}` was not used: {reason}"
    label = "used here"
    help = (
        "a rule is for a level, a target, opset versions and assumptions; its replacement has the "
        "element types, ranks and known dimensions of what it replaces, and no more nodes unless "
        "the rule has `grows=True`"
    )
    rule: str
    reason: str


class ReplacementFailed(Diagnostic):
    """A replacement raised an error where its pattern was found."""

    code = "OW854"
    title = "the replacement of rule `{rule}` failed at `{node}`: {reason}"
    label = "used here"
    help = (
        "return None from the replacement where it does not apply; a parameter that an alternative "
        "of the pattern does not have is None"
    )
    error = ScriptValueError
    rule: str
    node: str
    reason: str


class WrongResults(Diagnostic):
    """A replacement returns more or fewer values than its pattern has results."""

    code = "OW855"
    title = "the replacement of rule `{rule}` returns {returned}, its pattern {expected}"
    label = "used here"
    help = "return as many values as the pattern returns, in the same order, or None"
    error = ScriptValueError
    rule: str
    returned: str
    expected: str


class OptimizedModelDiffers(Advised):
    """With `verify`, the optimized model computes something else than the one that was given."""

    code = "OW859"
    title = "the optimized model computes something else: {difference}"
    label = "verified here"
    error = ScriptValueError
    difference: str
