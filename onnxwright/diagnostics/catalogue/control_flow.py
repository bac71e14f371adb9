"""Messages about branches, loops and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptNameError,
    ScriptSyntaxError,
    ScriptTypeError,
    ScriptValueError,
    StaticSyntaxError,
    StaticTypeError,
)


@dataclass(frozen=True, kw_only=True)
class NotAssigned(Diagnostic):
    """A local name is read before it has any value."""

    code: ClassVar[str] = "OW301"
    title: ClassVar[str] = "`{name}` has no value yet"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class MayBeUnassigned(Diagnostic):
    """A name is read after an `if` or a loop that does not always give it a value."""

    code: ClassVar[str] = "OW302"
    title: ClassVar[str] = "`{name}` may have no value here"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class MissingReturn(Diagnostic):
    """Some path through a function ends without `return`."""

    code: ClassVar[str] = "OW303"
    title: ClassVar[str] = "not every path through `{name}` returns a value"
    label: ClassVar[str] = "{what}"
    help: ClassVar[str] = "end the function with a `return`"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    name: str
    what: str


@dataclass(frozen=True, kw_only=True)
class ReturnCount(Diagnostic):
    """A function returns more or fewer values than it says, or than its other `return`."""

    code: ClassVar[str] = "OW304"
    title: ClassVar[str] = "`{name}` returns {got}, where {wanted}"
    label: ClassVar[str] = "{got} returned here"
    help: ClassVar[str] = "return the same number of values everywhere, as the annotation says"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    got: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class BranchTypes(Diagnostic):
    """A name has values of different types after an `if`."""

    code: ClassVar[str] = "OW305"
    title: ClassVar[str] = "`{name}` is {then} in one branch of this `if` and {orelse} in the other"
    label: ClassVar[str] = "both branches must give it the same type"
    help: ClassVar[str] = "cast it in one branch, for example with `op.CastLike`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    then: str
    orelse: str


@dataclass(frozen=True, kw_only=True)
class LoopTypes(Diagnostic):
    """A name changes its type from one iteration of a loop to the next."""

    code: ClassVar[str] = "OW306"
    title: ClassVar[str] = "`{name}` is {before} before this loop and {after} after an iteration"
    label: ClassVar[str] = "a loop-carried value must keep its type"
    help: ClassVar[str] = "cast it before the loop or at the end of the body"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class NotIterable(Diagnostic):
    """A loop over something that cannot be iterated over."""

    code: ClassVar[str] = "OW307"
    title: ClassVar[str] = "cannot iterate over {what}"
    label: ClassVar[str] = "the iterable of this loop"
    help: ClassVar[str] = (
        "loop over `range(...)`, a tensor's first axis, `enumerate`, `zip` or a list"
    )
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class RaiseReached(Diagnostic):
    """A `raise` or a failing `assert` that compiling runs into."""

    code: ClassVar[str] = "OW308"
    title: ClassVar[str] = "{what}"
    label: ClassVar[str] = "reached when compiling"
    help: ClassVar[str] = "raised by the function while compiling"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str


@dataclass(frozen=True, kw_only=True)
class DynamicRaise(Diagnostic):
    """A `raise` that depends on a value known only at run time."""

    code: ClassVar[str] = "OW309"
    title: ClassVar[str] = "`{construct}` depends on a value known only when the model runs"
    label: ClassVar[str] = "an ONNX model cannot raise"
    help: ClassVar[str] = "decide on facts known when compiling, such as shapes and attributes"
    error: ClassVar[type[OnnxwrightError]] = StaticSyntaxError
    construct: str


@dataclass(frozen=True, kw_only=True)
class AssertIgnored(Diagnostic):
    """An `assert` on a run-time value is checked in eager mode and left out of the model."""

    code: ClassVar[str] = "OW310"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "this `assert` is not in the model"
    label: ClassVar[str] = "depends on a value known only when the model runs"
    help: ClassVar[str] = "it is checked in eager mode; assert on shapes or attributes instead"


@dataclass(frozen=True, kw_only=True)
class NotACondition(Diagnostic):
    """A condition that is not one truth value."""

    code: ClassVar[str] = "OW311"
    title: ClassVar[str] = "a condition needs one truth value, not {what}"
    label: ClassVar[str] = "used as a condition"
    help: ClassVar[str] = "reduce it first (`op.ReduceMax`, `x[0]`), or use `op.Where` elementwise"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class NotMergeable(Diagnostic):
    """A Python object cannot be chosen, or carried, while the model runs."""

    code: ClassVar[str] = "OW312"
    title: ClassVar[str] = "`{name}` would be {left} or {right}, decided when the model runs"
    label: ClassVar[str] = "decided here"
    help: ClassVar[str] = "only tensors and numbers can be chosen at run time"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    name: str
    left: str
    right: str


@dataclass(frozen=True, kw_only=True)
class EffectInRegion(Diagnostic):
    """A call changes a Python object inside a part of the function that the model decides about."""

    code: ClassVar[str] = "OW318"
    title: ClassVar[str] = "{how} changes {what} each time this runs, but compiling runs it once"
    label: ClassVar[str] = "changes a Python object"
    help: ClassVar[str] = (
        "change Python objects outside run-time branches and loops; inside, use tensors"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    how: str
    what: str


@dataclass(frozen=True, kw_only=True)
class NestedTooDeep(Diagnostic):
    """Branches and loops nested deeper than protobuf's readers follow, or expressions deeper than
    the compiler can.
    """

    code: ClassVar[str] = "OW319"
    title: ClassVar[str] = "{what} are nested more than {limit} deep"
    label: ClassVar[str] = "the innermost one"
    help: ClassVar[str] = (
        "give parts names of their own and compute them one after the other; `op.Where` chooses "
        "without a branch"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    limit: int


@dataclass(frozen=True, kw_only=True)
class ExitNeedsType(Diagnostic):
    """A `return` inside a loop needs the type of the result before the loop has run."""

    code: ClassVar[str] = "OW313"
    title: ClassVar[str] = "the type of this result must be known before the loop"
    label: ClassVar[str] = "set inside, read after"
    help: ClassVar[str] = "annotate the parameters, or give the value a start before the loop"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError


@dataclass(frozen=True, kw_only=True)
class ReturnType(Diagnostic):
    """A result is not of the type the function says it returns."""

    code: ClassVar[str] = "OW314"
    title: ClassVar[str] = "`{name}` returns {got}, but is annotated to return {wanted}"
    label: ClassVar[str] = "returned here"
    help: ClassVar[str] = "change the annotation, or cast the result"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    got: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class NothingReturned(Diagnostic):
    """A function returns something that is not a tensor."""

    code: ClassVar[str] = "OW315"
    title: ClassVar[str] = "`{name}` returns {what}, which is not a tensor"
    label: ClassVar[str] = "returned here"
    help: ClassVar[str] = "return tensors (or numbers), alone or in a tuple"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    what: str


@dataclass(frozen=True, kw_only=True)
class AnnotationMismatch(Diagnostic):
    """A variable is annotated with a type that its value does not have."""

    code: ClassVar[str] = "OW316"
    title: ClassVar[str] = "`{name}` is annotated {wanted}, but its value is {got}"
    label: ClassVar[str] = "this value is {got}"
    help: ClassVar[str] = "change the annotation, or cast the value"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    wanted: str
    got: str


@dataclass(frozen=True, kw_only=True)
class TooManyIterations(Diagnostic):
    """A loop that must be unrolled has too many iterations."""

    code: ClassVar[str] = "OW317"
    title: ClassVar[str] = "this loop would be unrolled {count} times"
    label: ClassVar[str] = "its variable is used where a number must be known when compiling"
    help: ClassVar[str] = "use the variable as a tensor, or loop at most {limit} times"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    count: int
    limit: int


@dataclass(frozen=True, kw_only=True)
class IdentityOfTensor(Diagnostic):
    """A tensor is compared by identity with a number, a string or `True`."""

    code: ClassVar[str] = "OW320"
    title: ClassVar[str] = "{what} is never the object `{constant}`"
    label: ClassVar[str] = "`is` compares objects, not values, and so does `case True:`"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    constant: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ListItemType(Diagnostic):
    """A list that the model makes longer has items of an unknown element type."""

    code: ClassVar[str] = "OW895"
    title: ClassVar[str] = "the element type of the items of `{name}` is not known"
    label: ClassVar[str] = "a list whose length the model decides is a sequence of one type"
    help: ClassVar[str] = (
        'annotate the parameters, as in `x: FLOAT["N", 3]`, or cast what is appended'
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str


@dataclass(frozen=True, kw_only=True)
class RunTimeListUse(Diagnostic):
    """Something is done with a list of run-time length that needs its length while compiling."""

    code: ClassVar[str] = "OW896"
    title: ClassVar[str] = "`{name}` {what}"
    label: ClassVar[str] = "a loop or branch of the model appended to this list"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    name: str
    what: str
    advice: str
