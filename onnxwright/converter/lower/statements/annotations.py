"""What the annotation of a variable or of a body's parameter says about its type."""

from __future__ import annotations

from typing import Any

from onnxwright.converter.lower.state import Lowering
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.kinds import OnnxType, fits


def annotated_type(
    low: Lowering, name: str, annotation: object, kind: OnnxType | None, span: Span
) -> OnnxType | None:
    """The one tensor type that an annotation states; None where it leaves a choice.

    Raises:
        ScriptTypeError: the value cannot have that type (OW316).
    """
    try:
        if isinstance(annotation, str):
            annotation = eval(annotation, outer_names(low))  # noqa: S307 - the user's own
        spec = parse_annotation(annotation)
    except Exception:  # noqa: BLE001 - an annotation that does not evaluate says nothing
        return None
    if not isinstance(spec, ValueSpec) or not spec.types:
        return None
    if kind is not None and not any(fits(kind, allowed) for allowed in spec.types):
        fail(
            control_flow.AnnotationMismatch(name=name, expected=str(spec), got=str(kind), span=span)
        )
    return spec.types[0] if len(spec.types) == 1 and not spec.optional else None


def outer_names(low: Lowering) -> dict[str, Any]:
    """The globals and closure of the function being lowered, for its own annotations."""
    outer: Any = low.frame
    while hasattr(outer, "outer"):
        outer = outer.outer
    return {
        **outer.function.__globals__,
        **{name: outer[name] for name in outer.cells if name in outer},
    }
