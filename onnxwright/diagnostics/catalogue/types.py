"""Messages about types and values: operands that do not fit, numbers that do not convert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptTypeError,
    ScriptValueError,
    StaticTypeError,
)


@dataclass(frozen=True, kw_only=True)
class MixedTypes(Diagnostic):
    """Two tensors of different element types meet in one operation."""

    code: ClassVar[str] = "OW401"
    title: ClassVar[str] = "`{operation}`: the operands are {left} and {right}"
    label: ClassVar[str] = "both operands must have the same element type"
    help: ClassVar[str] = (
        "cast one operand: `op.Cast(x, to={target}.dtype)`, or `op.CastLike(x, y)` for the type "
        "of y"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str
    left: str
    right: str
    target: str = ""

    def __post_init__(self) -> None:
        # A cast to BOOL would lose the numbers.
        object.__setattr__(self, "target", self.left if self.right == "BOOL" else self.right)


@dataclass(frozen=True, kw_only=True)
class TypeNotAllowed(Diagnostic):
    """An operator is given an element type that its schema does not list."""

    code: ClassVar[str] = "OW402"
    title: ClassVar[str] = "`{operation}` does not take {got} for {parameter}"
    label: ClassVar[str] = "it takes {allowed}"
    help: ClassVar[str] = "cast the value first: `op.Cast(x, to=...)`; the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str
    parameter: str
    got: str
    allowed: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class NotATensor(Diagnostic):
    """A Python object is used as a tensor and cannot become one."""

    code: ClassVar[str] = "OW403"
    title: ClassVar[str] = "{what} cannot be used as a tensor"
    label: ClassVar[str] = "a tensor, a number, an array or a list of numbers is needed here"
    help: ClassVar[str] = (
        "use a number, a numpy array, a TensorProto, or a value made by an operator"
    )
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class NumberDoesNotFit(Diagnostic):
    """A Python number beside a tensor lies outside the range of the tensor's type."""

    code: ClassVar[str] = "OW404"
    title: ClassVar[str] = "{number} does not fit in {dtype}"
    label: ClassVar[str] = "a Python number takes the type of the tensor beside it"
    help: ClassVar[str] = "use a number in the range of {dtype}, or cast the tensor to a wider type"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    number: str
    dtype: str


@dataclass(frozen=True, kw_only=True)
class NumberTruncated(Diagnostic):
    """A Python float beside an integer tensor loses its fraction; numpy would give float64."""

    code: ClassVar[str] = "OW405"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "literal {number} is truncated to {result}: the other operand is {dtype}"
    label: ClassVar[str] = "numpy would give float64 here; ONNX keeps {dtype}"
    help: ClassVar[str] = "cast the tensor (`op.Cast(x, to=FLOAT)`), or write the integer you mean"
    number: str
    result: str
    dtype: str


@dataclass(frozen=True, kw_only=True)
class IntegerDivision(Diagnostic):
    """`/` of two integer tensors truncates in ONNX, where numpy gives a float."""

    code: ClassVar[str] = "OW406"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "`/` of {dtype} tensors truncates toward zero"
    label: ClassVar[str] = "numpy would give float64 here; ONNX's Div keeps {dtype}"
    help: ClassVar[str] = (
        "cast to a float type first for true division; use `//` for floor division"
    )
    dtype: str


@dataclass(frozen=True, kw_only=True)
class NegativePower(Diagnostic):
    """An integer tensor raised to a negative number: numpy refuses, ONNX truncates to zero."""

    code: ClassVar[str] = "OW407"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "{dtype} tensor to the power {exponent} truncates to an integer"
    label: ClassVar[str] = "numpy rejects this; ONNX's Pow keeps {dtype}"
    help: ClassVar[str] = "cast the tensor to a float type first"
    dtype: str
    exponent: str


@dataclass(frozen=True, kw_only=True)
class UnknownElementType(Diagnostic):
    """The meaning of an operator depends on an element type that is not known."""

    code: ClassVar[str] = "OW408"
    title: ClassVar[str] = "`{operation}` needs to know the element type of its operand"
    label: ClassVar[str] = "its type is not known here"
    help: ClassVar[str] = "annotate the parameter (for example `x: FLOAT`), or cast with `op.Cast`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str


