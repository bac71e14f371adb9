"""The state of one function being lowered, and the tables of functions that lower its nodes.

A handler is a function of the state and a node of the HIR.  Handlers of different modules reach
each other through the state (`low.evaluate`, `low.execute`, `low.apply`), which looks up the table
that the function is lowered with: `tables.USUAL`, or `verbatim.tables.VERBATIM`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.context import Context, Script, VerbatimPlan
from onnxwright.converter.lower.frame import Frame
from onnxwright.converter.lower.regions import Region, Regions
from onnxwright.converter.lower.values import AttributeRef, is_dynamic
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.catalogue import ops
from onnxwright.diagnostics.diagnostic import fail, located
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.builder import Recorder
from onnxwright.opset.op import Op
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import OnnxType, TensorType


@dataclass(frozen=True)
class Arguments:
    """What is known of the arguments of a call; what is not here is as the parameter says.

    Attributes:
        types: the types of values.
        numbers: for values that are Python numbers, the kind of number.
        absent: the values that are not given.
        attributes: the values of attributes.
        only_types: whether nothing but the types of the results is asked for.
    """

    types: Mapping[str, OnnxType | None] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    only_types: bool = False


class LowerCallee(Protocol):
    """Lowers a script that is called to an ONNX function of its own."""

    def __call__(
        self,
        script: Script,
        context: Context,
        around: Sequence[Region] = (),
        arguments: Arguments | None = None,
    ) -> Any:
        """The `lower.functions.Lowered` of a script; `around` is where it is called."""


class Apply(Protocol):
    """Calls an evaluated function with evaluated arguments."""

    def __call__(
        self,
        low: Lowering,
        function: Any,
        args: list[Any],
        kwargs: dict[str, Any],
        span: Span,
        outputs: int | None = None,
    ) -> Any:
        """What the call gives."""


@dataclass(frozen=True)
class Handlers:
    """The functions that lower one function, chosen once for it.

    Attributes:
        expressions: by HIR class, the value of an expression; calls are not among them.
        statements: by HIR class, what carries out a statement.
        call: the value of a call, given the number of results its target takes, if known.
        apply: calls an evaluated function with evaluated arguments.
        call_op: calls an operator.
        call_script: calls a script.
        body_name: the name of a graph attribute, given that of the attribute and its callable.
        own_name: reserves the name of a variable for the value it holds.
        checked: results are checked against annotations, and bodies against their operators.
    """

    expressions: Mapping[type, Callable[[Lowering, Any], Any]]
    statements: Mapping[type, Callable[[Lowering, Any], None]]
    call: Callable[[Lowering, hir.Call, int | None], Any]
    apply: Apply
    call_op: Callable[[Lowering, Op, list[Any], dict[str, Any], Span, int | None], Any]
    call_script: Callable[[Lowering, Script, list[Any], dict[str, Any], Span], Any]
    body_name: Callable[[str, Any], str] = lambda name, body: name
    own_name: Callable[[Recorder, str, ir.Value], None] = lambda recorder, name, value: None
    checked: bool = True


class Lowering:
    """One function being lowered into a backend.

    Attributes:
        b: the backend that builds the nodes.
        frame: the function or nested function that is being lowered now.
        context: what one compilation shares between its functions.
        handlers: the functions that lower its nodes.
        lower_callee: lowers a script that is called.
        regions: the branches and loops around what is being lowered.
        callers: the frames of inlined calls, outermost first.
        named: the values that are named after a variable.
        dynamic_depth: how many run-time branches and loops are around.
        last_span: the last statement.
        result_span: where the function returns.
        plan: what a decompiled script says of its loops beside their text.
        loops_done: how many loops of the plan are lowered.
    """

    def __init__(
        self,
        b: GraphBackend,
        frame: Frame,
        context: Context,
        handlers: Handlers,
        lower_callee: LowerCallee,
        around: Sequence[Region] = (),
    ) -> None:
        self.b = b
        self.frame = frame
        self.context = context
        self.handlers = handlers
        self.lower_callee = lower_callee
        self.regions = Regions(around)
        self.callers: list[Frame] = []
        self.named: set[Any] = set()
        self.dynamic_depth = 0
        self.last_span: Span | None = None
        self.result_span: Span | None = None
        self.plan = VerbatimPlan()
        self.loops_done = 0

    # -- dispatch ----------------------------------------------------------------------------------

    def evaluate(self, node: hir.Expr, outputs: int | None = None) -> Any:
        """The value of an expression: a Python object, a graph value, or a container of both."""
        self.b.span = node.span
        if isinstance(node, hir.Call):
            return self.handlers.call(self, node, outputs)
        return self.handlers.expressions[type(node)](self, node)

    def execute(self, statements: hir.Block) -> None:
        """Lower statements in order."""
        for s in statements:
            self.b.span = s.span
            self.last_span = s.span
            self.handlers.statements[type(s)](self, s)

    def apply(
        self,
        function: Any,
        args: list[Any],
        kwargs: dict[str, Any],
        span: Span,
        outputs: int | None = None,
    ) -> Any:
        """Call an evaluated function with evaluated arguments."""
        return self.handlers.apply(self, function, args, kwargs, span, outputs)

    # -- services ----------------------------------------------------------------------------------

    def at(self, span: Span) -> GraphBackend:
        """The backend, building for `span`."""
        self.b.span = span
        return self.b

    def frames(self) -> list[Frame]:
        """The frames of everything that is being lowered, and those around them."""
        frames: list[Frame] = []
        for start in (self.frame, *self.callers):
            frame: Any = start
            while isinstance(frame, Frame):
                frames.append(frame)
                frame = frame.outer
        return frames

    def python(self, span: Span, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Python's own result of an operation without tensors; its errors become ours."""
        self.regions.before_operation(function, args, span)
        try:
            return self.import_value(function(*args, **kwargs), outermost=False)
        except OnnxwrightError as error:
            if isinstance(error.diagnostic, ops.NoTruthWhileBuilding):
                fail(messages.NotCallable(
                    what=f"`{getattr(function, '__name__', 'this')}`", span=span,
                    advice="it compares values of tensors, which are known only when the model "
                    "runs: `op.TopK` sorts, `op.Where` chooses; a list can be changed by position",
                ))  # fmt: skip
            with located(span):
                raise
        except Exception as error:
            reason = str(error).replace("{", "(").replace("}", ")")
            name = type(error).__name__
            diagnostic = messages.StaticFailure(exception=name, reason=reason, span=span)
            if is_dynamic(args):
                advice = (
                    "Python itself computes this part, of a list or tuple of tensors: take one of "
                    "them by its index, or unpack them"
                )
                diagnostic = replace(diagnostic, advice=advice)
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

    def value(self, x: Any) -> Any:
        """An attribute parameter as a (weak) value; everything else unchanged."""
        if isinstance(x, AttributeRef):
            if not x.can_promote:
                advice = "it can only be passed on as an attribute"
                what = f"a value for the tensor made from attribute `{x.name}`"
                fail(ops.ValueNeededNow(what=what, advice=advice, span=self.b.here()))
            return x.as_value(self.b)
        return x

    def needed_now(self, what: str, span: Span, advice: str = "") -> Any:
        """Refuse a run-time value where Python needs to know it."""
        advice = advice or "use a number known when compiling, or give the attribute a value"
        fail(ops.ValueNeededNow(what=what, advice=advice, span=span))
