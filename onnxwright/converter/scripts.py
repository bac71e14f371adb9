"""Lowering of calls to other scripts: a call node where the callee is a function, else its body."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from onnxwright.converter import hir
from onnxwright.converter.context import Context, Script
from onnxwright.converter.frame import Frame, OuterNames
from onnxwright.converter.pipeline import Front, front
from onnxwright.converter.regions import Region
from onnxwright.converter.statements import Statements
from onnxwright.converter.values import AttributeRef, is_dynamic, leaves
from onnxwright.diagnostics.catalogue import models
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ScriptError
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.opset import DEFAULT_OPSET_VERSION, Opset
from onnxwright.semantics.graph_backend import GraphBackend, GraphValue
from onnxwright.semantics.literals import as_value, kind_of, own_array
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.signature import EMPTY, FunctionSignature, Param


@dataclass(frozen=True)
class CallResult:
    """What a call of a script gives: the type and weak kind of each value, and how they nest."""

    kinds: tuple[tuple[OnnxType | None, str | None], ...]
    single: bool
    met: dict[str, DType]


class ScriptCalls(Statements):
    """Lowers calls of scripts."""

    context: Context

    def call_script(
        self, script: Script, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """Call another script with evaluated arguments."""
        if self.context.exact:
            return self.exact_call(script, args, kwargs, span)
        given = bind_arguments(script.name, script.signature, args, kwargs, span)
        self._check_attributes(script, given, span)
        with self.context.entering(script.function, script.name, span):
            choice = self.context.choose(script)
            if choice == "inline" or (choice == "auto" and self._must_inline(script, given)):
                return self.inline_script(script, given, span)
            return self._call_node(script, given, span)

    def exact_call(
        self, script: Script, args: list[Any], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """A call node just as it is written."""
        raise AssertionError("given by the room of exact calls")

    def _check_attributes(self, script: Script, given: dict[str, Any], span: Span) -> None:
        """A tensor cannot be the value of an attribute parameter, in any mode."""
        for p in script.signature.attributes:
            value = given[p.name]
            if isinstance(value, GraphValue) and value.weak is None:
                what = f"attribute `{p.name}` of `{script.name}`"
                advice = f"give a Python value, or annotate `{p.name}` as a tensor"
                self.needed_now(what, span, advice)

    # -- inlining --------------------------------------------------------------------------------

    def inline_script(self, script: Script, given: dict[str, Any], span: Span) -> Any:
        """The body of a script in place of the call."""
        made = front(script.function, script.source_text)
        frame = Frame(script.name, made.own_names, OuterNames(script.function), dict(given))
        before = self.b.opset
        self.b.opset = sugar_opset(script, made, self.context) or before
        try:
            return self.run_body(frame, made.body, span)  # type: ignore[attr-defined]
        finally:
            self.b.opset = before

    def _must_inline(self, script: Script, given: dict[str, Any]) -> bool:
        """Whether a call cannot be a node: the callee needs values that only a call gives."""
        for p in script.signature.params:
            value = given[p.name]
            if p.is_variadic:
                return True
            if isinstance(p.spec, AttributeSpec):
                if isinstance(value, GraphValue) or _is_function(value):
                    return True
                if value is None and p.default is not EMPTY and p.default is not None:
                    return True
            elif value is None or isinstance(value, (dict, set)) or _is_function(value):
                return True
        known = self.context.callees.get((script.domain, script.name, script.overload))
        if known is not None and not _same_function(known, script):
            return True  # one name can be one function only
        return self.generic_error(script) is not None

    def generic_error(self, script: Script) -> ScriptError | None:
        """Why a script cannot be an ONNX function on its own, or None."""
        key = ("generic", script.function, script.domain, script.name)
        if key not in self.context.results:
            from onnxwright.converter.lower import lower_function

            try:
                # It is lowered once and called any number of times.
                called = Region(f"`{script.name}`", None)
                self.context.results[key] = lower_function(script, self.context, [called])
            except ScriptError as error:
                self.context.results[key] = error
        found = self.context.results[key]
        return found if isinstance(found, ScriptError) else None

    # -- call nodes --------------------------------------------------------------------------------

    def _call_node(self, script: Script, given: dict[str, Any], span: Span) -> Any:
        error = self.generic_error(script)
        if error is not None:
            raise error
        result = self.result_of(script, given, span)
        b = self.at(span)
        inputs: list[GraphValue | None] = []
        attributes: list[ir.Attr] = []
        for p in script.signature.params:
            value = given[p.name]
            if isinstance(p.spec, AttributeSpec):
                made = self._attribute_argument(script, p, value, span)
                if made is not None:
                    attributes.append(made)
            else:
                inputs.append(self._tensor_argument(script, p, value, given, result))
        while inputs and inputs[-1] is None:
            inputs.pop()
        b = self.at(span)
        values = b.recorder.node(
            script.domain,
            script.name,
            [None if v is None else v.value for v in inputs],
            attributes,
            len(result.kinds),
            overload=script.overload,
            origin=b.origin(),
            sugar=False,
        )
        b.recorder.use_opset(script.domain, script.version, span)
        self._note_callee(script, span)
        wrapped = []
        for value, (kind, weak) in zip(values, result.kinds, strict=True):
            b.recorder.set_type(value, kind)
            adapters.set_type(value, kind)
            wrapped.append(b.wrap(value, kind, weak))
        return wrapped[0] if result.single else tuple(wrapped)

    def _note_callee(self, script: Script, span: Span) -> None:
        """Remember a called function; two different ones of one name are an error."""
        key = (script.domain, script.name, script.overload)
        known = self.context.callees.setdefault(key, script)
        if not _same_function(known, script):
            fail(
                models.TwoFunctionsOneName(
                    name=script.name,
                    domain=script.domain,
                    first=_place(known),
                    second=_place(script),
                    span=span,
                )
            )

    def _attribute_argument(
        self, script: Script, p: Param, value: Any, span: Span
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
            self.needed_now(what, span, advice)
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
        self, script: Script, p: Param, value: Any, given: dict[str, Any], result: CallResult
    ) -> GraphValue | None:
        """An argument for a value parameter; a number takes the type the callee gives it."""
        if value is None:
            return None
        b = self.b
        value = self.value(value)
        if isinstance(value, GraphValue) and value.weak is None:
            return value
        dtype = _annotated_dtype(p)
        like = None
        if dtype is None and isinstance(p.spec, ValueSpec) and p.spec.typevar:
            like = self._same_variable(script, p, given)
        if dtype is None and like is None:
            dtype = result.met.get(p.name)
        made: GraphValue = as_value(b, value, dtype=dtype, like=like)
        return made

    def _same_variable(self, script: Script, p: Param, given: dict[str, Any]) -> GraphValue | None:
        """Another argument whose parameter has the same TypeVar."""
        assert isinstance(p.spec, ValueSpec)
        for other in script.signature.params:
            value = given[other.name]
            if (
                isinstance(other.spec, ValueSpec)
                and other.spec.typevar == p.spec.typevar
                and isinstance(value, GraphValue)
                and value.weak is None
            ):
                return value
        return None

    # -- types of results --------------------------------------------------------------------------

    def result_of(self, script: Script, given: dict[str, Any], span: Span) -> CallResult:
        """The types a call gives, found by lowering the callee's body with these arguments."""
        facts = tuple((name, self._fact(value)) for name, value in given.items())
        key: object = ("result", script.function, script.domain, script.name, facts)
        try:
            hash(key)
        except TypeError:
            return self._lower_for_types(script, given, span)
        if key not in self.context.results:
            self.context.results[key] = self._lower_for_types(script, given, span)
        found: CallResult = self.context.results[key]
        return found

    def _fact(self, value: Any) -> object:
        if isinstance(value, GraphValue):
            return ("value", value.kind, value.weak)
        if isinstance(value, AttributeRef):
            return ("attribute", value.name, value.kind)
        array = own_array(value)
        if array is not None:
            return ("array", str(array.dtype), array.shape)
        if isinstance(value, list):
            return ("list", tuple(self._fact(v) for v in value))
        return (type(value), value)

    def _lower_for_types(self, script: Script, given: dict[str, Any], span: Span) -> CallResult:
        from onnxwright.converter.lower import Lowering

        made = front(script.function, script.source_text)
        recorder = Recorder()
        b = GraphBackend(recorder, sugar_opset(script, made, self.context) or self.b.opset)
        b.span = span
        env: dict[str, Any] = {}
        weak: dict[str, GraphValue] = {}
        for p in script.signature.params:
            value = given[p.name]
            if not p.is_attribute:
                value = self._scratch_input(b, p, value, weak)
            env[p.name] = value
        frame = Frame(script.name, made.own_names, OuterNames(script.function), env)
        lowering = Lowering(b, frame, self.context, [Region(f"`{script.name}`", None)])
        result = lowering.result(script.signature, made)
        met = {name: dtype for name, v in weak.items() if (dtype := _met_dtype(v)) is not None}
        single = not isinstance(result, (tuple, list))
        values = [result] if single else list(result)
        return CallResult(tuple((v.kind, v.weak) for v in values), single, met)

    def _scratch_input(
        self, b: GraphBackend, p: Param, value: Any, weak: dict[str, GraphValue]
    ) -> Any:
        """A value parameter of a callee lowered for its types only."""
        if value is None:
            return None
        value = self.value(value)
        kind: OnnxType | None
        number: str | None = None
        if isinstance(value, GraphValue):
            kind, number = value.kind, value.weak
        else:
            array = own_array(value)
            number = None if array is not None else kind_of(value)
            number = number if number in ("bool", "int", "float") else None
            scratch = as_value(self.b, value)
            kind = scratch.kind
            if number == "float":
                kind = TensorType(DType.DOUBLE, ())
        dtype = _annotated_dtype(p)
        if number is not None and dtype is not None:
            kind, number = TensorType(dtype, ()), None
        made = b.wrap(b.recorder.input(p.name, kind), kind, number)
        if number is not None:
            weak[p.name] = made
        return made


