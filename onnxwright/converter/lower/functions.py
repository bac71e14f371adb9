"""A function to IR. `lower_function` makes an ONNX function, `lower_main` a model's graph.

Output: SSA in nested scopes, every node with its origin, every result a tensor of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.context import Context, Script, VerbatimPlan
from onnxwright.converter.lower.emission import Usual
from onnxwright.converter.lower.frame import Frame
from onnxwright.converter.lower.opsets import default_opset, sugar_opset
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Arguments, Lowering
from onnxwright.converter.lower.statements.results import function_result
from onnxwright.converter.lower.values import AttributeRef
from onnxwright.converter.pipeline import Front, front
from onnxwright.converter.verbatim.emission import Verbatim, VerbatimTypes
from onnxwright.diagnostics.catalogue import models
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import EagerError, ScriptTypeError, ScriptValueError
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.signature import EMPTY, Param
from onnxwright.versions.one_call import converted_call


@dataclass
class Lowered:
    """A function as IR.

    Attributes:
        script: the function it came from.
        inputs, outputs, nodes: its body.
        results: the type of each result, and the kind of number that it is for a caller.
        single: whether it returns one value, not a tuple of values.
        imports: versions of the domains it uses.
        types: the types of values by name, as far as known.
        doc: its docstring.
        span: where it is defined.
        result_span: where it returns.
        values: its values by name.
        recorder: what it was built with.
        versions: the ai.onnx versions its author named.
        met: the element types that Python numbers among its arguments took.
    """

    script: Script
    inputs: list[ir.Value]
    outputs: list[ir.Value]
    nodes: list[ir.Node]
    results: tuple[tuple[OnnxType | None, str | None], ...]
    single: bool
    imports: dict[str, int]
    types: dict[str, OnnxType | None]
    doc: str | None
    span: Span
    result_span: Span | None
    values: dict[str, ir.Value]
    recorder: Recorder
    versions: frozenset[int] = frozenset()
    met: Mapping[str, DType] = field(default_factory=dict)


def lower_function(
    script: Script,
    context: Context,
    around: Sequence[Region] = (),
    arguments: Arguments | None = None,
) -> Lowered:
    """A script as an ONNX function: attribute parameters stay references.

    `around` is where it is called, if it is lowered for a call; `arguments` is what is known of
    that call.
    """
    for p in script.signature.params:
        if p.is_variadic:
            span = front(script.function, script.source_text).parsed.unit.span
            fail(models.VariadicFunction(name=script.name, parameter=p.name, span=span))
    with _compiling():
        return _lower(script, context, arguments or Arguments(), main=False, around=around)


def lower_main(
    script: Script,
    context: Context,
    attributes: Mapping[str, Any],
    input_types: Mapping[str, OnnxType],
) -> Lowered:
    """A script as the main graph of a model: attribute parameters have values, inputs types."""
    with _compiling():
        arguments = Arguments(input_types, attributes=attributes)
        return _lower(script, context, arguments, main=True)


@contextmanager
def _compiling() -> Iterator[None]:
    """What eager mode refuses, too, is an error of the script here."""
    try:
        yield
    except EagerError as error:
        kind = ScriptTypeError if isinstance(error, TypeError) else ScriptValueError
        raise kind(*error.diagnostics) from error


def _lower(
    script: Script,
    context: Context,
    arguments: Arguments,
    *,
    main: bool,
    around: Sequence[Region] = (),
) -> Lowered:
    emission = Usual()
    if context.verbatim:
        emission = VerbatimTypes() if arguments.only_types else Verbatim()
    stages = emission.front(script)
    plan = context.plans.get(script.function, VerbatimPlan())
    recorder = emission.recorder(plan, main=main)
    own_opset = sugar_opset(script, stages, context)
    b = GraphBackend(recorder, own_opset or default_opset(context), converted_call)
    b.shares_types = recorder.exact  # the types of such a graph are those that its details say
    b.span = stages.parsed.unit.span
    env: dict[str, Any] = {}
    inputs: list[GraphValue] = []
    numbers: dict[str, GraphValue] = {}
    for p in script.signature.params:
        if isinstance(p.spec, AttributeSpec):
            env[p.name] = (
                _attribute_value(script, p, arguments.attributes, b.span)
                if main or p.name in arguments.attributes
                else AttributeRef(p.name, p.spec.kind, optional=_may_be_none(p))
            )
            continue
        is_given = p.name in arguments.types
        if p.name in arguments.absent or (main and p.default is None and not is_given):
            env[p.name] = None  # an optional input that the call or the model does not have
            continue
        kind = arguments.types[p.name] if is_given else input_type(p, exact=context.verbatim)
        value = b.wrap(recorder.input(p.name, kind), kind, arguments.numbers.get(p.name))
        if value.weak is not None:
            numbers[p.name] = value
        if isinstance(p.default, Initializer):
            recorder.scope.initializers[value.value] = p.default
        if main:
            emission.check_input(script, p.name, kind, b.span)
        inputs.append(value)
        env[p.name] = value
    frame = Frame(script.name, stages.own_names, OuterNames(script.function), env)
    lowering = Lowering(b, frame, context, emission.handlers, lower_function, around)
    lowering.plan = plan
    entered = any(key is script.function for key, _ in context.chain)
    if entered:
        result = function_result(lowering, script.signature, stages)
    else:
        with context.entering(script.function, script.name, b.span):
            result = function_result(lowering, script.signature, stages)
    met = {name: dtype for name, v in numbers.items() if (dtype := _met_dtype(v)) is not None}
    low = _finish(script, stages, lowering, emission, result, [v.value for v in inputs])
    low.met = met
    used = {op.version for _, op, _ in b.recorder.uses if op.domain == ""}
    low.versions = frozenset(used | {b.opset.version} if own_opset else used - {b.opset.version})
    return low


def _finish(
    script: Script,
    front: Front,
    lowering: Lowering,
    emission: Usual,
    result: Any,
    inputs: list[ir.Value],
) -> Lowered:
    """Results as tensors of their own, dead nodes of Python operators removed."""
    b, recorder = lowering.b, lowering.b.recorder
    values = list(result) if isinstance(result, tuple) else [result]
    strong = [as_value(b, v) for v in values]
    outputs = recorder.own_outputs([v.value for v in strong])
    for value, source in zip(outputs, strong, strict=True):
        if recorder.type_of(value) is None:
            recorder.set_type(value, source.kind)
            adapters.set_type(value, source.kind)
    emission.name_outputs(lowering, outputs, strong, _returned_names(front.body))
    nodes = recorder.scope.nodes
    recorder.remove_dead(nodes, outputs)
    span = front.parsed.unit.span
    imports, outputs = emission.close(b, lowering.context, inputs, outputs, span)
    by_name = {v.name or "": v for v in recorder.types}
    types = {v.name or "": kind for v, kind in recorder.types.items()}
    return Lowered(
        script,
        inputs,
        outputs,
        nodes,
        tuple((v.kind, v.weak) for v in values),
        not isinstance(result, tuple),
        imports,
        types,
        front.parsed.doc,
        front.parsed.unit.span,
        lowering.result_span,
        by_name,
        recorder,
    )


def _returned_names(body: hir.Block) -> list[str | None]:
    """The variables that the `return` at the end of a function names; None for expressions."""
    last = body[-1] if body else None
    if not isinstance(last, hir.Assign) or not isinstance(last.targets[0], hir.NameTarget):
        return []
    if last.targets[0].id != hir.RESULT:
        return []
    shown = last.value
    items = shown.items if isinstance(shown, hir.Display) and shown.kind == "tuple" else (shown,)
    return [item.id if isinstance(item, hir.Name) else None for item in items]


def input_type(p: Param, *, exact: bool = False) -> OnnxType | None:
    """The type of a value parameter, as far as its annotation says.

    `Optional[...]` is an input that may be absent; with `exact` it is ONNX's optional type.
    """
    if not isinstance(p.spec, ValueSpec) or not p.spec.types:
        return None
    first = p.spec.types[0]
    if len(p.spec.types) == 1:
        return p.spec.exact if exact else first
    shapes = {k.shape if isinstance(k, TensorType) else None for k in p.spec.types}
    if all(isinstance(k, TensorType) for k in p.spec.types) and len(shapes) == 1:
        return TensorType(None, shapes.pop())
    return None


def _may_be_none(p: Param) -> bool:
    return isinstance(p.spec, AttributeSpec) and (p.spec.optional or p.default is None)


def _met_dtype(v: GraphValue) -> DType | None:
    """The one element type that a number was cast to in a body, if there is just one."""
    dtypes: set[DType | None] = set()
    for node, _ in v.value.uses():
        if node.op_type == "Cast" and "to" in node.attributes:
            dtypes.add(DType(node.attributes["to"].as_int()))
        elif v.kind is not None:
            dtypes.add(getattr(v.kind, "dtype", None))
    dtypes.discard(None)
    return dtypes.pop() if len(dtypes) == 1 else None


def _attribute_value(
    script: Script, p: Param, attributes: Mapping[str, Any], span: Span | None
) -> Any:
    if p.name in attributes:
        return attributes[p.name]
    if p.default is EMPTY:
        fail(models.AttributeWithoutValue(name=p.name, function=script.name, span=span))
    return p.default
