"""What the parts of the lowering share: the backend, the frame, and how Python itself is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onnxwright.converter import hir
from onnxwright.converter.context import Context
from onnxwright.converter.frame import Frame
from onnxwright.converter.regions import Regions
from onnxwright.converter.values import (
    AttributeRef,
    Closure,
)
from onnxwright.diagnostics.catalogue import control_flow, ops, types
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail, located, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_backend import GraphBackend, GraphValue
from onnxwright.semantics.literals import (
    describe,
    shape_of,
)
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import OnnxType, TensorType, fits


class Base(ABC):
    """The state of one function being lowered, and the abstract methods of its parts."""

    b: GraphBackend
    frame: Frame
    context: Context
    regions: Regions
    callers: list[Frame]

    dynamic_depth = 0

    def frames(self) -> list[Frame]:
        """The frames of everything that is being lowered, and those around them."""
        found: list[Frame] = []
        for start in (self.frame, *self.callers):
            frame: Any = start
            while isinstance(frame, Frame):
                found.append(frame)
                frame = frame.outer
        return found

    @abstractmethod
    def call(self, node: hir.Call, wanted: int | None) -> Any:
        """Evaluate a call; `wanted` is the number of results its target takes, if known."""

    @abstractmethod
    def branch(
        self,
        test: GraphValue,
        then: Callable[[], Any],
        orelse: Callable[[], Any],
        span: Span,
    ) -> Any:
        """The value of one of two computations, chosen when the model runs."""

    def closure(self, node: hir.LocalFunction) -> Closure:
        """A nested function as a value; its defaults are evaluated here, as Python does."""
        given = {p.name: self.evaluate(p.default) for p in node.params if p.default is not None}
        return Closure(node, self.frame, given)

    @abstractmethod
    def evaluate(self, node: hir.Expr, wanted: int | None = None) -> Any:
        """The value of an expression: a Python object, a graph value, or a container of both."""

    @abstractmethod
    def apply_binary(self, op: str, x: Any, y: Any, span: Span) -> Any:
        """A Python operator on two evaluated operands."""

    @abstractmethod
    def bind_name(self, name: str, value: Any) -> None:
        """Bind a name, and name a new graph value after it."""

    @abstractmethod
    def items_of(self, value: Any, span: Span) -> list[Any]:
        """Everything in an iterable whose length is known when compiling."""

    def at(self, span: Span) -> GraphBackend:
        """The backend, building for `span`."""
        self.b.span = span
        return self.b

    def python(self, span: Span, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Python's own result of an operation without tensors; its errors become ours."""
        try:
            return self.import_value(function(*args, **kwargs), outermost=False)
        except OnnxwrightError:
            with located(span):
                raise
        except Exception as error:
            reason = str(error).replace("{", "(").replace("}", ")")
            name = type(error).__name__
            diagnostic = messages.StaticFailure(exception=name, reason=reason, span=span)
            raise diagnostic.error(diagnostic) from error

    def import_value(self, x: Any, *, outermost: bool = True) -> Any:
        """An object from outside: a value of another backend becomes its array."""
        if is_value(x) and not isinstance(x, GraphValue):
            return x.value
        if isinstance(x, Initializer):
            return self.initializer(x, outermost=outermost)
        return x

    def initializer(self, x: Initializer, *, outermost: bool, hint: str = "initializer") -> Any:
        """A marked array as a value of the graph; where there is no graph, as an array."""
        recorder = self.b.recorder
        if not recorder.keeps_initializers:
            return np.asarray(x)
        dtype = DType.STRING if x.dtype == object else DType.from_numpy(x.dtype)
        kind = TensorType(dtype, tuple(x.shape))
        return self.b.wrap(recorder.initializer(x, kind, hint, outermost=outermost), kind)

    def annotated_type(
        self, name: str, annotation: object, known: OnnxType | None, span: Span
    ) -> OnnxType | None:
        """The one tensor type that an annotation states; None where it leaves a choice.

        Raises:
            ScriptTypeError: the value cannot have that type (OW316).
        """
        try:
            if isinstance(annotation, str):
                annotation = eval(annotation, self.outer_names())  # noqa: S307 - the user's own
            spec = parse_annotation(annotation)
        except Exception:  # noqa: BLE001 - an annotation that does not evaluate says nothing
            return None
        if not isinstance(spec, ValueSpec) or not spec.types:
            return None
        if known is not None and not any(fits(known, wanted) for wanted in spec.types):
            fail(
                control_flow.AnnotationMismatch(
                    name=name, wanted=str(spec), got=str(known), span=span
                )
            )
        return spec.types[0] if len(spec.types) == 1 and not spec.optional else None

    def outer_names(self) -> dict[str, Any]:
        """The globals and closure of the function being lowered, for its own annotations."""
        outer: Any = self.frame
        while hasattr(outer, "outer"):
            outer = outer.outer
        return {
            **outer.function.__globals__,
            **{name: outer[name] for name in outer.cells if name in outer},
        }

    def value(self, x: Any) -> Any:
        """An attribute parameter as a (weak) value; everything else unchanged."""
        if isinstance(x, AttributeRef):
            if not x.can_promote:
                advice = "it can only be passed on as an attribute"
                what = f"a value for the tensor made from attribute `{x.name}`"
                fail(ops.ValueNeededNow(what=what, advice=advice, span=self.b.here()))
            return x.__ow_as_value__(self.b)
        return x

    def warn_elementwise(self, operation: str, values: Iterable[Any], span: Span) -> None:
        """Say that what Python would refuse is done element by element in the model."""
        for value in values:
            shape = shape_of(self.b, value) if isinstance(value, GraphValue) else None
            if shape and any(d != 1 for d in shape):
                warn(types.ElementwiseChoice(operation=operation, span=span))
                return

    def needed_now(self, what: str, span: Span, advice: str = "") -> Any:
        """Refuse a run-time value where Python needs to know it."""
        advice = advice or "use a number known when compiling, or give the attribute a value"
        fail(ops.ValueNeededNow(what=what, advice=advice, span=span))


def always(value: Any) -> Callable[[], Any]:
    """A function that gives `value`."""
    return lambda: value


def static_truth(x: Any) -> bool:
    """Whether an object known now is true, as Python says; an array of several is neither."""
    try:
        return bool(x)
    except ValueError:
        what = f"an array of {getattr(x, 'size', 'several')} elements"
        fail(control_flow.NotACondition(what=what))


def what_it_is(x: Any) -> str:
    """A short name of an evaluated object, for messages."""
    if isinstance(x, GraphValue):
        return "this tensor"
    name = getattr(x, "__name__", None)
    if type(x).__name__ == "module":
        return f"module `{name}`"
    return describe(x)
