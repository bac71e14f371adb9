"""Messages about types: annotations, shapes and element types that ONNX does not have (OW44x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ScriptNameError, ScriptSyntaxError, ScriptTypeError, ScriptValueError


class BadAnnotation(Diagnostic):
    """An annotation is neither the type of a tensor nor the type of an attribute."""

    code = "OW440"
    title = "{where}has the annotation `{annotation}`, which is not a valid ONNX type"
    label = "annotated here"
    help = (
        "annotate tensors as `FLOAT`, `FLOAT['N', 3]`, `FLOAT | DOUBLE`, `Sequence[FLOAT]`, and "
        "attributes as `int`, `float`, `str`, `bool`, lists of them, or `Optional[...]`"
    )
    error = ScriptTypeError

    annotation: str
    where: str = ""


class MixedAnnotation(Diagnostic):
    """A union mixes attributes with tensors, or attributes of different kinds."""

    code = "OW441"
    title = "{where}has the annotation `{annotation}`, which mixes {parts}"
    label = "annotated here"
    help = (
        "a parameter is either a tensor (a union of tensor types is fine) or an attribute of one "
        "Python type, optionally with `| None`"
    )
    error = ScriptTypeError

    annotation: str
    parts: str
    where: str = ""


class UnknownAnnotationName(Diagnostic):
    """An annotation that is written as text cannot be evaluated."""

    code = "OW442"
    title = "{where}has the annotation `{annotation}`, which cannot be read: {reason}"
    label = "annotated here"
    help = "import or define what the annotation names, where the function can see it"
    error = ScriptNameError

    annotation: str
    reason: str
    where: str = ""


class BadDimension(Diagnostic):
    """Something between the brackets of `FLOAT[...]` is not a valid dimension."""

    code = "OW443"
    title = "`{dimension}` is not a valid dimension of `{annotation}`"
    label = "given here"
    help = (
        "a dimension is a number from 0, a name such as 'N', or None; `{annotation}[...]` alone is "
        "a tensor of any shape"
    )
    error = ScriptValueError

    annotation: str
    dimension: str


class ShapeGivenTwice(Diagnostic):
    """A tensor type has a shape already and is given another."""

    code = "OW444"
    title = "`{annotation}` already has a shape; `{shape}` would be a second one"
    label = "given here"
    help = "give the shape once: `FLOAT['N', 3]` or `Annotated[FLOAT, Shape['N', 3]]`"
    error = ScriptTypeError

    annotation: str
    shape: str


class UnsupportedParameter(Diagnostic):
    """A parameter that no ONNX function can have."""

    code = "OW445"
    title = "`{function}` has the parameter `{parameter}`, which ONNX cannot have"
    label = "declared here"
    help = "name every attribute: `axis: int = 0` instead of `**attributes`"
    error = ScriptSyntaxError

    function: str
    parameter: str


class BadDefault(Diagnostic):
    """The default of an attribute parameter is not of the annotated type."""

    code = "OW446"
    title = "{where}is annotated `{annotation}`, but its default is `{default}`"
    label = "declared here"
    help = "give a default of that type, or make the annotation `Optional[...]`"
    error = ScriptTypeError

    annotation: str
    default: str
    where: str = ""


class NoOnnxElementType(Diagnostic):
    """A dtype that ONNX tensors cannot have."""

    code = "OW447"
    title = "`{dtype}` is not a valid ONNX element type"
    help = "cast to a type that ONNX has, for instance with `.astype(numpy.float32)`"
    error = ScriptTypeError

    dtype: str
