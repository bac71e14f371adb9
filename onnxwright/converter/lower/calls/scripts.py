"""Lowering of calls to other scripts: a call node where the callee is a function, else its body."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.calls.call_results import (
    annotated_dtype,
    generic_body,
    lowered_for_call,
)
from onnxwright.converter.lower.calls.generic_bodies import SameBody, reads_as_double
from onnxwright.converter.lower.calls.inlining import run_body
from onnxwright.converter.lower.context import Script
from onnxwright.converter.lower.frame import Frame
from onnxwright.converter.lower.opsets import sugar_opset
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Arguments, Lowering
from onnxwright.converter.lower.values import AttributeRef, is_dynamic, leaves
from onnxwright.converter.pipeline import front
from onnxwright.diagnostics.catalogue import models, types
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.ir import adapters
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import DEFAULT_DTYPE, as_value, kind_of, own_array
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.signature import EMPTY, FunctionSignature, Param


def call_script(
    low: Lowering, script: Script, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """Call another script with evaluated arguments."""
    arguments = bind_arguments(script.name, script.signature, args, kwargs, span)
    _check_attributes(low, script, arguments, span)
    with low.context.entering(script.function, script.name, span):
        choice = low.context.choose(script)
        if choice == "inline" or (choice == "auto" and _must_inline(low, script, arguments)):
            return inline_script(low, script, arguments, span)
        error = generic_error(low, script)
        if error is not None:
            raise error
        call = lowered_for_call(low, script, arguments)
        if not _same_for_types(low, script, arguments, call):
            if choice == "auto":
                return inline_script(low, script, arguments, span)
            fail(types.UnknownElementType(operation=script.name, span=span))
        return _call_node(low, script, arguments, call, span)


def _check_attributes(low: Lowering, script: Script, arguments: dict[str, Any], span: Span) -> None:
    """A tensor cannot be the value of an attribute parameter, in any mode."""
    for p in script.signature.attributes:
        value = arguments[p.name]
        if isinstance(value, GraphValue) and value.weak is None:
            what = f"attribute `{p.name}` of `{script.name}`"
            advice = f"give a Python value, or annotate `{p.name}` as a tensor"
            low.needed_now(what, span, advice)


# -- inlining --------------------------------------------------------------------------------------


def inline_script(low: Lowering, script: Script, arguments: dict[str, Any], span: Span) -> Any:
    """The body of a script in place of the call."""
    stages = front(script.function, script.source_text)
    frame = Frame(script.name, stages.own_names, OuterNames(script.function), dict(arguments))
    before = low.b.opset
    low.b.opset = sugar_opset(script, stages, low.context) or before
    try:
        return run_body(low, frame, stages.body, span)
    finally:
        low.b.opset = before


def _must_inline(low: Lowering, script: Script, arguments: dict[str, Any]) -> bool:
    """Whether a call cannot be a node: the callee needs values that only a call gives."""
    for p in script.signature.params:
        value = arguments[p.name]
        if p.is_variadic:
            return True
        if isinstance(p.spec, AttributeSpec):
            if isinstance(value, GraphValue) or _is_function(value):
                return True
            if value is None and p.default is not EMPTY and p.default is not None:
                return True
        elif value is None or isinstance(value, (dict, set)) or _is_function(value):
            return True
    callee = low.context.callees.get((script.domain, script.name, script.overload))
    if callee is not None and not _same_function(callee, script):
        return True  # one name can be one function only
    return generic_error(low, script) is not None


def generic_error(low: Lowering, script: Script) -> ScriptError | None:
    """Why a script cannot be an ONNX function on its own, or None."""
    result = generic_body(low, script)
    return result if isinstance(result, ScriptError) else None


# -- call nodes ------------------------------------------------------------------------------------


def _same_for_types(low: Lowering, script: Script, arguments: dict[str, Any], call: Any) -> bool:
    """Whether the function means what its body means for the element types of these arguments.

    Args:
        call: the function, lowered for the arguments.
    """
    generic = generic_body(low, script)
    if len(generic.outputs) != len(call.results):
        return False
    typed = generic
    element_types = _element_types(low, script, arguments, call)
    if element_types and typed is not call:
        types = tuple(element_types.items())
        key = ("types", script.function, script.domain, script.name, types)
        if key not in low.context.results:
            low.context.results[key] = _typed_body(low, script, element_types, call)
        typed = low.context.results[key]
    return typed is not None and not any(
        p.is_attribute and _is_rounded(arguments[p.name]) and reads_as_double(typed.nodes, p.name)
        for p in script.signature.params
    )


def _element_types(
    low: Lowering, script: Script, arguments: dict[str, Any], call: Any
) -> dict[str, OnnxType]:
    """The types of arguments whose parameters have no element type of their own."""
    types: dict[str, OnnxType] = {}
    generic = generic_body(low, script)
    for p, parameter in zip(script.signature.values, generic.inputs, strict=True):
        kind = generic.recorder.type_of(parameter)
        if arguments[p.name] is not None and getattr(kind, "dtype", None) is None:
            one = _argument_type(low, arguments[p.name], call.met.get(p.name), kind)
            if one is not None:
                types[p.name] = one
    return types


def _typed_body(low: Lowering, script: Script, types: dict[str, OnnxType], call: Any) -> Any:
    """A function lowered for element types; None if its body is a different one then.

    What was lowered for the call is that function, unless it differs by more than element types:
    by a size, an attribute or a number that the call gives.
    """
    generic = generic_body(low, script)
    if SameBody(generic.recorder, call.recorder).same(generic, call):
        return call
    try:
        called = Region(f"`{script.name}`", None)
        typed = low.lower_callee(script, low.context, [called], Arguments(types))
    except ScriptError:
        return None
    return typed if SameBody(generic.recorder, typed.recorder).same(generic, typed) else None


def _is_rounded(value: Any) -> bool:
    """Whether an attribute, which holds FLOAT, is not quite the number that is given for it."""
    if isinstance(value, AttributeRef):
        return value.weak_kind == "float"
    numbers = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(n, float) and float(np.float32(n)) != n for n in numbers)


def _argument_type(
    low: Lowering, value: Any, met: DType | None, parameter: OnnxType | None
) -> OnnxType | None:
    """The element type of an argument with the dimensions of its parameter."""
    value = low.value(value)
    dtype = met
    if isinstance(value, GraphValue) and value.weak is None:
        if value.kind is not None and not isinstance(value.kind, TensorType):
            return value.kind
        dtype = value.kind.dtype if isinstance(value.kind, TensorType) else None
    elif dtype is None:
        array = None if isinstance(value, GraphValue) else own_array(value)
        number = value.weak if isinstance(value, GraphValue) else kind_of(value)
        if array is not None:
            dtype = DType.from_numpy(array.dtype)
        elif number is not None:
            dtype = DEFAULT_DTYPE[number]
    shape = parameter.shape if isinstance(parameter, TensorType) else None
    return None if dtype is None else TensorType(dtype, shape)


def _call_node(
    low: Lowering, script: Script, arguments: dict[str, Any], call: Any, span: Span
) -> Any:
    b = low.at(span)
    inputs: list[GraphValue | None] = []
    attributes: list[ir.Attr] = []
    for p in script.signature.params:
        value = arguments[p.name]
        if isinstance(p.spec, AttributeSpec):
            argument = _attribute_argument(low, script, p, value, span)
            if argument is not None:
                attributes.append(argument)
        else:
            inputs.append(_tensor_argument(low, script, p, value, arguments, call))
    while inputs and inputs[-1] is None:
        inputs.pop()
    b = low.at(span)
    values = b.recorder.node(
        script.domain,
        script.name,
        [None if v is None else v.value for v in inputs],
        attributes,
        len(call.results),
        overload=script.overload,
        origin=b.origin(),
        sugar=False,
    )
    b.recorder.use_opset(script.domain, script.version, span)
    remember_callee(low, script, span)
    wrapped = []
    for value, (kind, weak) in zip(values, call.results, strict=True):
        b.recorder.set_type(value, kind)
        adapters.set_type(value, kind)
        wrapped.append(b.wrap(value, kind, weak))
    return wrapped[0] if call.single else tuple(wrapped)


def remember_callee(low: Lowering, script: Script, span: Span) -> None:
    """Remember a called function; two different ones of one name are an error."""
    key = (script.domain, script.name, script.overload)
    callee = low.context.callees.setdefault(key, script)
    if not _same_function(callee, script):
        fail(
            models.TwoFunctionsOneName(
                name=script.name,
                domain=script.domain,
                first=_place(callee),
                second=_place(script),
                span=span,
            )
        )


def _attribute_argument(
    low: Lowering, script: Script, p: Param, value: Any, span: Span
) -> ir.Attr | None:
    """An argument for an attribute parameter; None where it is not given."""
    assert isinstance(p.spec, AttributeSpec)
    if value is None:
        return None
    if isinstance(value, AttributeRef):
        return ir.RefAttr(p.name, value.name, adapters.attribute_type(p.spec.kind))
    if is_dynamic(value):
        advice = "an attribute is a number, string or list known when compiling"
        what = f"attribute `{p.name}` of `{script.name}`"
        low.needed_now(what, span, advice)
    try:
        return adapters.attribute(p.name, value, p.spec.kind)
    except (TypeError, ValueError):
        reason = f"takes a {p.spec.kind.python} for `{p.name}`"
        fail(
            messages.BadCall(
                name=script.name, reason=reason, signature=str(script.signature), span=span
            )
        )


def _tensor_argument(
    low: Lowering,
    script: Script,
    p: Param,
    value: Any,
    arguments: dict[str, Any],
    call: Any,
) -> GraphValue | None:
    """An argument for a value parameter; a number takes the type the callee gives it."""
    if value is None:
        return None
    b = low.b
    value = low.value(value)
    if isinstance(value, GraphValue) and value.weak is None:
        return value
    dtype = annotated_dtype(p)
    like = None
    if dtype is None and isinstance(p.spec, ValueSpec) and p.spec.typevar:
        like = _same_variable(script, p, arguments)
    if dtype is None and like is None:
        dtype = call.met.get(p.name)
    tensor: GraphValue = as_value(b, value, dtype=dtype, like=like)
    return tensor


def _same_variable(script: Script, p: Param, arguments: dict[str, Any]) -> GraphValue | None:
    """Another argument whose parameter has the same TypeVar."""
    assert isinstance(p.spec, ValueSpec)
    for other in script.signature.params:
        value = arguments[other.name]
        if (
            isinstance(other.spec, ValueSpec)
            and other.spec.typevar == p.spec.typevar
            and isinstance(value, GraphValue)
            and value.weak is None
        ):
            return value
    return None


def _is_function(x: Any) -> bool:
    return inspect.isfunction(x) or any(type(v).__name__ == "Closure" for v in leaves(x))


def _same_function(a: Script, b: Script) -> bool:
    """Whether two scripts are one function: the same code over the same surroundings."""
    f, g = a.function, b.function
    if f is g:
        return True
    if f.__code__ != g.__code__ or f.__globals__ is not g.__globals__:
        return False
    outer_f, outer_g = OuterNames(f), OuterNames(g)
    return all(outer_f.get(n) is outer_g.get(n) for n in outer_f.cells)


def _place(script: Script) -> str:
    code = script.function.__code__
    return f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}"


def bind_arguments(
    name: str,
    signature: FunctionSignature,
    args: list[Any],
    kwargs: dict[str, Any],
    span: Span | None,
) -> dict[str, Any]:
    """The arguments of a call by parameter name, defaults filled in.

    Raises:
        ScriptTypeError: they do not fit the parameters (OW207).
    """
    params = [
        inspect.Parameter(
            p.name,
            p.kind,
            default=inspect.Parameter.empty if p.default is EMPTY else p.default,
        )
        for p in signature.params
    ]
    try:
        bound = inspect.Signature(params).bind(*args, **kwargs)
    except (TypeError, ValueError) as error:
        reason = str(error).replace("{", "(").replace("}", ")")
        fail(
            messages.BadCall(
                name=name,
                reason=f"does not take these arguments: {reason}",
                signature=str(signature),
                span=span,
            )
        )
    bound.apply_defaults()
    for p in signature.params:
        if bound.arguments.get(p.name) is None and isinstance(p.spec, ValueSpec):
            if p.default is EMPTY and not p.spec.optional and not p.is_variadic:
                reason = f"needs a value for `{p.name}`, not None"
                fail(
                    messages.BadCall(name=name, reason=reason, signature=str(signature), span=span)
                )
    return dict(bound.arguments)
