"""Assembly: lowered functions to a FunctionProto or a checked, typed model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.converter.lower.context import Context, Script, is_script
from onnxwright.converter.lower.functions import Lowered, input_type, lower_function, lower_main
from onnxwright.converter.pipeline import front
from onnxwright.diagnostics.catalogue import models as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.dsl.model_types import (
    ModelOptions,
    given_types,
    input_types,
    output_types,
    value_infos,
    warn_ranks,
)
from onnxwright.dsl.verbatim import Details, ModelFacts, verbatim_model
from onnxwright.errors import ScriptError
from onnxwright.ir import adapters
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.initializers import add_initializers
from onnxwright.ir.ir_versions import lowest_ir_version
from onnxwright.ir.nested import all_nodes
from onnxwright.ir.serialize import model_to_proto, to_proto
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.types.annotations import AttributeSpec
from onnxwright.types.kinds import OnnxType
from onnxwright.types.signature import EMPTY
from onnxwright.version import __version__

# The choice of `functions=` by which calls stay nodes, and no function is in the model.
_EXTERNAL = "external"


def to_ir_function(script: Script, context: Context | None = None) -> ir.Function:
    """A script as an `onnx_ir.Function`."""
    return as_ir_function(lower_function(script, context or Context()))


def as_ir_function(lowered: Lowered) -> ir.Function:
    """A lowered function as an `onnx_ir.Function`."""
    script = lowered.script
    for value in lowered.values.values():
        if _is_inner(value) or value in lowered.inputs or value in lowered.outputs:
            value.type, value.shape = None, None
    graph = ir.Graph(
        lowered.inputs,
        lowered.outputs,
        nodes=lowered.nodes,
        opset_imports=dict(sorted(lowered.imports.items())),
        name=script.name,
        doc_string=lowered.doc,
    )
    attributes = []
    for p in script.signature.params:
        if isinstance(p.spec, AttributeSpec):
            if p.default is EMPTY or p.default is None:
                attributes.append(ir.Attr(p.name, adapters.attribute_type(p.spec.kind), None))
            else:
                attributes.append(adapters.attribute(p.name, p.default, p.spec.kind))
    return ir.Function(
        script.domain, script.name, script.overload, graph=graph, attributes=attributes
    )


def _is_inner(value: ir.Value) -> bool:
    """Whether a value is made inside a graph and stays there: a model need not say its type."""
    return value.producer() is not None and not value.is_graph_output()


def to_function_proto(script: Script) -> onnx.FunctionProto:
    """A script as a FunctionProto."""
    function: onnx.FunctionProto = to_proto(to_ir_function(script))
    return function


def check(script: Script) -> None:
    """Compile a script in the way its signature allows; raises what is wrong with it."""
    if any(p.is_variadic for p in script.signature.params):
        front(script.function, script.source_text)
        return
    optional = [p for p in script.signature.attributes if p.default is None]
    try:
        lower_function(script, Context())
    except ScriptError:
        required = [p for p in script.signature.attributes if p.default is EMPTY]
        typed = all(adapters.complete(input_type(p)) for p in script.signature.values)
        if not optional or required or not typed:
            raise
        lower_main(script, Context(), {}, {})


# -- models ----------------------------------------------------------------------------------------


@collector_paused()
def to_model_proto(script: Script, options: ModelOptions) -> onnx.ModelProto:
    """A script as a model; see `ScriptFunction.to_model_proto`."""
    chosen, protos = _choice(options.functions)
    _check_names(script, options)
    types = input_types(script, options)
    version = options.opset_version
    _, main, called = _lower_all(script, chosen, options.attributes, types, version)
    named = main.versions.union(*(low.versions for low in called))
    target = version or (max(named) if named else DEFAULT_OPSET_VERSION)
    if any(low.imports.get("", target) != target for low in (main, *called)):
        # One model, one version: everything again for the newest one that is named.
        several = target if len(named) > 1 else version
        _, main, called = _lower_all(script, chosen, options.attributes, types, several, target)
    return _assemble(script, options, main, called, protos)


@collector_paused()
def to_verbatim_model(
    script: Script, options: ModelOptions, details: Details, facts: ModelFacts
) -> onnx.ModelProto:
    """A script as a model, each call one node just as written."""
    _check_names(script, options)
    types = given_types(
        options.input_types,
        [p.name for p in script.signature.values],
        "input_types",
        script,
        "input",
    )
    kept_functions = options.functions or {}
    functions = (
        kept_functions
        if isinstance(kept_functions, Mapping)
        else {f: Details() for f in kept_functions}
    )
    return verbatim_model(script, details, functions, facts, options.attributes, types)


def _lower_all(
    script: Script,
    chosen: Callable[[Script], str],
    attributes: Mapping[str, Any],
    types: Mapping[str, OnnxType],
    version: int | None,
    default: int | None = None,
) -> tuple[Context, Lowered, list[Lowered]]:
    """The main graph and every function it calls, directly or not, callees before callers."""
    context = Context(choose=chosen, opset_version=version, default_version=default)
    main = lower_main(script, context, attributes, types)
    return context, main, called_by(main, context)


def called_by(main: Lowered, context: Context) -> list[Lowered]:
    """Every function that is called, directly or not.

    Args:
        main: the graph or function that calls.

    Returns:
        The functions, callees before callers.
    """
    called: dict[tuple[str, str, str], Lowered] = {}

    def visit(low: Lowered) -> None:
        for node in all_nodes(low.nodes):
            key = (node.domain, node.op_type, node.overload)
            callee = context.callees.get(key)
            if callee is None or key in called:
                continue
            functions = context.results[("generic", callee.function, callee.domain, callee.name)]
            visit(functions)
            called[key] = functions

    if context.callees:
        visit(main)
    return list(called.values())


def _always(choice: str) -> Callable[[Script], str]:
    return lambda _: choice


def _choice(functions: Any) -> tuple[Callable[[Script], str], list[onnx.FunctionProto]]:
    """What `functions=` says of a called script, and the FunctionProtos given with it."""
    if functions is None:
        return _always("auto"), []
    if functions == "all":
        return _always("call"), []
    if functions == "none":
        return _always("inline"), []
    if functions == _EXTERNAL:
        return _always("call"), []
    if isinstance(functions, (str, bytes)) or not hasattr(functions, "__iter__"):
        fail(messages.UnknownFunctionChoice(value=repr(functions)))
    items = list(functions)
    protos = [f for f in items if isinstance(f, onnx.FunctionProto)]
    scripts = {id(f.function) for f in items if is_script(f)}
    names = {f for f in items if isinstance(f, str)}
    for f in items:
        if not (is_script(f) or isinstance(f, (str, onnx.FunctionProto))):
            fail(messages.UnknownFunctionChoice(value=repr(f)))
    if protos and not scripts and not names:
        return _always("auto"), protos

    def choose(script: Script) -> str:
        return "call" if id(script.function) in scripts or script.name in names else "inline"

    return choose, protos


def _check_names(script: Script, options: ModelOptions) -> None:
    names = [p.name for p in script.signature.attributes]
    for name in options.attributes:
        if name not in names:
            shown = ", ".join(names) or "none"
            fail(
                messages.UnknownArgument(
                    function=script.name, what="attribute", name=name, names=shown
                )
            )


def _assemble(
    script: Script,
    options: ModelOptions,
    main: Lowered,
    called: list[Lowered],
    protos: list[onnx.FunctionProto],
) -> onnx.ModelProto:
    outputs = output_types(script, options, main)
    extra = value_infos(script, options, main)
    keep = {v.name for v in (*main.inputs, *main.outputs)}
    for name, value in main.values.items():
        kind = outputs.get(name) or extra.get(name)
        if kind is not None:
            adapters.set_type(value, kind)
        elif name not in keep and _is_inner(value):
            value.type, value.shape = None, None
    warn_ranks(main, outputs)
    if options.functions == _EXTERNAL:
        called = []  # who runs the model has them
    functions = [as_ir_function(low) for low in called]
    imports = dict(main.imports)
    for low in called:
        imports.setdefault(low.script.domain, low.script.version)
        for domain, version in low.imports.items():
            imports[domain] = max(imports.get(domain, 0), version)
    for proto in protos:
        imports.setdefault(proto.domain, 1)
        for entry in proto.opset_import:
            imports[entry.domain] = max(imports.get(entry.domain, 0), entry.version)
    doc = options.doc_string if options.doc_string is not None else main.doc
    graph = ir.Graph(
        main.inputs,
        main.outputs,
        nodes=main.nodes,
        opset_imports=dict(sorted(imports.items())),
        name=options.name or script.name,
        doc_string=doc,
    )
    kinds = (kind for low in (main, *called) for kind in low.types.values())
    model = ir.Model(
        graph,
        ir_version=options.ir_version or lowest_ir_version(imports, kinds),
        producer_name=options.producer_name,
        producer_version=options.producer_version
        or (__version__ if options.producer_name == "onnxwright" else None),
        domain=options.domain or None,
        model_version=options.model_version or None,
        doc_string=doc,
        functions=functions,
        metadata_props=dict(options.metadata),
    )
    model_proto = model_to_proto(model)
    keys = {(f.domain, f.name, f.overload) for f in model_proto.functions}
    add_initializers(model_proto.graph, main.recorder.scopes[0].initializers)
    model_proto.functions.extend(p for p in protos if (p.domain, p.name, p.overload) not in keys)
    return model_proto
