"""What a model is asked to be, and the types of its values: given, annotated or inferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import onnx

from onnxwright.converter.lower.context import Script
from onnxwright.converter.lower.functions import Lowered, input_type
from onnxwright.diagnostics.catalogue import models as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.ir import adapters
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.kinds import OnnxType, TensorType, fits, refine_types


@dataclass(frozen=True)
class ModelOptions:
    """The arguments of `to_model_proto`."""

    input_types: Any = None
    output_types: Any = None
    io_types: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    functions: Any = None
    value_infos: Mapping[str, Any] = field(default_factory=dict)
    opset_version: int | None = None
    ir_version: int | None = None
    producer_name: str = "onnxwright"
    doc_string: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    producer_version: str = ""
    model_version: int = 0
    domain: str = ""


def type_of(annotation: Any) -> OnnxType | None:
    """A type given as an annotation, a type object of ours, or a TypeProto."""
    if annotation is None:
        return None
    if isinstance(annotation, onnx.TypeProto):
        return adapters.from_type_proto(annotation)
    if isinstance(annotation, onnx.ValueInfoProto):
        return adapters.from_type_proto(annotation.type)
    spec = parse_annotation(annotation)
    if isinstance(spec, ValueSpec) and len(spec.types) == 1:
        return spec.types[0]
    return None


def given_types(
    types: Any, names: list[str], parameter: str, script: Script, what: str
) -> dict[str, OnnxType]:
    """Types by name from a list in order or a dict."""
    if types is None:
        return {}
    if isinstance(types, Mapping):
        for name in types:
            if name not in names:
                fail(
                    messages.UnknownArgument(
                        function=script.name, what=what, name=name, names=", ".join(names) or "none"
                    )
                )
        pairs = list(types.items())
    else:
        items = list(types) if isinstance(types, (list, tuple)) else [types]
        if len(items) != len(names):
            fail(
                messages.WrongTypeCount(
                    parameter=parameter,
                    types=len(items),
                    function=script.name,
                    count=len(names),
                    what=f"{what}s",
                )
            )
        pairs = list(zip(names, items, strict=True))
    return {name: kind for name, item in pairs if (kind := type_of(item)) is not None}


def input_types(script: Script, options: ModelOptions) -> dict[str, OnnxType]:
    """The type of each input: given, else annotated, else the one for all."""
    names = [p.name for p in script.signature.values]
    types = given_types(options.input_types, names, "input_types", script, "input")
    for_all = type_of(options.io_types)
    for p in script.signature.values:
        if p.name not in types and for_all is not None:
            if not adapters.complete(input_type(p)):
                types[p.name] = for_all
        kind = types.get(p.name)
        if kind is not None and isinstance(p.spec, ValueSpec) and p.spec.types:
            allowed = p.spec.types
            if not any(fits(kind, k) or fits(k, kind) for k in allowed):
                fail(
                    messages.TypesContradict(
                        what="input", name=p.name, known_type=str(p.spec), given_type=str(kind)
                    )
                )
    return types


def output_types(script: Script, options: ModelOptions, main: Lowered) -> dict[str, OnnxType]:
    """The type of each output: given, annotated or inferred, which must agree."""
    names = [v.name or "" for v in main.outputs]
    declared = given_types(options.output_types, names, "output_types", script, "output")
    returns = script.signature.returns
    for_all = type_of(options.io_types)
    types: dict[str, OnnxType] = {}
    for n, name in enumerate(names):
        inferred = main.types.get(name)
        spec = returns[n] if returns is not None and n < len(returns) else None
        written = spec.types[0] if spec is not None and len(spec.types) == 1 else None
        kind = declared.get(name) or written
        if kind is not None and inferred is not None and not fits(inferred, kind):
            if not fits(kind, inferred):
                fail(
                    messages.TypesContradict(
                        what="output", name=name, known_type=str(inferred), given_type=str(kind)
                    )
                )
        kind = more_precise(kind, inferred)
        if kind is None or not adapters.complete(kind):
            kind = for_all if for_all is not None else kind
        if kind is None or not adapters.complete(kind):
            fail(messages.OutputWithoutType(name=name, function=script.name, span=main.result_span))
        types[name] = kind
    return types


def more_precise(written: OnnxType | None, inferred: OnnxType | None) -> OnnxType | None:
    """The written type, with what it leaves open filled from the inferred one."""
    if written is None or inferred is None:
        return written if written is not None else inferred
    if isinstance(written, TensorType) and isinstance(inferred, TensorType):
        shape = inferred.shape
        if written.shape is not None:
            shape = written.shape
            if inferred.shape is not None and len(inferred.shape) == len(shape):
                pairs = zip(shape, inferred.shape, strict=True)
                shape = tuple(w if w is not None else i for w, i in pairs)
        return replace(written, dtype=written.dtype or inferred.dtype, shape=shape)
    return written


def warn_ranks(main: Lowered, outputs: Mapping[str, OnnxType]) -> None:
    """Say where the model's own inputs and outputs lack a rank, which onnx.checker wants."""
    sides = (("input", main.inputs, main.types, main.span), ("output", main.outputs, outputs,
             main.result_span or main.span))  # fmt: skip
    for what, values, types, span in sides:
        for value in values:
            kind = types.get(value.name or "")
            if isinstance(kind, TensorType) and kind.dtype is not None and kind.shape is None:
                warn(
                    messages.RankNotKnown(
                        what=what,
                        name=value.name or "",
                        function=main.script.name,
                        kind=kind.dtype.name,
                        span=span,
                    )
                )


def value_infos(script: Script, options: ModelOptions, main: Lowered) -> dict[str, OnnxType]:
    """The types to write for values inside: those that annotations and `value_infos` state."""
    types: dict[str, OnnxType] = {}
    for name, value in main.values.items():
        stated = main.recorder.info(value).annotated
        if stated is not None:
            refined = refine_types(stated, main.types.get(name))
            assert refined is not None
            types[name] = refined
    for name, annotation in options.value_infos.items():
        if name not in main.values:
            names = ", ".join(sorted(main.values)[:12])
            fail(
                messages.UnknownArgument(function=script.name, what="value", name=name, names=names)
            )
        kind = type_of(annotation)
        inferred = main.types.get(name)
        if kind is not None and inferred is not None:
            if not fits(inferred, kind) and not fits(kind, inferred):
                fail(
                    messages.TypesContradict(
                        what="value", name=name, known_type=str(inferred), given_type=str(kind)
                    )
                )
        if kind is not None:
            types[name] = kind
    return types
