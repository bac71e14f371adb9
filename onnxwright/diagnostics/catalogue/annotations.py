"""Messages about types: annotations, shapes and element types that ONNX does not have (OW44x)."""

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
)


@dataclass(frozen=True, kw_only=True)
class BadAnnotation(Diagnostic):
    """An annotation is neither the type of a tensor nor the type of an attribute."""

    code: ClassVar[str] = "OW440"
    title: ClassVar[str] = (
        "{where}has the annotation `{annotation}`, which is not a valid ONNX type"
    )
    label: ClassVar[str] = "annotated here"
    help: ClassVar[str] = (
        "annotate tensors as `FLOAT`, `FLOAT['N', 3]`, `FLOAT | DOUBLE`, `Sequence[FLOAT]`, and "
        "attributes as `int`, `float`, `str`, `bool`, lists of them, or `Optional[...]`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    annotation: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class MixedAnnotation(Diagnostic):
    """A union mixes attributes with tensors, or attributes of different kinds."""

    code: ClassVar[str] = "OW441"
    title: ClassVar[str] = "{where}has the annotation `{annotation}`, which mixes {parts}"
    label: ClassVar[str] = "annotated here"
    help: ClassVar[str] = (
        "a parameter is either a tensor (a union of tensor types is fine) or an attribute of one "
        "Python type, optionally with `| None`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    annotation: str
    parts: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class UnknownAnnotationName(Diagnostic):
    """An annotation that is written as text cannot be evaluated."""

    code: ClassVar[str] = "OW442"
    title: ClassVar[str] = (
        "{where}has the annotation `{annotation}`, which cannot be read: {reason}"
    )
    label: ClassVar[str] = "annotated here"
    help: ClassVar[str] = (
        "import or define what the annotation names, where the function can see it"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError

    annotation: str
    reason: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class BadDimension(Diagnostic):
    """Something between the brackets of `FLOAT[...]` is not a valid dimension."""

    code: ClassVar[str] = "OW443"
    title: ClassVar[str] = "`{dimension}` is not a valid dimension of `{annotation}`"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = (
        "a dimension is a number from 0, a name such as 'N', or None; `{annotation}[...]` alone is "
        "a tensor of any shape"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError

    annotation: str
    dimension: str


@dataclass(frozen=True, kw_only=True)
class ShapeGivenTwice(Diagnostic):
    """A tensor type has a shape already and is given another."""

    code: ClassVar[str] = "OW444"
    title: ClassVar[str] = "`{annotation}` already has a shape; `{shape}` would be a second one"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = (
        "give the shape once: `FLOAT['N', 3]` or `Annotated[FLOAT, Shape['N', 3]]`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    annotation: str
    shape: str


@dataclass(frozen=True, kw_only=True)
class UnsupportedParameter(Diagnostic):
    """A parameter that no ONNX function can have."""

    code: ClassVar[str] = "OW445"
    title: ClassVar[str] = "`{function}` has the parameter `{parameter}`, which ONNX cannot have"
    label: ClassVar[str] = "declared here"
    help: ClassVar[str] = "name every attribute: `axis: int = 0` instead of `**attributes`"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError

    function: str
    parameter: str


@dataclass(frozen=True, kw_only=True)
class BadDefault(Diagnostic):
    """The default of an attribute parameter is not of the annotated type."""

    code: ClassVar[str] = "OW446"
    title: ClassVar[str] = "{where}is annotated `{annotation}`, but its default is `{default}`"
    label: ClassVar[str] = "declared here"
    help: ClassVar[str] = "give a default of that type, or make the annotation `Optional[...]`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    annotation: str
    default: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class NoOnnxElementType(Diagnostic):
    """A dtype that ONNX tensors cannot have."""

    code: ClassVar[str] = "OW447"
    title: ClassVar[str] = "`{dtype}` is not a valid ONNX element type"
    help: ClassVar[str] = "cast to a type that ONNX has, for instance with `.astype(numpy.float32)`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    dtype: str


__all__ = [
    "BadAnnotation",
    "BadDefault",
    "BadDimension",
    "MixedAnnotation",
    "NoOnnxElementType",
    "ShapeGivenTwice",
    "UnknownAnnotationName",
    "UnsupportedParameter",
]
