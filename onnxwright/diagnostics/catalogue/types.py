"""Messages about types and values: operands that do not fit, numbers that do not convert."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptTypeError, ScriptValueError, StaticTypeError


class MixedTypes(Diagnostic):
    """Two tensors of different element types meet in one operation."""

    code = "OW401"
    title = "`{operation}`: the operands are {left} and {right}"
    label = "both operands must have the same element type"
    help = (
        "cast one operand: `op.Cast(x, to={target}.dtype)`, or `op.CastLike(x, y)` for the type "
        "of y"
    )
    error = ScriptTypeError
    operation: str
    left: str
    right: str
    target: str = ""

    def __post_init__(self) -> None:
        # A cast to BOOL would lose the numbers.
        object.__setattr__(self, "target", self.left if self.right == "BOOL" else self.right)


class TypeNotAllowed(Diagnostic):
    """An operator is given an element type that its schema does not list."""

    code = "OW402"
    title = "`{operation}` does not take {got} for {parameter}"
    label = "it takes {allowed}"
    help = "cast the value first: `op.Cast(x, to=...)`; the operator is {signature}"
    error = ScriptTypeError
    operation: str
    parameter: str
    got: str
    allowed: str
    signature: str


class NotATensor(Diagnostic):
    """A Python object is used as a tensor and cannot become one."""

    code = "OW403"
    title = "{what} cannot be used as a tensor"
    label = "a tensor, a number, an array or a list of numbers is needed here"
    help = "use a number, a numpy array, a TensorProto, or a value made by an operator"
    error = StaticTypeError
    what: str


class NumberDoesNotFit(Diagnostic):
    """A Python number beside a tensor lies outside the range of the tensor's type."""

    code = "OW404"
    title = "{number} does not fit in {dtype}"
    label = "a Python number takes the type of the tensor beside it"
    help = "use a number in the range of {dtype}, or cast the tensor to a wider type"
    error = ScriptValueError
    number: str
    dtype: str


class NumberTruncated(Diagnostic):
    """A Python float beside an integer tensor loses its fraction; numpy would give float64."""

    code = "OW405"
    severity = "warning"
    title = "literal {number} is truncated to {result}: the other operand is {dtype}"
    label = "numpy would give float64 here; ONNX keeps {dtype}"
    help = "cast the tensor (`op.Cast(x, to=FLOAT)`), or write the integer you mean"
    number: str
    result: str
    dtype: str


class IntegerDivision(Diagnostic):
    """`/` of two integer tensors truncates in ONNX, where numpy gives a float."""

    code = "OW406"
    severity = "warning"
    title = "`/` of {dtype} tensors truncates toward zero"
    label = "numpy would give float64 here; ONNX's Div keeps {dtype}"
    help = "cast to a float type first for true division; use `//` for floor division"
    dtype: str


class NegativePower(Diagnostic):
    """An integer tensor raised to a negative number: numpy refuses, ONNX truncates to zero."""

    code = "OW407"
    severity = "warning"
    title = "{dtype} tensor to the power {exponent} truncates to an integer"
    label = "numpy rejects this; ONNX's Pow keeps {dtype}"
    help = "cast the tensor to a float type first"
    dtype: str
    exponent: str


class UnknownElementType(Diagnostic):
    """The meaning of an operator depends on an element type that is not known."""

    code = "OW408"
    title = "`{operation}` needs to know the element type of its operand"
    label = "its type is not known here"
    help = "annotate the parameter (for example `x: FLOAT`), or cast with `op.Cast`"
    error = ScriptTypeError
    operation: str


class OperatorNotDefined(Advised):
    """A Python operator has no meaning for these types."""

    code = "OW409"
    title = "`{operation}` is not defined for {types}"
    label = "{reason}"
    error = ScriptTypeError
    operation: str
    types: str
    reason: str


class OpsetTooOld(Diagnostic):
    """A Python operator needs an ONNX operator that this opset version lacks."""

    code = "OW410"
    title = "{what} needs `{op}`, which ai.onnx has from version {needed}"
    label = "this function uses version {version}"
    help = "use `opset{needed}` or newer"
    what: str
    op: str
    needed: int
    version: int


class IndexOutOfRange(Diagnostic):
    """A static index lies outside a dimension of known size."""

    code = "OW411"
    title = "index {index} is out of range for axis {axis} of size {size}"
    label = "this index"
    help = "valid indices are -{size} to {size} - 1"
    error = ScriptValueError
    index: int
    axis: int
    size: int


class TooManyIndices(Diagnostic):
    """More axes are indexed than the tensor has."""

    code = "OW412"
    title = "{count} indices for a tensor of rank {rank}"
    label = "indexed here"
    help = "index at most {rank} axes"
    error = ScriptValueError
    count: int
    rank: int


class BadIndex(Advised):
    """Something that is not a valid index is used in square brackets."""

    code = "OW413"
    title = "{what} cannot index a tensor"
    label = "indexed here"
    error = StaticTypeError
    what: str


class UnknownRank(Diagnostic):
    """The meaning of an expression depends on a number of dimensions that is not known."""

    code = "OW414"
    title = "{what} needs to know the number of dimensions"
    label = "the rank is not known here"
    help = 'annotate the parameter with a shape, for example `x: FLOAT["N", 3]`'
    error = ScriptTypeError
    what: str


class ShapesDoNotBroadcast(Diagnostic):
    """Two shapes that cannot be broadcast to one."""

    code = "OW415"
    title = "`{operation}` of shapes {left} and {right}"
    label = "these do not broadcast"
    help = "dimensions, counted from the last, must be equal or 1"
    error = ScriptValueError
    operation: str
    left: str
    right: str


class ElementwiseChoice(Diagnostic):
    """`and`, `or`, `not`, `min`, `max` or a chained comparison of tensors of several elements."""

    code = "OW417"
    severity = "warning"
    title = "`{operation}` of tensors of several elements is elementwise in the model"
    label = "eager mode and numpy refuse this"
    help = "write what is meant: `&`, `|`, `~`, `op.And`, `op.Max`, or reduce it first"
    operation: str


class RemainderSign(Diagnostic):
    """`%` of floating-point tensors: Python's remainder, where files from onnxscript mean C's."""

    code = "OW430"
    severity = "warning"
    title = "`%` of floating-point tensors has the sign of the divisor"
    label = "as in Python and numpy; in onnxscript it has the sign of the dividend"
    help = (
        "for C's fmod write `op.Mod(x, y, fmod=1)`; to say that Python's remainder is meant, write "
        "`x - op.Floor(x / y) * y`"
    )


class RaggedList(Diagnostic):
    """A list that is used as a tensor does not have the shape of one."""

    code = "OW416"
    title = "this list does not have one consistent shape and element type"
    label = "used as a tensor here"
    help = "give every row the same length and the same kind of number"
    error = ScriptValueError
