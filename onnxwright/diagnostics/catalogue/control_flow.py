"""Messages about branches, loops and returns."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import (
    ScriptNameError,
    ScriptSyntaxError,
    ScriptTypeError,
    ScriptValueError,
    StaticSyntaxError,
    StaticTypeError,
)


class NotAssigned(Advised):
    """A local name is read before it has any value."""

    code = "OW301"
    title = "`{name}` has no value yet"
    label = "read here"
    error = ScriptNameError
    name: str


class MayBeUnassigned(Advised):
    """A name is read after an `if` or a loop that does not always give it a value."""

    code = "OW302"
    title = "`{name}` may have no value here"
    label = "read here"
    error = ScriptNameError
    name: str


class MissingReturn(Diagnostic):
    """Some path through a function ends without `return`."""

    code = "OW303"
    title = "not every path through `{name}` returns a value"
    label = "{what}"
    help = "end the function with a `return`"
    error = ScriptSyntaxError
    name: str
    what: str


class ReturnCount(Diagnostic):
    """A function returns more or fewer values than it says, or than its other `return`."""

    code = "OW304"
    title = "`{name}` returns {got}, where {expected}"
    label = "{got} returned here"
    help = "return the same number of values everywhere, as the annotation says"
    error = ScriptValueError
    name: str
    got: str
    expected: str


class BranchTypes(Diagnostic):
    """A name has values of different types after an `if`."""

    code = "OW305"
    title = "`{name}` is {then} in one branch of this `if` and {orelse} in the other"
    label = "both branches must give it the same type"
    help = "cast it in one branch, for example with `op.CastLike`"
    error = ScriptTypeError
    name: str
    then: str
    orelse: str


class LoopTypes(Diagnostic):
    """A name changes its type from one iteration of a loop to the next."""

    code = "OW306"
    title = "`{name}` is {before} before this loop and {after} after an iteration"
    label = "a loop-carried value must keep its type"
    help = "cast it before the loop or at the end of the body"
    error = StaticTypeError
    name: str
    before: str
    after: str


class NotIterable(Diagnostic):
    """A loop over something that cannot be iterated over."""

    code = "OW307"
    title = "cannot iterate over {what}"
    label = "the iterable of this loop"
    help = "loop over `range(...)`, a tensor's first axis, `enumerate`, `zip` or a list"
    error = StaticTypeError
    what: str


class RaiseReached(Diagnostic):
    """A `raise` or a failing `assert` that compiling runs into."""

    code = "OW308"
    title = "{what}"
    label = "reached when compiling"
    help = "raised by the function while compiling"
    error = ScriptValueError
    what: str


class DynamicRaise(Diagnostic):
    """A `raise` that depends on a value known only at run time."""

    code = "OW309"
    title = "`{construct}` depends on a value known only when the model runs"
    label = "an ONNX model cannot raise"
    help = "decide on facts known when compiling, such as shapes and attributes"
    error = StaticSyntaxError
    construct: str


class AssertIgnored(Diagnostic):
    """An `assert` on a run-time value is checked in eager mode and left out of the model."""

    code = "OW310"
    severity = "warning"
    title = "this `assert` is not in the model"
    label = "depends on a value known only when the model runs"
    help = "it is checked in eager mode; assert on shapes or attributes instead"


class NotACondition(Diagnostic):
    """A condition that is not one truth value."""

    code = "OW311"
    title = "a condition needs one truth value, not {what}"
    label = "used as a condition"
    help = "reduce it first (`op.ReduceMax`, `x[0]`), or use `op.Where` elementwise"
    error = ScriptTypeError
    what: str


class NotMergeable(Diagnostic):
    """A Python object cannot be chosen, or carried, while the model runs."""

    code = "OW312"
    title = "`{name}` would be {left} or {right}, decided when the model runs"
    label = "decided here"
    help = "only tensors and numbers can be chosen at run time"
    error = StaticTypeError
    name: str
    left: str
    right: str


class EffectInRegion(Diagnostic):
    """A call changes a Python object inside a part of the function that the model decides about."""

    code = "OW318"
    title = "{how} changes {what} each time this runs, but compiling runs it once"
    label = "changes a Python object"
    help = "change Python objects outside run-time branches and loops; inside, use tensors"
    error = ScriptValueError
    how: str
    what: str


class NestedTooDeep(Diagnostic):
    """Branches and loops nested deeper than protobuf's readers follow, or expressions deeper than
    the compiler can.
    """

    code = "OW319"
    title = "{what} are nested more than {limit} deep"
    label = "the innermost one"
    help = (
        "give parts names of their own and compute them one after the other; `op.Where` chooses "
        "without a branch"
    )
    error = ScriptValueError
    what: str
    limit: int


class ExitNeedsType(Diagnostic):
    """A `return` inside a loop needs the type of the result before the loop has run."""

    code = "OW313"
    title = "the type of this result must be known before the loop"
    label = "set inside, read after"
    help = "annotate the parameters, or give the value a start before the loop"
    error = ScriptTypeError


class ReturnType(Diagnostic):
    """A result is not of the type the function says it returns."""

    code = "OW314"
    title = "`{name}` returns {got}, but is annotated to return {expected}"
    label = "returned here"
    help = "change the annotation, or cast the result"
    error = ScriptTypeError
    name: str
    got: str
    expected: str


class NothingReturned(Diagnostic):
    """A function returns something that is not a tensor."""

    code = "OW315"
    title = "`{name}` returns {what}, which is not a tensor"
    label = "returned here"
    help = "return tensors (or numbers), alone or in a tuple"
    error = ScriptTypeError
    name: str
    what: str


class AnnotationMismatch(Diagnostic):
    """A variable is annotated with a type that its value does not have."""

    code = "OW316"
    title = "`{name}` is annotated {expected}, but its value is {got}"
    label = "this value is {got}"
    help = "change the annotation, or cast the value"
    error = ScriptTypeError
    name: str
    expected: str
    got: str


class TooManyIterations(Diagnostic):
    """A loop that must be unrolled has too many iterations."""

    code = "OW317"
    title = "this loop would be unrolled {count} times"
    label = "its variable is used where a number must be known when compiling"
    help = "use the variable as a tensor, or loop at most {limit} times"
    error = ScriptValueError
    count: int
    limit: int


class IdentityOfTensor(Advised):
    """A tensor is compared by identity with a number, a string or `True`."""

    code = "OW320"
    title = "{what} is never the object `{constant}`"
    label = "`is` compares objects, not values, and so does `case True:`"
    error = ScriptValueError
    what: str
    constant: str


class ListItemType(Diagnostic):
    """A list that the model makes longer has items of an unknown element type."""

    code = "OW895"
    title = "the element type of the items of `{name}` is not known"
    label = "a list whose length the model decides is a sequence of one type"
    help = 'annotate the parameters, as in `x: FLOAT["N", 3]`, or cast what is appended'
    error = ScriptTypeError
    name: str


class RunTimeListUse(Advised):
    """Something is done with a list of run-time length that needs its length while compiling."""

    code = "OW896"
    title = "`{name}` {what}"
    label = "a loop or branch of the model appended to this list"
    error = StaticTypeError
    name: str
    what: str