def _is_function(x: Any) -> bool:
    return inspect.isfunction(x) or any(type(v).__name__ == "Closure" for v in leaves(x))


def _annotated_dtype(p: Param) -> DType | None:
    """The one element type a parameter is annotated with."""
    if isinstance(p.spec, ValueSpec) and len(p.spec.types) == 1:
        (kind,) = p.spec.types
        return kind.dtype if isinstance(kind, TensorType) else None
    return None


def _met_dtype(v: GraphValue) -> DType | None:
    """The one element type that a number was cast to in a body, if there is just one."""
    found: set[DType | None] = set()
    for node, _ in v.value.uses():
        if node.op_type == "Cast" and "to" in node.attributes:
            found.add(DType(node.attributes["to"].as_int()))
        elif v.kind is not None:
            found.add(getattr(v.kind, "dtype", None))
    found.discard(None)
    return found.pop() if len(found) == 1 else None


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


def sugar_opset(script: Script | None, made: Front, context: Context) -> Opset | None:
    """The default-domain opset of a function: named by the author, or the newest it mentions."""
    if context.opset_version is not None:
        return Opset("", context.opset_version)
    if script is not None and script.default_opset is not None:
        if script.default_opset.domain == "":
            return script.default_opset
    outer = OuterNames(made.parsed.unit.function)
    found = [
        value
        for value in (_static(node, outer) for node in made.chains)
        if isinstance(value, Opset) and value.domain == ""
    ]
    return max(found, key=lambda o: o.version) if found else None


def default_opset(context: Context) -> Opset:
    """What a function uses that names no opset."""
    return Opset("", context.default_version or DEFAULT_OPSET_VERSION)


def _static(node: Any, outer: OuterNames) -> Any:
    """The object a dotted name stands for, without running anything but plain attribute reads."""
    if isinstance(node, hir.Name):
        return outer.get(node.id)
    if isinstance(node, hir.Attribute):
        base = _static(node.value, outer)
        if base is None or not inspect.ismodule(base):
            return None
        return getattr(base, node.name, None)
    return None