@dataclass(frozen=True, kw_only=True)
class OperatorNotDefined(Diagnostic):
    """A Python operator has no meaning for these types."""

    code: ClassVar[str] = "OW409"
    title: ClassVar[str] = "`{operation}` is not defined for {types}"
    label: ClassVar[str] = "{reason}"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str
    types: str
    reason: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class OpsetTooOld(Diagnostic):
    """A Python operator needs an ONNX operator that this opset version lacks."""

    code: ClassVar[str] = "OW410"
    title: ClassVar[str] = "{what} needs `{op}`, which ai.onnx has from version {needed}"
    label: ClassVar[str] = "this function uses version {version}"
    help: ClassVar[str] = "use `opset{needed}` or newer"
    what: str
    op: str
    needed: int
    version: int


@dataclass(frozen=True, kw_only=True)
class IndexOutOfRange(Diagnostic):
    """A static index lies outside a dimension of known size."""

    code: ClassVar[str] = "OW411"
    title: ClassVar[str] = "index {index} is out of range for axis {axis} of size {size}"
    label: ClassVar[str] = "this index"
    help: ClassVar[str] = "valid indices are -{size} to {size} - 1"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    index: int
    axis: int
    size: int


@dataclass(frozen=True, kw_only=True)
class TooManyIndices(Diagnostic):
    """More axes are indexed than the tensor has."""

    code: ClassVar[str] = "OW412"
    title: ClassVar[str] = "{given} indices for a tensor of rank {rank}"
    label: ClassVar[str] = "indexed here"
    help: ClassVar[str] = "index at most {rank} axes"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    given: int
    rank: int


@dataclass(frozen=True, kw_only=True)
class BadIndex(Diagnostic):
    """Something that is not a valid index is used in square brackets."""

    code: ClassVar[str] = "OW413"
    title: ClassVar[str] = "{what} cannot index a tensor"
    label: ClassVar[str] = "indexed here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class UnknownRank(Diagnostic):
    """The meaning of an expression depends on a number of dimensions that is not known."""

    code: ClassVar[str] = "OW414"
    title: ClassVar[str] = "{what} needs to know the number of dimensions"
    label: ClassVar[str] = "the rank is not known here"
    help: ClassVar[str] = 'annotate the parameter with a shape, for example `x: FLOAT["N", 3]`'
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class ShapesDoNotBroadcast(Diagnostic):
    """Two shapes that cannot be broadcast to one."""

    code: ClassVar[str] = "OW415"
    title: ClassVar[str] = "`{operation}` of shapes {left} and {right}"
    label: ClassVar[str] = "these do not broadcast"
    help: ClassVar[str] = "dimensions, counted from the last, must be equal or 1"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    operation: str
    left: str
    right: str


@dataclass(frozen=True, kw_only=True)
class ElementwiseChoice(Diagnostic):
    """`and`, `or`, `not`, `min`, `max` or a chained comparison of tensors of several elements."""

    code: ClassVar[str] = "OW417"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = (
        "`{operation}` of tensors of several elements is elementwise in the model"
    )
    label: ClassVar[str] = "eager mode and numpy refuse this"
    help: ClassVar[str] = (
        "write what is meant: `&`, `|`, `~`, `op.And`, `op.Max`, or reduce it first"
    )
    operation: str


@dataclass(frozen=True, kw_only=True)
class RemainderSign(Diagnostic):
    """`%` of floating-point tensors: Python's remainder, where files from onnxscript mean C's."""

    code: ClassVar[str] = "OW430"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "`%` of floating-point tensors has the sign of the divisor"
    label: ClassVar[str] = "as in Python and numpy; in onnxscript it has the sign of the dividend"
    help: ClassVar[str] = (
        "for C's fmod write `op.Mod(x, y, fmod=1)`; to say that Python's remainder is meant, write "
        "`x - op.Floor(x / y) * y`"
    )


@dataclass(frozen=True, kw_only=True)
class RaggedList(Diagnostic):
    """A list that is used as a tensor does not have the shape of one."""

    code: ClassVar[str] = "OW416"
    title: ClassVar[str] = "this list does not have one consistent shape and element type"
    label: ClassVar[str] = "used as a tensor here"
    help: ClassVar[str] = "give every row the same length and the same kind of number"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
